// Reads a conversation from JSON; parseInput() says which keys there are.
#pragma once

#include "common/json/json.h"
#include "daemon/models/types/conversation.h"

namespace cortexfs::models {

// EINVAL with every fault and its JSON pointer.
Result<Conversation> readConversation(const json::Value &root);

} // namespace cortexfs::models
