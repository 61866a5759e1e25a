#include "daemon/sessions/line_file.h"

#include "common/base/files.h"
#include "common/base/limits.h"

#include <algorithm>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cortexfs::sessions {

namespace {
constexpr std::size_t kBlock = 64 * limits::kKiB;
constexpr mode_t kMode = 0600;
} // namespace

Result<std::unique_ptr<LineFile>> DiskLineFile::openWith(int directory, const char *name, int flags)
{
    UniqueFd fd(::openat(directory, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, kMode));
    if (!fd.isValid())
        return errors::fromErrno(errno, name);
    struct stat info = {};
    if (::fstat(fd.get(), &info) != 0)
        return errors::fromErrno(errno, name);
    if (!S_ISREG(info.st_mode))
        return errors::invalid(std::string(name) + ": not a regular file");
    return std::unique_ptr<LineFile>(new DiskLineFile(std::move(fd), static_cast<std::uint64_t>(info.st_size)));
}

Result<std::unique_ptr<LineFile>> DiskLineFile::open(int directory, const char *name)
{
    return openWith(directory, name, O_RDWR | O_APPEND | O_CREAT);
}

Result<std::unique_ptr<LineFile>> DiskLineFile::openExisting(int directory, const char *name)
{
    Result<std::unique_ptr<LineFile>> file = openWith(directory, name, O_RDONLY);
    if (!file)
        return file;
    auto &lines = static_cast<DiskLineFile &>(**file);
    // A line that is being written is not there yet.
    const std::uint64_t from = lines.m_size - std::min<std::uint64_t>(lines.m_size, limits::kFrame);
    const Result<std::string> end = lines.read(from, limits::kFrame);
    if (!end)
        return end.error();
    const std::size_t last = end->rfind('\n');
    lines.m_size = last == std::string::npos ? 0 : from + last + 1;
    return file;
}

Result<void> DiskLineFile::append(std::string_view lines)
{
    const Result<void> written = files::writeAll(m_fd.get(), lines);
    if (!written) {
        (void)truncate(m_size); // a full disk lets us give back
        return written.error();
    }
    m_size += lines.size();
    return {};
}

Result<void> DiskLineFile::sync()
{
    return ::fdatasync(m_fd.get()) == 0 ? Result<void>() : errors::fromErrno(errno, "fdatasync");
}

Result<void> DiskLineFile::truncate(std::uint64_t size)
{
    if (::ftruncate(m_fd.get(), static_cast<off_t>(size)) != 0)
        return errors::fromErrno(errno, "ftruncate");
    m_size = size;
    return {};
}

Result<std::string> DiskLineFile::read(std::uint64_t offset, std::size_t count) const
{
    if (offset >= m_size)
        return std::string();
    std::string text(static_cast<std::size_t>(std::min<std::uint64_t>(count, m_size - offset)), '\0');
    std::size_t have = 0;
    while (have < text.size()) {
        const ssize_t got = ::pread(m_fd.get(), text.data() + have, text.size() - have,
                                    static_cast<off_t>(offset + have));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return errors::fromErrno(errno, "read");
        if (got == 0)
            break; // somebody else made it shorter
        have += static_cast<std::size_t>(got);
    }
    text.resize(have);
    return text;
}

Result<void> MemoryLineFile::append(std::string_view lines)
{
    if (m_text.size() + lines.size() > m_most)
        return errors::fromErrno(ENOSPC, "a session in memory");
    m_text.append(lines);
    return {};
}

Result<void> MemoryLineFile::truncate(std::uint64_t size)
{
    m_text.resize(static_cast<std::size_t>(size));
    return {};
}

Result<std::string> MemoryLineFile::read(std::uint64_t offset, std::size_t count) const
{
    if (offset >= m_text.size())
        return std::string();
    return m_text.substr(static_cast<std::size_t>(offset), count);
}

Result<std::uint64_t> forEachLine(const LineFile &file, std::uint64_t offset,
                                  const std::function<bool(std::string_view, std::uint64_t)> &visit)
{
    std::string held;
    std::uint64_t start = offset; // of `held` in the file
    for (;;) {
        Result<std::string> block = file.read(start + held.size(), kBlock);
        if (!block)
            return block.error();
        if (block->empty())
            return start;
        std::size_t scanned = held.size();
        held += *block;
        std::size_t lineStart = 0;
        for (std::size_t end; (end = held.find('\n', scanned)) != std::string::npos; scanned = lineStart) {
            const std::string_view line(held.data() + lineStart, end - lineStart);
            if (line.size() < limits::kFrame && !visit(line, start + lineStart))
                return start + end + 1;
            lineStart = end + 1;
        }
        held.erase(0, lineStart);
        start += lineStart;
    }
}

Result<void> forEachLineBackwards(const LineFile &file,
                                  const std::function<bool(std::string_view, std::uint64_t)> &visit)
{
    std::string held; // from `start` to the end of a line, its LF included
    std::uint64_t start = file.size();
    while (start > 0) {
        const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(start, kBlock));
        Result<std::string> block = file.read(start - count, count);
        if (!block)
            return block.error();
        if (block->size() < count)
            return {}; // somebody else made it shorter
        held.insert(0, *block);
        start -= count;
        for (;;) {
            if (held.empty())
                break;
            const std::size_t before = held.size() < 2 ? std::string::npos : held.rfind('\n', held.size() - 2);
            if (before == std::string::npos && start > 0)
                break;
            const std::size_t lineStart = before == std::string::npos ? 0 : before + 1;
            const std::string_view line(held.data() + lineStart, held.size() - lineStart - 1);
            if (line.size() < limits::kFrame && !visit(line, start + lineStart))
                return {};
            held.resize(lineStart);
        }
    }
    return {};
}

} // namespace cortexfs::sessions
