// What was said in a conversation, as the daemon keeps it.
#pragma once

#include "app/ctx/core/session.h"
#include "common/object_client/object_request.h"

#include <cstdint>
#include <string>

namespace cortexfs::ctx {

// Writes the messages to session.out(), oldest first: for people, or the stored lines. `limit` 0: all. Errors as
// control::Client::call().
Result<void> writeHistory(Session &session, const std::string &object, const object::Conversation &conversation,
                          std::int64_t limit, bool wantsJson);

} // namespace cortexfs::ctx
