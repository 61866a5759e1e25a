#include "common/base/file_stamp.h"

namespace cortexfs {

namespace {

constexpr std::int64_t kSettlingMs = 1000;
constexpr std::int64_t kMsNs = 1'000'000;

std::int64_t nanoseconds(const timespec &time) { return std::int64_t{time.tv_sec} * 1000 * kMsNs + time.tv_nsec; }

} // namespace

FileStamp stampOf(const struct stat &info)
{
    return {info.st_dev, info.st_ino, info.st_size, nanoseconds(info.st_mtim), nanoseconds(info.st_ctim)};
}

bool isSettled(const FileStamp &stamp, std::int64_t nowMs)
{
    return stamp.size < 0 || nowMs - stamp.changedNs / kMsNs > kSettlingMs;
}

} // namespace cortexfs
