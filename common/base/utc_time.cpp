#include "common/base/utc_time.h"

#include <ctime>

namespace cortexfs {

std::string utcTimestamp(std::int64_t wallMs)
{
    const auto seconds = static_cast<std::time_t>(wallMs / 1000);
    std::tm utc = {};
    ::gmtime_r(&seconds, &utc);
    char text[32];
    const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return std::string(text, length);
}

} // namespace cortexfs
