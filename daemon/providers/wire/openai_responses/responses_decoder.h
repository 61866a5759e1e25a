// Events of a streamed response, or a whole one, into canonical events (OpenAI API reference, "Streaming events").
//
// Everything is said up to four times: by deltas, by the .done events, by the finished item and by the finished response.
// The first that says it counts, and the later ones for what nobody said. Complete only with response.completed or
// response.incomplete; unknown events and items are skipped.
#pragma once

#include "daemon/providers/wire/core/chunk_decoder.h"
#include "daemon/providers/wire/openai_responses/output_items.h"

namespace cortexfs::wire::openai_responses {

class ResponsesDecoder final : public ChunkDecoder {
public:
    bool isProgress(const json::Value &data) const override;
    void onEvent(std::string_view name, const json::Value &data, ReplyBuilder &reply) override;
    void onDocument(const json::Value &body, ReplyBuilder &reply) override;
    void onStreamEnd(ReplyBuilder &) override {}

private:
    void takeTextEvent(std::string_view type, const json::Value &data, ReplyBuilder &reply);
    void takeReasoningEvent(std::string_view type, const json::Value &data, ReplyBuilder &reply);
    void takeArgumentsEvent(std::string_view type, const json::Value &data, ReplyBuilder &reply);
    void takeItemEvent(bool isDone, const json::Value &data, ReplyBuilder &reply);

    void addText(OutputItem &item, std::string_view text, bool isRefusal, ReplyBuilder &reply);
    void addReasoning(OutputItem &item, OutputItem::Voice voice, std::int64_t part, std::string_view text,
                      ReplyBuilder &reply);

    // What the finished item says and nobody said before.
    void settle(OutputItem &item, const json::Value &value, ReplyBuilder &reply);
    void settleMessage(OutputItem &item, const json::Value &value, ReplyBuilder &reply);
    void settleReasoning(OutputItem &item, const json::Value &value, ReplyBuilder &reply);
    void settleOutput(const json::Value &output, ReplyBuilder &reply);

    void takeResponse(std::string_view status, const json::Value &response, ReplyBuilder &reply);
    void finish(abi::StopReason reason, ReplyBuilder &reply);
    OutputItem *checked(OutputItem *item, ReplyBuilder &reply);

    OutputItems m_items;
    bool m_hasText = false; // of any item
    bool m_hasReasoning = false;
    bool m_isLate = false; // the finished response speaks, and text went out before
};

} // namespace cortexfs::wire::openai_responses
