// Chunks of a chat completion, or a whole one, into canonical events. Complete when a finish_reason was seen, or [DONE].
#pragma once

#include "daemon/providers/wire/core/chunk_decoder.h"
#include "daemon/providers/wire/openai_chat/chat_opaque.h"
#include "daemon/providers/wire/openai_chat/thought_tags.h"

#include <map>

namespace cortexfs::wire::openai_chat {

class ChatDecoder final : public ChunkDecoder {
public:
    void onEvent(std::string_view name, const json::Value &data, ReplyBuilder &reply) override;
    void onDoneMarker(ReplyBuilder &reply) override;
    void onDocument(const json::Value &body, ReplyBuilder &reply) override;
    void onStreamEnd(ReplyBuilder &reply) override;

private:
    void takeChoice(const json::Value &choice, ReplyBuilder &reply);
    void takeMessage(const json::Value &message, ReplyBuilder &reply);
    void takeReasoning(const json::Value &message, ReplyBuilder &reply);
    void takeContent(const json::Value &message, ReplyBuilder &reply);
    void takeText(std::string_view content, const json::Value &message, ReplyBuilder &reply);
    void takeCall(const json::Value &call, ReplyBuilder &reply);
    void takeUsage(const json::Value &usage, ReplyBuilder &reply);
    void takeFinish(std::string_view word, ReplyBuilder &reply);
    void finish(ReplyBuilder &reply);

    ThoughtTags m_thoughts;
    ReasoningDetails m_details;
    std::string m_reasoningContent;
    std::map<std::size_t, std::string> m_extraContent; // by position of the call
    std::optional<abi::StopReason> m_reason;
};

} // namespace cortexfs::wire::openai_chat
