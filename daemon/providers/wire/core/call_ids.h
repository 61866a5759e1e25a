// Ids of tool calls for APIs that take some only: a conversation goes on with another provider than the one it began
// with, whose ids looked different.
#pragma once

#include "daemon/models/types/conversation.h"

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace cortexfs::wire {

// The same conversation gives the same ids turn after turn, a call and its result the same one.
class CallIds {
public:
    // An id stays when all its characters are allowed and it is no longer than `most`; in another each other character
    // becomes '_', the end is cut, and "_2", "_3", ... is added where that is taken.
    CallIds(const models::Conversation &conversation, const std::function<bool(char)> &isAllowed, std::size_t most);

    std::string_view wireId(const std::string &own) const;

private:
    std::map<std::string, std::string> m_changed; // by our id
};

} // namespace cortexfs::wire
