#include "daemon/identity/credentials.h"

#include <cerrno>

#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cortexfs {

FsCredentials::FsCredentials()
    : m_daemonUid(::geteuid()), m_daemonGid(::getegid()), m_uid(m_daemonUid), m_gid(m_daemonGid)
{}

// The raw calls are used because glibc's setgroups() changes every thread of the process.
void FsCredentials::prepareThread()
{
    // The kernel has applied the caller's umask already.
    ::unshare(CLONE_FS);
    ::umask(0);
    if (canSwitch())
        ::syscall(SYS_setgroups, 0, nullptr);
}

void FsCredentials::become(uid_t uid, gid_t gid)
{
    if (gid != m_gid) {
        ::syscall(SYS_setfsgid, gid);
        m_gid = gid;
    }
    // Leaving uid 0 drops the file system capabilities, coming back raises them (capabilities(7)).
    if (uid != m_uid) {
        ::syscall(SYS_setfsuid, uid);
        m_uid = uid;
    }
}

bool FsCredentials::assume(const Caller &caller)
{
    if (canSwitch()) {
        become(caller.uid, caller.gid);
        return true;
    }
    // Root could become the daemon's uid anyway.
    return caller.uid == m_daemonUid || caller.uid == 0;
}

void FsCredentials::assumeDaemon()
{
    if (canSwitch())
        become(m_daemonUid, m_daemonGid);
}

bool FsCredentials::loadGroups(const Caller &caller)
{
    if (!canSwitch() || caller.uid == 0 || !caller.groupSource)
        return false;
    const int error = errno;
    const std::vector<gid_t> groups = caller.groupSource->groups();
    const bool isLoaded = !groups.empty() && ::syscall(SYS_setgroups, groups.size(), groups.data()) == 0;
    errno = error;
    return isLoaded;
}

void FsCredentials::clearGroups() { ::syscall(SYS_setgroups, 0, nullptr); }

} // namespace cortexfs
