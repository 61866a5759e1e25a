#include "daemon/fs/bridge/mount_table.h"
#include "daemon/fs/session.h"

#include <cerrno>

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cortexfs::fs {

namespace {

constexpr int kProbeMs = 2'000;
constexpr int kStackedMounts = 16;

int waitFor(pid_t child, int timeoutMs)
{
    const int descriptor = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
    if (descriptor >= 0) {
        pollfd wait = {descriptor, POLLIN, 0};
        if (::poll(&wait, 1, timeoutMs) == 0)
            ::kill(child, SIGKILL);
        ::close(descriptor);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    return WIFEXITED(status) ? WEXITSTATUS(status) : ETIMEDOUT;
}

// The errno of a stat, or ETIMEDOUT where the file system does not answer. In a child, because a stat of a mount whose
// server hangs cannot be given up.
int probe(const std::string &path)
{
    const char *name = path.c_str();
    const pid_t child = ::fork();
    if (child < 0)
        return errno;
    if (child == 0) {
        struct stat info;
        ::_exit(::stat(name, &info) == 0 ? 0 : errno);
    }
    return waitFor(child, kProbeMs);
}

int detach(const std::string &mountpoint)
{
    if (::umount2(mountpoint.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
        return 0;
    if (errno != EPERM)
        return errno;
    std::string program = "fusermount3";
    std::string flags = "-uqz";
    std::string end = "--";
    std::string target = mountpoint;
    char *arguments[] = {program.data(), flags.data(), end.data(), target.data(), nullptr};
    pid_t child = 0;
    if (const int error = ::posix_spawnp(&child, program.c_str(), nullptr, nullptr, arguments, environ))
        return error;
    return waitFor(child, 10 * kProbeMs) == 0 ? 0 : EPERM;
}

} // namespace

Result<void> recoverStaleMount(const std::string &mountpoint)
{
    for (int depth = 0; depth < kStackedMounts; ++depth) {
        const std::optional<MountedHere> mounted = mountedAt(mountpoint);
        if (!mounted)
            return {};
        if (!mounted->isOurs())
            return errors::busy(mountpoint + " is a mount of type " + mounted->type + "; choose another mount point");
        const int state = probe(mounted->path);
        if (state != ENOTCONN)
            return errors::busy(mountpoint + " is mounted by a running cortexd"
                                + (state == ETIMEDOUT ? " that does not answer" : ""));
        if (const int error = detach(mounted->path))
            return errors::fromErrno(error, "unmount the dead " + mountpoint);
    }
    return errors::busy(mountpoint + " has too many dead mounts");
}

} // namespace cortexfs::fs
