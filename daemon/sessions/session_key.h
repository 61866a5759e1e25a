// Which session is meant. A value.
#pragma once

#include "common/base/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include <sys/types.h>

namespace cortexfs::sessions {

enum class Scope {
    Private, // below home/<uid>
    Shared,  // below shared/<space>
    Temp,    // in memory, of one connection
};

struct SessionKey {
    std::string object; // "model/P/M"
    Scope scope = Scope::Private;
    uid_t uid = 0;                // whose: private and temp; shared ones belong to their space
    std::string space;            // shared
    std::uint64_t connection = 0; // temp
    std::string name = "default";

    friend bool operator==(const SessionKey &, const SessionKey &) = default;
    friend auto operator<=>(const SessionKey &, const SessionKey &) = default;
};

// An object name other than "index", which is taken by the index. EINVAL.
Result<void> checkSessionName(std::string_view name);

// Where the sessions of an object are, below the installed tree: "home/1000/model/P/M.d/session", or of an agent
// "home/1000/agent/N/session" (decisions, section 9). Not for temp ones.
std::string sessionsDirectory(const SessionKey &key);

// "e" and 12 digits; ids of one session increase strictly.
std::string eventId(std::uint64_t number);
// Nothing when the text is no id.
std::optional<std::uint64_t> parseEventId(std::string_view text);

} // namespace cortexfs::sessions
