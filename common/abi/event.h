// The canonical event stream of models and agents (model ABI, "canonical event stream"; decisions 6 and 9).
//
// An Event is a value; toJson() writes the one JSON line of it (without LF). Fields that do not belong to the type are
// ignored. Text is valid UTF-8.
#pragma once

#include "common/base/error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cortexfs::abi {

enum class EventType { Start, Delta, Message, ReasoningDelta, ReasoningMessage, ToolCall, Usage, Error, Done };
std::string_view eventTypeWord(EventType type);

enum class RunStatus { Ok, Error, Cancelled };
std::string_view runStatusWord(RunStatus status);

enum class StopReason { Stop, ToolCalls, Length, Refusal };
std::string_view stopReasonWord(StopReason reason);

struct ContentPart {
    std::string type; // "text", "refusal"
    std::string text;
};

struct Usage {
    std::int64_t inputTokens = 0; // the whole prompt, cached and cache-written part included
    std::int64_t outputTokens = 0;
    std::optional<std::int64_t> cachedTokens;
    std::optional<std::int64_t> cacheWriteTokens;
    friend bool operator==(const Usage &, const Usage &) = default;
};

struct Event {
    EventType type = EventType::Start;
    std::string id; // in a session: its event id, "e" and 12 digits; elsewhere empty
    std::string run;
    std::string model; // start, message, done; an error that is followed by another candidate

    std::string text;                 // delta, reasoning_delta, reasoning_message
    std::int64_t offset = 0;          // delta, reasoning_delta: UTF-8 bytes of that message before this piece
    std::vector<ContentPart> content; // message

    std::string callId;       // tool_call
    std::string name;         // tool_call
    std::string arguments;    // tool_call: JSON text of an object, key order as the provider wrote it
    std::string rawArguments; // tool_call: set when they are not a JSON object; such a call is never executed

    Usage usage;

    int code = 0; // error: errno
    std::string errorMessage;
    bool recoverable = false; // error: another candidate follows

    RunStatus status = RunStatus::Ok; // done
    std::optional<StopReason> reason; // done with status ok
    std::string request;              // start, done and errors before a run, on sockets: the client's id

    // Opaque provider data of this turn that must come back unchanged on the next one; a JSON text or empty. It is kept
    // with the message and never written to a stream.
    std::string opaque;

    // {"type":...,"run":...,...}
    std::string toJson() const;
    void appendJson(std::string &out) const;
};

namespace events {
Event start(std::string run, std::string model);
Event delta(std::string run, std::string text, std::int64_t offset);
Event error(std::string run, const Error &error);
Event done(std::string run, RunStatus status, std::optional<StopReason> reason = std::nullopt);
} // namespace events

} // namespace cortexfs::abi
