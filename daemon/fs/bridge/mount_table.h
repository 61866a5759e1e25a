// What is mounted where, from /proc/self/mountinfo.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cortexfs::fs {

struct MountedHere {
    std::string path;   // as the kernel names it
    std::string type;   // "fuse.cortexfs"
    unsigned minor = 0; // of its device number; the name of a FUSE connection in fusectl
    bool isOurs() const { return type == "fuse.cortexfs"; }
};

// The topmost mount exactly at `mountpoint`; links in its directory part are resolved, the last component is not
// touched (it may be a dead mount).
std::optional<MountedHere> mountedAt(const std::string &mountpoint);
// The same from a given table.
std::optional<MountedHere> mountedAt(std::string_view mountInfo, std::string_view path);

} // namespace cortexfs::fs
