// The canonical events of one reply, in their order, whatever the format: reasoning deltas and their message, deltas,
// then at the provider's terminal signal message, tool calls, usage. Keeps offsets, joins surrogate halves, holds the
// limits. A reply that fails leaves its deltas and nothing else.
#pragma once

#include "common/json/json.h"
#include "daemon/providers/wire/core/reply_failure.h"
#include "daemon/providers/wire/core/tool_call_accumulator.h"
#include "daemon/providers/wire/wire_format.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cortexfs::wire {

class ReplyBuilder {
public:
    explicit ReplyBuilder(ToolNames toolNames = {}) : m_toolNames(std::move(toolNames)) {}

    // Where events go from now on. Must be set while anything below is called.
    void setSink(std::vector<abi::Event> *sink) { m_sink = sink; }
    // Makes the ids of calls that come without one: one that differs between replies.
    void setIdSeed(std::uint64_t seed) { m_idSeed = seed; }

    // Pieces of text as they come; empty ones are nothing. EMSGSIZE (a failure of the reply) past limits::kMessageText.
    void addText(std::string_view piece);
    void addRefusal(std::string_view piece);
    void addReasoning(std::string_view piece);
    // Ends the reasoning message that is open, if any: the next piece begins another. Text does it by itself.
    void closeReasoning();
    // A reasoning message that has no text to show (redacted, encrypted). It is no output by itself: it waits for the next
    // piece or the end.
    void addHiddenReasoning();
    // Position of the call among all of the reply.
    std::optional<std::size_t> addToolCall(const ToolCallFragment &fragment);
    // The whole count so far: a later one replaces it.
    void setUsage(const abi::Usage &usage) { m_usage = usage; }

    bool hasToolCalls() const { return !m_calls.isEmpty(); }
    // The calls as they will be reported; what a format keeps per call goes by their position.
    Result<std::vector<CollectedCall>> calls(abi::StopReason reason) const;

    // The terminal signal. `opaque` (JSON text or empty) goes with the message, or with the first call when there is no
    // text. Stop with calls counts as ToolCalls, ToolCalls without any as Stop.
    void finish(abi::StopReason reason, std::string opaque = {});
    void fail(ReplyFailure failure);

    bool isFinished() const { return m_reason || m_failure; }
    std::optional<abi::StopReason> reason() const { return m_reason; }
    const std::optional<ReplyFailure> &failure() const { return m_failure; }

private:
    void addPiece(std::string_view piece, bool isRefusal);
    void pushDelta(std::string text, bool isRefusal);
    void pushReasoning(std::string text);
    void pushHiddenReasoning();
    abi::Event &push(abi::EventType type);

    ToolNames m_toolNames;
    std::vector<abi::Event> *m_sink = nullptr;
    std::uint64_t m_idSeed = 0;

    std::string m_text;
    std::string m_refusal;
    json::Wtf8Joiner m_textJoiner;
    bool m_lastWasRefusal = false;
    std::string m_reasoning; // of the message that is open
    json::Wtf8Joiner m_reasoningJoiner;
    int m_hiddenReasoning = 0; // messages that wait
    ToolCallAccumulator m_calls;
    std::optional<abi::Usage> m_usage;
    std::optional<abi::StopReason> m_reason;
    std::optional<ReplyFailure> m_failure;
};

} // namespace cortexfs::wire
