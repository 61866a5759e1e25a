#include "daemon/providers/route/route_file.h"

#include "common/base/clock.h"
#include "common/base/files.h"
#include "common/base/limits.h"

#include <sys/stat.h>

namespace cortexfs::providers {

namespace {

FileStamp stampAt(const std::string &path)
{
    struct stat info = {};
    return ::lstat(path.c_str(), &info) == 0 ? stampOf(info) : FileStamp();
}

} // namespace

Result<RouteFile::Table> RouteFile::table()
{
    const FileStamp stamp = stampAt(m_path);
    if (m_table && m_isStampReliable && stamp == m_stamp)
        return *m_table;
    // The stamp of before reading: a change in between makes the next look read again.
    m_stamp = stamp;
    m_isStampReliable = isSettled(stamp, systemClock().wallMs());
    m_table = read();
    return *m_table;
}

Result<RouteFile::Table> RouteFile::read()
{
    const Result<std::string> text = files::readRegular(m_path, limits::kRouteFile);
    if (!text) {
        if (text.error().number() == ENOENT)
            return Table(std::make_shared<const route::Table>(route::defaultTable()));
        return errors::io("cannot be read: " + text.error().message()).withDetail("model/route");
    }
    Result<route::Table> table = route::parseTable(*text);
    if (table)
        return Table(std::make_shared<const route::Table>(std::move(*table)));
    const std::string &position = table.error().detail();
    return errors::invalid(table.error().message())
        .withDetail(position.empty() ? std::string("model/route") : "model/route, " + position);
}

} // namespace cortexfs::providers
