// A neutral conversation as the body of POST /chat/completions.
//
// The `default` control: each KEY=VALUE becomes a member of the body where the request itself does not set it. VALUE is
// JSON where it parses as JSON (seed=7, stop=["a","b"], chat_template_kwargs={"enable_thinking":false}), else a string;
// unknown keys are passed on, because every server has some of its own. max_tokens, max_completion_tokens and
// max_output_tokens mean the one field that the server knows. What belongs to the format itself (model, messages, stream,
// stream_options, tools, n) is EINVAL.
#pragma once

#include "common/json/json.h"
#include "daemon/providers/wire/openai_chat/chat_opaque.h"
#include "daemon/providers/wire/openai_chat/dialect.h"

#include <set>

namespace cortexfs::wire::openai_chat {

class ChatEncoder {
public:
    ChatEncoder(const models::Conversation &conversation, const EncodeContext &context);

    // EINVAL: an image outside a user message, a schema that is no JSON object, a reserved default.
    Result<WireRequest> encode();

private:
    Result<void> check() const;
    std::string systemText() const;
    std::size_t leadingSystemMessages() const;
    ChatOpaque opaqueFor(const models::Message &message) const;

    void writeMessages();
    void writeMessage(const models::Message &message);
    void writeUserContent(const models::Message &message);
    void writeAssistant(const models::Message &message);
    void writeTools();
    void writeResponseFormat();
    void writeLimits();
    void writeDefaults();
    // The key of a body member; remembers that it is taken.
    json::Writer &member(std::string_view name);

    const models::Conversation &m_conversation;
    const EncodeContext &m_context;
    Dialect m_dialect;
    ToolNames m_toolNames;
    json::Writer m_body;
    std::set<std::string, std::less<>> m_taken;
};

} // namespace cortexfs::wire::openai_chat
