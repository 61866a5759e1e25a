#include "daemon/fs/bridge/fuse_mount.h"

#include "common/base/logging.h"
#include "common/base/unique_fd.h"
#include "daemon/fs/bridge/mount_table.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include <fcntl.h>
#include <linux/fuse.h>
#include <sys/mount.h>
#include <sys/uio.h>
#include <unistd.h>

namespace cortexfs::fs {

namespace {

void logLine(enum fuse_log_level level, const char *format, va_list arguments)
{
    char line[512];
    std::vsnprintf(line, sizeof line, format, arguments);
    std::string text = line;
    while (!text.empty() && text.back() == '\n')
        text.pop_back();
    if (level <= FUSE_LOG_ERR)
        qCWarning(lcFs, "%s", text.c_str());
    else
        qCDebug(lcFs, "%s", text.c_str());
}

// What libfuse lets us ask for is asked for in the init operation. That the server takes setuid bits away itself, so
// that the kernel need not ask for security.capability before every write, cannot be said with libfuse before 3.17:
// here it is added to the answer to INIT.
void offerKillPrivileges(iovec *parts, int count)
{
    if (count != 2 || parts[1].iov_len < offsetof(fuse_init_out, flags) + sizeof(std::uint32_t))
        return;
    static_cast<fuse_init_out *>(parts[1].iov_base)->flags |= FUSE_HANDLE_KILLPRIV_V2;
}

} // namespace

Result<std::unique_ptr<FuseMount>> FuseMount::mount(const std::string &mountpoint, bool allowOther,
                                                    const fuse_lowlevel_ops &operations, void *context)
{
    fuse_set_log_func(&logLine);
    std::unique_ptr<FuseMount> mount(new FuseMount(context));
    fuse_args arguments = FUSE_ARGS_INIT(0, nullptr);
    fuse_opt_add_arg(&arguments, "cortexd");
    fuse_opt_add_arg(&arguments, "-o");
    fuse_opt_add_arg(&arguments,
                     allowOther ? "fsname=cortexfs,subtype=cortexfs,allow_other" : "fsname=cortexfs,subtype=cortexfs");
    mount->m_session = fuse_session_new(&arguments, &operations, sizeof operations, mount.get());
    fuse_opt_free_args(&arguments);
    if (!mount->m_session)
        return errors::io("libfuse refused its options");
    errno = 0;
    if (fuse_session_mount(mount->m_session, mountpoint.c_str()) != 0) {
        const int error = errno ? errno : EIO;
        return errors::fromErrno(error, "mount " + mountpoint);
    }
    mount->m_isMounted = true;
    mount->m_mountpoint = mountpoint;
    if (const auto mounted = mountedAt(mountpoint))
        mount->m_connection = mounted->minor;
    const fuse_custom_io io = {&writeDevice, &readDevice, nullptr, nullptr};
    if (fuse_session_custom_io(mount->m_session, &io, mount->descriptor()) != 0)
        return errors::io("libfuse refused its device functions");
    // A request can be taken back between poll and read; a read that waits would miss the wake-up.
    ::fcntl(mount->descriptor(), F_SETFL, O_NONBLOCK);
    return mount;
}

FuseMount::~FuseMount()
{
    unmount();
    if (m_session)
        fuse_session_destroy(m_session);
    std::free(m_buffer.mem);
}

// The kernel does it when the last descriptor of the device is closed. A child that was forked and executed nothing holds
// one, and whoever waits for an answer would wait for that child.
void FuseMount::abortConnection()
{
    // Somebody may have unmounted it, and another mount may have the place or the number by now.
    const auto mounted = mountedAt(m_mountpoint);
    if (!mounted || mounted->minor != m_connection)
        return;
    if (::umount2(m_mountpoint.c_str(), MNT_FORCE | MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
        return;
    // Not root: the file belongs to the user who mounted, where fusectl is there.
    const std::string file = "/sys/fs/fuse/connections/" + std::to_string(m_connection) + "/abort";
    const UniqueFd control(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
    if (control.isValid() && ::write(control.get(), "1", 1) != 1)
        qCDebug(lcFs, "%s: %d", file.c_str(), errno);
}

void FuseMount::unmount()
{
    if (!std::exchange(m_isMounted, false))
        return;
    abortConnection();
    fuse_session_unmount(m_session);
}

ssize_t FuseMount::readDevice(int fd, void *buffer, size_t size, void *) { return ::read(fd, buffer, size); }

ssize_t FuseMount::writeDevice(int fd, iovec *parts, int count, void *userdata)
{
    auto *mount = static_cast<FuseMount *>(userdata);
    if (!mount->m_isInitialised) {
        offerKillPrivileges(parts, count);
        mount->m_isInitialised = true;
    }
    return ::writev(fd, parts, count);
}

void FuseMount::count(const fuse_buf &buffer)
{
    const auto *header = static_cast<const fuse_in_header *>(buffer.mem);
    switch (header->opcode) {
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT: return;
    case FUSE_LOOKUP: m_lookups.fetch_add(1, std::memory_order_relaxed); break;
    default: break;
    }
    m_requests.fetch_add(1, std::memory_order_relaxed);
}

int FuseMount::serveOne()
{
    const int got = fuse_session_receive_buf(m_session, &m_buffer);
    if (got == -EAGAIN || got == -EINTR)
        return 0;
    if (got < 0)
        return -got;
    if (got == 0)
        return ENODEV;
    count(m_buffer);
    fuse_session_process_buf(m_session, &m_buffer);
    return 0;
}

void FuseMount::invalidate(const Invalidation &what)
{
    // What the kernel does not know (ENOENT) needs no forgetting.
    if (what.name.empty())
        fuse_lowlevel_notify_inval_inode(m_session, what.node, 0, 0);
    else
        fuse_lowlevel_notify_inval_entry(m_session, what.node, what.name.c_str(), what.name.size());
}

} // namespace cortexfs::fs
