// A frame of an object's socket as a request (object ABI, "socket protocol"; decisions, section 9). Pure.
#pragma once

#include "common/json/json.h"
#include "daemon/sessions/message_line.h"
#include "daemon/sessions/session_key.h"

#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace cortexfs::sessions {

struct SocketRequest {
    enum class Op { Send, Resume, Cancel, Status, Ping, Approve };
    Op op = Op::Ping;
    std::string id; // of the request; empty where it may be absent and is
    std::string session = "default";
    std::optional<Scope> scope;       // as given
    std::string space;                // of `shared`
    std::string cwd;                  // send; absolute, or empty
    bool wantsApprovals = false;      // send, resume
    UserInput input;                  // send
    std::optional<std::string> after; // resume; the text as given
};

struct RequestFault {
    std::string id; // of the request, when that could be read
    bool isSend = false;
    Error error;
};

// EINVAL: no JSON object, no or an unknown op, a field of a wrong type, a missing id of send or cancel, input that no model
// could be given. Unknown fields are ignored.
std::variant<SocketRequest, RequestFault> readRequest(std::string_view frame);

// Lines with LF. `id` and `request` are left out when empty.
std::string errorLine(std::string_view id, bool isSend, const Error &error);

} // namespace cortexfs::sessions
