// Who is at the other end of a unix socket, as the kernel says (SO_PEERCRED: the identity at connect time).
#pragma once

#include "common/base/result.h"

#include <sys/types.h>

namespace cortexfs::sockets {

struct Peer {
    uid_t uid = 0;
    gid_t gid = 0;
    pid_t pid = 0;
};

Result<Peer> peerOf(int fd);

// True when the user of that uid belongs to the named group, by the group database, primary group included.
bool isInGroup(uid_t uid, const char *group);

} // namespace cortexfs::sockets
