// What is told about a node.
#pragma once

#include "daemon/fs/tree/node_id.h"

#include <cstddef>
#include <cstdint>

#include <sys/stat.h>
#include <time.h>

namespace cortexfs::fs {

// Seconds the kernel may believe an answer. What is projected changes with a snapshot, and then the notifier says so;
// the second bounds what a lost notification could do. Nothing below home/ and shared/ is ever believed: the next caller
// may be another uid, and the daemon writes there itself.
inline constexpr double kProjectedSeconds = 1.0;
inline constexpr double kUncachedSeconds = 0.0;

struct Attr {
    struct stat stat = {};
    double seconds = kProjectedSeconds;
};

struct Entry {
    NodeId id = 0;
    Attr attr;
    double seconds = kProjectedSeconds; // of the name
};

// Owner and times of projected nodes.
struct ProjectedOwner {
    uid_t uid = 0;
    gid_t gid = 0;
    timespec born = {};
};

// `mode` holds the type and the permissions.
inline Attr projectedAttr(const ProjectedOwner &owner, NodeId id, mode_t mode, std::size_t size, nlink_t links,
                          const timespec &changed)
{
    Attr attr;
    attr.stat.st_ino = id;
    attr.stat.st_mode = mode;
    attr.stat.st_nlink = links;
    attr.stat.st_uid = owner.uid;
    attr.stat.st_gid = owner.gid;
    attr.stat.st_size = static_cast<off_t>(size);
    attr.stat.st_blksize = 4096;
    attr.stat.st_blocks = static_cast<blkcnt_t>((size + 511) / 512);
    attr.stat.st_atim = attr.stat.st_mtim = attr.stat.st_ctim = changed;
    return attr;
}

inline Entry projectedEntry(const Attr &attr) { return Entry{attr.stat.st_ino, attr, kProjectedSeconds}; }

} // namespace cortexfs::fs
