// What neutral_conversation_test.cpp asks and what it is answered. In a file of their own because moc 6.4 loses its way in
// raw string literals.
#pragma once

#include "daemon/providers/wire/wire_format.h"

#include <string>

namespace cortexfs::test {

models::Conversation threeSteps();
models::Conversation withImages();
// Calls with ids of another provider: characters and lengths that not every API takes.
models::Conversation withForeignIds();

// One reply, a text and a call, in the words of each API; the event of its call as we write it.
std::string textAndCall(const std::string &format);
extern const char *const kCallInEvents;

// What a server would refuse.
wire::WireRequest faultyRequest(const std::string &format);

} // namespace cortexfs::test
