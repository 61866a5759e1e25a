// The stored route table, read when a request is made. A stat decides whether the file has to be parsed again.
#pragma once

#include "common/base/file_stamp.h"
#include "common/base/result.h"
#include "common/route/route_table.h"

#include <memory>
#include <optional>
#include <string>

namespace cortexfs::providers {

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
