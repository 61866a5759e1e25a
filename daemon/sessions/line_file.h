// An append-only file of lines, on disk or in memory. Blocking; used by one job at a time.
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace cortexfs::sessions {

class LineFile {
public:
    virtual ~LineFile() = default;
    virtual std::uint64_t size() const = 0;
    // Appends whole lines, all or nothing: what a failed write left is cut off again. ENOSPC, EDQUOT, EROFS, EIO as the
    // kernel says.
    virtual Result<void> append(std::string_view lines) = 0;
    virtual Result<void> sync() = 0;
    virtual Result<void> truncate(std::uint64_t size) = 0;
    // At most `count` bytes from `offset`; fewer at the end.
    virtual Result<std::string> read(std::uint64_t offset, std::size_t count) const = 0;
};

class DiskLineFile : public LineFile {
public:
    // For reading and appending; made with 0600 where it is missing. Links are not followed.
    static Result<std::unique_ptr<LineFile>> open(int directory, const char *name);
    // For reading; ends with the last whole line that is there now.
    static Result<std::unique_ptr<LineFile>> openExisting(int directory, const char *name);
    std::uint64_t size() const override { return m_size; }
    Result<void> append(std::string_view lines) override;
    Result<void> sync() override;
    Result<void> truncate(std::uint64_t size) override;
    Result<std::string> read(std::uint64_t offset, std::size_t count) const override;

private:
    static Result<std::unique_ptr<LineFile>> openWith(int directory, const char *name, int flags);
    DiskLineFile(UniqueFd fd, std::uint64_t size) : m_fd(std::move(fd)), m_size(size) {}
    UniqueFd m_fd;
    std::uint64_t m_size;
};

// ENOSPC past `most` bytes.
class MemoryLineFile : public LineFile {
public:
    explicit MemoryLineFile(std::size_t most) : m_most(most) {}
    std::uint64_t size() const override { return m_text.size(); }
    Result<void> append(std::string_view lines) override;
    Result<void> sync() override { return {}; }
    Result<void> truncate(std::uint64_t size) override;
    Result<std::string> read(std::uint64_t offset, std::size_t count) const override;

private:
    std::string m_text;
    std::size_t m_most;
};

// Calls `visit(line, offset)` for each whole line (without LF) from `offset` on, until it returns false; gives the end of
// the last whole line visited. Lines over limits::kFrame are skipped.
Result<std::uint64_t> forEachLine(const LineFile &file, std::uint64_t offset,
                                  const std::function<bool(std::string_view line, std::uint64_t offset)> &visit);
// The same from the end to the front.
Result<void> forEachLineBackwards(const LineFile &file,
                                  const std::function<bool(std::string_view line, std::uint64_t offset)> &visit);

} // namespace cortexfs::sessions
