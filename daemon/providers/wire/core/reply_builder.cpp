#include "daemon/providers/wire/core/reply_builder.h"

#include "common/base/limits.h"
#include "daemon/providers/wire/core/tool_names.h"

namespace cortexfs::wire {

using abi::Event;
using abi::EventType;
using abi::StopReason;

Event &ReplyBuilder::push(EventType type)
{
    Event &event = m_sink->emplace_back();
    event.type = type;
    return event;
}

void ReplyBuilder::addText(std::string_view piece) { addPiece(piece, false); }

void ReplyBuilder::addRefusal(std::string_view piece) { addPiece(piece, true); }

void ReplyBuilder::addPiece(std::string_view piece, bool isRefusal)
{
    if (isFinished() || piece.empty())
        return;
    closeReasoning();
    if (isRefusal != m_lastWasRefusal)
        pushDelta(m_textJoiner.flush(), m_lastWasRefusal);
    m_lastWasRefusal = isRefusal;
    pushDelta(m_textJoiner.push(piece), isRefusal);
}

void ReplyBuilder::pushDelta(std::string text, bool isRefusal)
{
    if (text.empty() || isFinished())
        return;
    if (m_text.size() + m_refusal.size() + text.size() > limits::kMessageText)
        return fail(failureFor(errors::tooLarge("the answer is longer than 768 KiB")));
    pushHiddenReasoning();
    const auto offset = static_cast<std::int64_t>(m_text.size() + m_refusal.size());
    (isRefusal ? m_refusal : m_text) += text;
    Event &event = push(EventType::Delta);
    event.offset = offset;
    event.text = std::move(text);
}

void ReplyBuilder::addReasoning(std::string_view piece)
{
    if (!isFinished() && !piece.empty())
        pushReasoning(m_reasoningJoiner.push(piece));
}

void ReplyBuilder::pushReasoning(std::string text)
{
    if (text.empty() || isFinished())
        return;
    if (m_reasoning.size() + text.size() > limits::kMessageText)
        return fail(failureFor(errors::tooLarge("the reasoning is longer than 768 KiB")));
    pushHiddenReasoning();
    const auto offset = static_cast<std::int64_t>(m_reasoning.size());
    m_reasoning += text;
    Event &event = push(EventType::ReasoningDelta);
    event.offset = offset;
    event.text = std::move(text);
}

void ReplyBuilder::closeReasoning()
{
    pushReasoning(m_reasoningJoiner.flush());
    if (m_reasoning.empty() || isFinished())
        return;
    push(EventType::ReasoningMessage).text = std::move(m_reasoning);
    m_reasoning.clear();
}

void ReplyBuilder::addHiddenReasoning()
{
    closeReasoning();
    if (!isFinished())
        ++m_hiddenReasoning;
}

void ReplyBuilder::pushHiddenReasoning()
{
    for (; m_hiddenReasoning > 0; --m_hiddenReasoning)
        push(EventType::ReasoningMessage);
}

std::optional<std::size_t> ReplyBuilder::addToolCall(const ToolCallFragment &fragment)
{
    if (isFinished())
        return std::nullopt;
    const auto position = m_calls.add(fragment);
    if (position)
        return *position;
    fail(failureFor(position.error()));
    return std::nullopt;
}

Result<std::vector<CollectedCall>> ReplyBuilder::calls(StopReason reason) const
{
    const bool wasCut = reason == StopReason::Length || reason == StopReason::Refusal;
    auto calls = m_calls.collect(m_idSeed, wasCut);
    if (calls) {
        for (CollectedCall &call : *calls)
            call.name = ownName(m_toolNames, call.name);
    }
    return calls;
}

void ReplyBuilder::finish(StopReason reason, std::string opaque)
{
    if (isFinished())
        return;
    const auto collected = calls(reason);
    if (!collected)
        return fail(failureFor(collected.error()));
    pushDelta(m_textJoiner.flush(), m_lastWasRefusal);
    closeReasoning();
    if (isFinished())
        return;
    pushHiddenReasoning();
    if (!m_text.empty() || !m_refusal.empty()) {
        Event &message = push(EventType::Message);
        if (!m_text.empty())
            message.content.push_back({"text", std::move(m_text)});
        if (!m_refusal.empty())
            message.content.push_back({"refusal", m_refusal});
        message.opaque = std::move(opaque);
        opaque.clear();
    }
    for (const CollectedCall &call : *collected) {
        Event &event = push(EventType::ToolCall);
        event.callId = call.callId;
        event.name = call.name;
        event.arguments = call.arguments;
        event.rawArguments = call.rawArguments;
        event.opaque = std::move(opaque);
        opaque.clear();
    }
    if (m_usage)
        push(EventType::Usage).usage = *m_usage;
    if (reason == StopReason::Stop && !m_refusal.empty())
        reason = StopReason::Refusal;
    if (reason == StopReason::Stop && !collected->empty())
        reason = StopReason::ToolCalls;
    else if (reason == StopReason::ToolCalls && collected->empty())
        reason = StopReason::Stop;
    m_reason = reason;
}

void ReplyBuilder::fail(ReplyFailure failure)
{
    if (!isFinished())
        m_failure = std::move(failure);
}

} // namespace cortexfs::wire
