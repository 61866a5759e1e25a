#include "app/ctx/core/mount_watch.h"

#include "app/ctx/core/text.h"
#include "common/base/error.h"

#include <sys/xattr.h>
#include <unistd.h>

namespace cortexfs::ctx {

MountWatch::MountWatch(std::string mount, std::chrono::milliseconds time)
    : m_mount(std::move(mount)), m_thread([this, time] { watch(time); })
{}

MountWatch::~MountWatch()
{
    {
        const std::lock_guard lock(m_mutex);
        m_isOver = true;
    }
    m_changed.notify_one();
    m_thread.join();
}

void MountWatch::watch(std::chrono::milliseconds time)
{
    std::unique_lock lock(m_mutex);
    if (m_changed.wait_for(lock, time, [this] { return m_isOver; }))
        return;
    const std::string line = "ctx: " + escaped(m_mount) + " does not answer since " + duration(time.count())
                             + ": its cortexd hangs (ETIMEDOUT); restart it, or detach the mount with: fusermount3 -uz "
                             + escaped(shellWord(m_mount)) + "\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
    // Not exit(): the main thread sits in the kernel, and only the end of the whole process gets it out.
    ::_exit(kExitUnavailable);
}

std::optional<std::string> readXattr(const std::string &path, std::string_view name)
{
    std::string value(4096, '\0');
    const ssize_t size = ::getxattr(path.c_str(), std::string(name).c_str(), value.data(), value.size());
    if (size < 0)
        return std::nullopt;
    value.resize(static_cast<std::size_t>(size));
    return value;
}

} // namespace cortexfs::ctx
