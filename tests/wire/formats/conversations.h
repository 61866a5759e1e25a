// Conversations for the tests of several formats.
#pragma once

#include "common/json/json.h"
#include "daemon/providers/wire/wire_format.h"
#include "tests/wire/feed.h"

#include <string>

namespace cortexfs::test {

models::Message userSays(const std::string &text);
models::Message assistantSays(const std::string &text, std::vector<models::ToolCall> calls = {});
models::Message toolSays(const std::string &callId, const std::string &text, bool isError = false);
models::Conversation asked(const std::string &text);

// The neutral conversation of fixtures/requests/00-canonical.json, without what only one provider understands.
models::Conversation canonicalConversation();

// The body that a format makes of it; ends the program when it makes none, so that no test passes without one.
json::Document bodyOf(const std::string &format, const models::Conversation &conversation,
                      const wire::EncodeContext &context);
// JSON text of a member of that body; empty when there is none.
std::string memberOf(const std::string &format, const models::Conversation &conversation,
                     const wire::EncodeContext &context, std::string_view key);

// What a session keeps of a reply: text, calls and opaque data as one assistant message.
models::Message rememberedFrom(const Decoded &decoded, const std::string &provider);

} // namespace cortexfs::test
