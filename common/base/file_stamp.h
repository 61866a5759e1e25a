// What tells one state of a file from another without reading it.
#pragma once

#include <cstdint>

#include <sys/stat.h>

namespace cortexfs {

struct FileStamp {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t size = -1; // -1: no such file
    std::int64_t modifiedNs = 0;
    std::int64_t changedNs = 0; // content, mode, owner or links; nobody can set it back

    friend bool operator==(const FileStamp &, const FileStamp &) = default;
};

FileStamp stampOf(const struct stat &info);

// Whether a change from now on must leave another stamp. The clock of a file system ticks every few milliseconds, and two
// writes within a tick leave the same one, so a stamp counts once it is older than that by far. `nowMs`: wall clock.
bool isSettled(const FileStamp &stamp, std::int64_t nowMs);

} // namespace cortexfs
