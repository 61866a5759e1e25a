// What comes out of an object's socket (P/M.sock, agent/N.sock), one frame as one value. Pure.
#pragma once

#include "common/abi/event.h"
#include "common/base/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cortexfs::object {

enum class EventType {
    Start,
    Delta,
    ReasoningDelta,
    Message,
    ReasoningMessage,
    ToolCall,
    ToolResult,
    ApprovalRequest,
    ApprovalResult,
    Usage,
    Error,
    Done,
    Pong,
    Accepted,
    Status,
    Resumed,
    Other // of a later version: to be ignored, or passed on as `line`
};

// Fields that a frame does not have, or has with another type, are empty.
struct ObjectEvent {
    EventType type = EventType::Other;
    std::string typeWord; // as it stands in the frame
    std::string id;       // the event's id; of a reply, the id of its request
    std::string run;
    std::string request; // the client's id of a send
    std::string session; // status, resumed

    std::string text;                   // deltas, reasoning_message, tool_result; of a message all its text parts
    std::optional<std::int64_t> offset; // deltas: UTF-8 bytes of that message before this piece
    // What this event adds to what the events before it have told of its message. Joined, they are the text of the
    // message, nothing twice and nothing missing, whatever happened to the connection. Set by ObjectLink.
    std::string appended;
    std::string role;  // message
    std::string model; // start, message, done, error

    int code = 0; // error: the errno; EIO for a name that is not a stable one
    std::string codeWord;
    std::string message; // error: for people
    bool isRecoverable = false;

    std::string status; // done: ok error cancelled; tool_result
    std::string reason; // done
    abi::Usage usage;

    std::string callId; // tool_call, tool_result, approval_*
    std::string name;
    std::string arguments; // tool_call: JSON text

    std::string op;    // accepted
    std::string state; // status: idle active done error cancelled
    std::int64_t waiting = 0;
    std::string last; // resumed: the last event id of the session
    bool isLive = false;

    std::string line; // the frame as it came, without LF

    // An error that answers a request; without a run it is no event of one.
    bool isRefusal() const { return type == EventType::Error && run.empty(); }
    // The error as an Error. Only of an Error event.
    Error error() const;
};

// EBADMSG: no JSON object, or one without a type.
Result<ObjectEvent> readObjectEvent(std::string_view line);

// Event ids of one session in their order: "e000000000002" after "e000000000001". An empty id is before every other.
bool isIdAfter(std::string_view id, std::string_view other);

} // namespace cortexfs::object
