#include "daemon/sockets/peer.h"

#include <string>
#include <vector>

#include <grp.h>
#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace cortexfs::sockets {

Result<Peer> peerOf(int fd)
{
    ucred credentials = {};
    socklen_t size = sizeof credentials;
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0)
        return errors::fromErrno(errno, "SO_PEERCRED");
    return Peer{credentials.uid, credentials.gid, credentials.pid};
}

bool isInGroup(uid_t uid, const char *group)
{
    std::vector<char> buffer(16384);
    struct group groupEntry = {};
    struct group *foundGroup = nullptr;
    if (::getgrnam_r(group, &groupEntry, buffer.data(), buffer.size(), &foundGroup) != 0 || !foundGroup)
        return false;
    const gid_t wanted = groupEntry.gr_gid;
    struct passwd user = {};
    struct passwd *foundUser = nullptr;
    if (::getpwuid_r(uid, &user, buffer.data(), buffer.size(), &foundUser) != 0 || !foundUser)
        return false;
    if (user.pw_gid == wanted)
        return true;
    int count = 64;
    std::vector<gid_t> groups(static_cast<std::size_t>(count));
    if (::getgrouplist(user.pw_name, user.pw_gid, groups.data(), &count) < 0) {
        groups.resize(static_cast<std::size_t>(count));
        if (::getgrouplist(user.pw_name, user.pw_gid, groups.data(), &count) < 0)
            return false;
    }
    groups.resize(static_cast<std::size_t>(count));
    for (const gid_t id : groups) {
        if (id == wanted)
            return true;
    }
    return false;
}

} // namespace cortexfs::sockets
