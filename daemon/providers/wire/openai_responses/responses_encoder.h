// A neutral conversation as the body of POST /responses (OpenAI API reference, "Create a model response").
//
// No state is kept on the server: store is false, encrypted reasoning is asked for and sent back unchanged, before the
// calls it led to, to the provider it came from. The `default` control: see core/request_body.h; max_tokens,
// max_completion_tokens and max_output_tokens mean max_output_tokens.
#pragma once

#include "daemon/providers/wire/core/call_ids.h"
#include "daemon/providers/wire/core/request_body.h"
#include "daemon/providers/wire/openai_responses/model_traits.h"

namespace cortexfs::wire::openai_responses {

class ResponsesEncoder {
public:
    ResponsesEncoder(const models::Conversation &conversation, const EncodeContext &context);

    // EINVAL: see checkRequest(); keys of `default` that belong to the request.
    Result<WireRequest> encode();

private:
    void writeInput();
    void writeMessage(const models::Message &message);
    void writeAssistant(const models::Message &message);
    void writeCall(const models::ToolCall &call);
    void writeResult(const models::Message &message);
    void writeParts(const models::Message &message);
    void writeTools();
    void writeTextFormat();
    void writeReasoning();
    void writeLimits();
    void writeDefaults();

    const models::Conversation &m_conversation;
    const EncodeContext &m_context;
    ModelTraits m_traits;
    abi::Effort m_effort;
    ToolNames m_toolNames;
    CallIds m_callIds;
    RequestBody m_body;
};

} // namespace cortexfs::wire::openai_responses
