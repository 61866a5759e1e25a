#include "daemon/core/instance_lock.h"

#include "common/base/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace cortexfs {

Result<InstanceLock> InstanceLock::acquire(const std::string &path)
{
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd.isValid())
        return errors::fromErrno(errno, path);
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK)
            return errors::fromErrno(errno, path);
        char pid[24] = {};
        const ssize_t got = ::pread(fd.get(), pid, sizeof pid - 1, 0);
        std::string holder(pid, got > 0 ? static_cast<std::size_t>(got) : 0);
        while (!holder.empty() && (holder.back() < '0' || holder.back() > '9'))
            holder.pop_back();
        return errors::busy("another cortexd uses this state directory: pid " + (holder.empty() ? "unknown" : holder))
            .withDetail(path);
    }
    const std::string pid = std::to_string(::getpid()) + "\n";
    if (::ftruncate(fd.get(), 0) != 0)
        return errors::fromErrno(errno, path);
    if (Result<void> written = files::writeAll(fd.get(), pid); !written)
        return written.error().withDetail(path);
    return InstanceLock(std::move(fd));
}

} // namespace cortexfs
