#include "common/abi/event.h"

#include "common/json/json.h"

#include <charconv>

namespace cortexfs::abi {

std::string_view eventTypeWord(EventType type)
{
    switch (type) {
    case EventType::Start: return "start";
    case EventType::Delta: return "delta";
    case EventType::Message: return "message";
    case EventType::ReasoningDelta: return "reasoning_delta";
    case EventType::ReasoningMessage: return "reasoning_message";
    case EventType::ToolCall: return "tool_call";
    case EventType::Usage: return "usage";
    case EventType::Error: return "error";
    case EventType::Done: return "done";
    }
    return "error";
}

std::string_view runStatusWord(RunStatus status)
{
    switch (status) {
    case RunStatus::Ok: return "ok";
    case RunStatus::Error: return "error";
    case RunStatus::Cancelled: return "cancelled";
    }
    return "error";
}

std::string_view stopReasonWord(StopReason reason)
{
    switch (reason) {
    case StopReason::Stop: return "stop";
    case StopReason::ToolCalls: return "tool_calls";
    case StopReason::Length: return "length";
    case StopReason::Refusal: return "refusal";
    }
    return "stop";
}

namespace {

// The delta path writes millions of lines: plain appends, no intermediate strings.
void appendField(std::string &out, std::string_view key, std::string_view text)
{
    out += ",\"";
    out += key;
    out += "\":";
    json::appendQuoted(out, text);
}

void appendField(std::string &out, std::string_view key, std::int64_t number)
{
    char buffer[24];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, number).ptr;
    out += ",\"";
    out += key;
    out += "\":";
    out.append(buffer, end);
}

void appendIfSet(std::string &out, std::string_view key, std::string_view text)
{
    if (!text.empty())
        appendField(out, key, text);
}

void appendContent(std::string &out, const std::vector<ContentPart> &content)
{
    out += ",\"role\":\"assistant\",\"content\":[";
    bool first = true;
    for (const ContentPart &part : content) {
        if (!first)
            out += ',';
        first = false;
        out += "{\"type\":";
        json::appendQuoted(out, part.type);
        appendField(out, "text", part.text);
        out += '}';
    }
    out += ']';
}

} // namespace

void Event::appendJson(std::string &out) const
{
    out += "{\"type\":\"";
    out += eventTypeWord(type);
    out += '"';
    appendIfSet(out, "id", id);
    appendIfSet(out, "run", run);
    switch (type) {
    case EventType::Start:
        appendField(out, "model", model);
        appendIfSet(out, "request", request);
        break;
    case EventType::Delta:
    case EventType::ReasoningDelta:
        appendField(out, "text", text);
        appendField(out, "offset", offset);
        break;
    case EventType::Message:
        appendContent(out, content);
        appendIfSet(out, "model", model);
        break;
    case EventType::ReasoningMessage: appendField(out, "text", text); break;
    case EventType::ToolCall:
        appendField(out, "call_id", callId);
        appendField(out, "name", name);
        out += ",\"arguments\":";
        out += rawArguments.empty() && !arguments.empty() ? arguments : std::string("{}");
        appendIfSet(out, "raw_arguments", rawArguments);
        break;
    case EventType::Usage:
        appendField(out, "input_tokens", usage.inputTokens);
        appendField(out, "output_tokens", usage.outputTokens);
        if (usage.cachedTokens)
            appendField(out, "cached_tokens", *usage.cachedTokens);
        if (usage.cacheWriteTokens)
            appendField(out, "cache_write_tokens", *usage.cacheWriteTokens);
        break;
    case EventType::Error:
        appendField(out, "code", errnoName(code));
        appendField(out, "message", errorMessage);
        if (recoverable)
            out += ",\"recoverable\":true";
        appendIfSet(out, "model", model);
        appendIfSet(out, "request", request);
        break;
    case EventType::Done:
        appendField(out, "status", runStatusWord(status));
        if (reason)
            appendField(out, "reason", stopReasonWord(*reason));
        appendIfSet(out, "model", model);
        appendIfSet(out, "request", request);
        break;
    }
    out += '}';
}

std::string Event::toJson() const
{
    std::string out;
    appendJson(out);
    return out;
}

namespace events {

Event start(std::string run, std::string model)
{
    Event event;
    event.type = EventType::Start;
    event.run = std::move(run);
    event.model = std::move(model);
    return event;
}

Event delta(std::string run, std::string text, std::int64_t offset)
{
    Event event;
    event.type = EventType::Delta;
    event.run = std::move(run);
    event.text = std::move(text);
    event.offset = offset;
    return event;
}

Event error(std::string run, const Error &error)
{
    Event event;
    event.type = EventType::Error;
    event.run = std::move(run);
    event.code = error.number();
    event.errorMessage = error.text();
    return event;
}

Event done(std::string run, RunStatus status, std::optional<StopReason> reason)
{
    Event event;
    event.type = EventType::Done;
    event.run = std::move(run);
    event.status = status;
    event.reason = reason;
    return event;
}

} // namespace events

} // namespace cortexfs::abi
