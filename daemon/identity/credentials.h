// Which rights the current thread has towards the file system. In a daemon of root, a thread takes the caller's fsuid
// and fsgid before it touches a durable area, so that the kernel's own rules decide. One object a thread, never shared.
#pragma once

#include "daemon/identity/caller.h"

#include <cerrno>

#include <sys/types.h>

namespace cortexfs {

class FsCredentials {
public:
    // Reads the process's effective ids.
    FsCredentials();

    // To be called once in the thread: own umask, no supplementary groups of the daemon's.
    void prepareThread();

    // True when the thread can act as anybody.
    bool canSwitch() const { return m_daemonUid == 0; }
    // False: the thread acts as the daemon and the caller is somebody else, so the area must judge by itself.
    bool assume(const Caller &caller);
    void assumeDaemon();

    // Runs `operation` (-1 and errno on failure) and, when it lacked a right, once more with the caller's groups.
    template<typename Operation>
    auto withGroups(const Caller &caller, Operation operation)
    {
        auto result = operation();
        if (result < 0 && (errno == EACCES || errno == EPERM) && loadGroups(caller)) {
            result = operation();
            const int error = errno;
            clearGroups();
            errno = error;
        }
        return result;
    }
    // The same rights from the start, for what would not fail but lose a bit (chmod g+s).
    template<typename Operation>
    auto alwaysWithGroups(const Caller &caller, Operation operation)
    {
        const bool isLoaded = loadGroups(caller);
        auto result = operation();
        if (isLoaded) {
            const int error = errno;
            clearGroups();
            errno = error;
        }
        return result;
    }

private:
    bool loadGroups(const Caller &caller);
    void clearGroups();
    void become(uid_t uid, gid_t gid);

    const uid_t m_daemonUid;
    const gid_t m_daemonGid;
    uid_t m_uid;
    gid_t m_gid;
};

} // namespace cortexfs
