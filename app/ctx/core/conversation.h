// The conversations of an object, for the commands that talk to its socket or look at what is stored of them.
#pragma once

#include "app/ctx/core/invocation.h"
#include "app/ctx/core/session.h"
#include "common/object_client/object_request.h"

#include <string>
#include <string_view>
#include <vector>

namespace cortexfs::ctx {

// "model/P/M" or "agent/N", aliases resolved. ENOENT: no such alias; EINVAL: a tool or a file; else as Session::ask().
Result<std::string> conversingObject(Session &session, std::string_view name);

// The path of an object's socket: what the tree's P/M.sock points at, or <runtime>/P/M.sock without a mount.
// ENOENT: no such object, or one without a socket, with the command that gives it one. Not running: as Session::connect().
Result<std::string> objectSocket(Session &session, const std::string &object);

// --session, --scope and --shared of the command line. EINVAL: they contradict each other.
Result<object::Conversation> conversationOf(const Invocation &invocation);

const Argument &objectArgument();
Option sessionOption();
Option sharedOption();
std::vector<Option> conversationOptions(); // the three of conversationOf()

// {"object":OBJECT,"session":SESSION,"shared":SPACE} for a request of session.*; `session` may be empty.
std::string storedMembers(const std::string &object, std::string_view session, std::string_view shared,
                          std::string_view more = {});

inline constexpr Note kSocketNote = {"<mount>/model/P/M.sock", "the socket that is spoken to; agents: agent/NAME.sock"};
inline constexpr Note kStoredNote = {"<mount>/home/UID/model/P/M.d/session/", "where conversations are kept"};

} // namespace cortexfs::ctx
