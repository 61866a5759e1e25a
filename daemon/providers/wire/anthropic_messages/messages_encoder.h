// A neutral conversation as the body of POST /v1/messages (Anthropic API reference, "Create a Message").
//
// All results of a turn and what the user says to them are one user message, results first. Thinking blocks go back
// unchanged and in their order to the provider they came from. max_tokens: see thinking_plan.h. The `default` control: see
// core/request_body.h; max_tokens, max_completion_tokens and max_output_tokens mean max_tokens, stop means stop_sequences.
#pragma once

#include "daemon/providers/wire/anthropic_messages/model_traits.h"
#include "daemon/providers/wire/anthropic_messages/thinking_plan.h"
#include "daemon/providers/wire/core/call_ids.h"
#include "daemon/providers/wire/core/request_body.h"

#include <string>
#include <vector>

namespace cortexfs::wire::anthropic_messages {

class MessagesEncoder {
public:
    MessagesEncoder(const models::Conversation &conversation, const EncodeContext &context);

    // EINVAL: see checkRequest(); an image that this API does not take.
    Result<WireRequest> encode();

private:
    struct Turn {
        bool isUser = true;
        std::vector<std::string> results; // JSON texts of blocks, in front of the others
        std::vector<std::string> blocks;
    };

    Result<std::vector<Turn>> turns() const;
    Result<void> addInput(Turn &turn, const models::Message &message) const;
    void addAnswer(Turn &turn, const models::Message &message) const;
    Result<std::string> resultBlock(const models::Message &message) const;
    std::string callBlock(const models::ToolCall &call) const;
    std::string systemText() const;

    void writeTurns(const std::vector<Turn> &turns);
    void writeTools();
    void writeThinking();
    void writeSampling();
    void writeDefaults();

    const models::Conversation &m_conversation;
    const EncodeContext &m_context;
    ModelTraits m_traits;
    ThinkingPlan m_plan;
    ToolNames m_toolNames;
    CallIds m_callIds;
    RequestBody m_body;
};

} // namespace cortexfs::wire::anthropic_messages
