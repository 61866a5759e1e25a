#include "daemon/fs/backing/backed_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <dirent.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace cortexfs::fs {

namespace {

constexpr std::size_t kDirectoryBuffer = 32 * 1024;

// linux_dirent64 of getdents64(2); libc has no declaration of it.
struct RawEntry {
    std::uint64_t inode;
    std::int64_t next;
    std::uint16_t length;
    std::uint8_t type;
    char name[1];
};
constexpr std::size_t kNameOffset = offsetof(RawEntry, name);

} // namespace

ErrnoOr<std::string_view> BackedFile::read(std::vector<char> &scratch, std::size_t size, off_t offset)
{
    if (scratch.size() < size)
        scratch.resize(size);
    std::size_t filled = 0;
    while (filled < size) {
        const ssize_t got = ::pread(m_fd.get(), scratch.data() + filled, size - filled,
                                    offset + static_cast<off_t>(filled));
        if (got < 0) {
            if (errno == EINTR)
                continue;
            return Errno{errno};
        }
        if (got == 0)
            break;
        filled += static_cast<std::size_t>(got);
    }
    return std::string_view(scratch.data(), filled);
}

void BackedFile::write(const Caller &caller, std::string_view data, off_t offset, bool fromPageCache,
                       Reply<std::size_t> reply)
{
    // With the writer's rights, so that the kernel takes setuid bits away as it should.
    if (fromPageCache)
        m_credentials.assumeDaemon();
    else
        m_credentials.assume(caller);
    // RWF_APPEND and not O_APPEND: pages that are written back have their own place.
    const int flags = m_isAppending && !fromPageCache ? RWF_APPEND : 0;
    std::size_t written = 0;
    while (written < data.size()) {
        iovec part = {const_cast<char *>(data.data()) + written, data.size() - written};
        const ssize_t got = ::pwritev2(m_fd.get(), &part, 1, offset + static_cast<off_t>(written), flags);
        if (got < 0) {
            if (errno == EINTR)
                continue;
            if (written)
                break; // a short write; the next one tells why
            return reply.fail(errno);
        }
        written += static_cast<std::size_t>(got);
    }
    reply.ok(written);
}

void BackedFile::truncate(const Caller &caller, off_t size, Reply<Ack> reply)
{
    m_credentials.assume(caller);
    reply.finish(::ftruncate(m_fd.get(), size) == 0 ? 0 : errno);
}

// The kernel keeps the file open until it has the answer, so the descriptor stays valid.
void BackedFile::sync(const Caller &, bool dataOnly, Reply<Ack> reply)
{
    m_work.post([fd = m_fd.get(), dataOnly, shared = shareReply(std::move(reply))] {
        shared->finish((dataOnly ? ::fdatasync(fd) : ::fsync(fd)) == 0 ? 0 : errno);
    });
}

ErrnoOr<off_t> BackedFile::seek(off_t offset, int whence)
{
    const off_t found = ::lseek(m_fd.get(), offset, whence);
    if (found < 0)
        return Errno{errno};
    return found;
}

int BackedDirectory::refill()
{
    m_buffer.resize(kDirectoryBuffer);
    m_at = m_filled = 0;
    const long got = ::syscall(SYS_getdents64, m_fd.get(), m_buffer.data(), m_buffer.size());
    if (got < 0)
        return errno;
    m_filled = static_cast<std::size_t>(got);
    return 0;
}

int BackedDirectory::list(const Caller &caller, off_t offset, DirectorySink &sink)
{
    // 0 is rewinddir() as well: names that came meanwhile have to appear.
    if (offset != m_offset || offset == 0) {
        if (::lseek(m_fd.get(), offset, SEEK_SET) < 0)
            return errno;
        m_at = m_filled = 0;
        m_offset = offset;
    }
    for (;;) {
        if (m_at >= m_filled) {
            if (const int error = refill())
                return error;
            if (m_filled == 0)
                return 0;
        }
        RawEntry raw;
        std::memcpy(&raw, m_buffer.data() + m_at, kNameOffset);
        const std::string_view name(m_buffer.data() + m_at + kNameOffset);
        const bool isDots = name == "." || name == "..";
        if (isDots || m_filter(caller, name)) {
            Entry entry;
            entry.attr.stat.st_ino = m_inodes(name == ".." ? 0 : raw.inode);
            entry.attr.stat.st_mode = static_cast<mode_t>(raw.type) << 12;
            if (!sink.add(name, entry, raw.next))
                return 0;
        }
        m_at += raw.length;
        m_offset = raw.next;
    }
}

void BackedDirectory::sync(Reply<Ack> reply)
{
    m_work.post(
        [fd = m_fd.get(), shared = shareReply(std::move(reply))] { shared->finish(::fsync(fd) == 0 ? 0 : errno); });
}

} // namespace cortexfs::fs
