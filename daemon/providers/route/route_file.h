// The stored route table, read when a request is made. A stat decides whether the file has to be parsed again.
#pragma once

#include "common/base/result.h"
#include "common/route/route_table.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <sys/stat.h>

namespace cortexfs::providers {

// What tells one state of a file from another without reading it.
struct FileStamp {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t size = -1; // -1: no such file
    std::int64_t modifiedNs = 0;
    std::int64_t changedNs = 0;

    friend bool operator==(const FileStamp &, const FileStamp &) = default;
};
FileStamp stampOf(const struct stat &info);

class RouteFile {
public:
    explicit RouteFile(std::string path) : m_path(std::move(path)) {}

    using Table = std::shared_ptr<const route::Table>;
    // The default table for a missing file. Links are not followed. EINVAL with "model/route, line N, column M" as
    // detail for a text that is no table, EIO for a file that cannot be read. Until the file changes the answer is kept,
    // a failure too.
    Result<Table> table();
    const std::string &path() const { return m_path; }

private:
    Result<Table> read();

    std::string m_path;
    FileStamp m_stamp;
    bool m_isStampReliable = false;
    std::optional<Result<Table>> m_table;
};

} // namespace cortexfs::providers
