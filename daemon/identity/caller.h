// Who asks.
#pragma once

#include <vector>

#include <sys/types.h>

namespace cortexfs {

// Supplementary groups cost a read of /proc, so they are asked for only where the primary ones were not enough.
class GroupSource {
public:
    virtual ~GroupSource() = default;
    virtual std::vector<gid_t> groups() const = 0;
};

struct Caller {
    uid_t uid = 0;
    gid_t gid = 0;
    pid_t pid = 0;
    const GroupSource *groupSource = nullptr; // valid during the request only

    // For what outlives the request.
    Caller withoutGroups() const { return {uid, gid, pid, nullptr}; }
};

} // namespace cortexfs
