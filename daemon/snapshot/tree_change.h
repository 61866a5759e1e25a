// A change of projected state that somebody asked for through the tree. It travels as a value from the FUSE thread to
// the Qt thread, which validates it, stores it and publishes a new snapshot before it answers.
#pragma once

#include "common/base/result.h"

#include <functional>
#include <string>

#include <sys/types.h>

namespace cortexfs {

struct TreeChange {
    enum class Kind {
        WriteControl, // path model/P/M.d/<control> or model/route; content is the whole new text
        SetLink,      // path model/<alias>; content is the link's target as given
        RemoveLink,   // path model/<alias>
        RemoveFile,   // path model/route
    };
    Kind kind = Kind::WriteControl;
    std::string path; // below the mount, no leading slash
    std::string content;
    uid_t uid = 0;
    gid_t gid = 0;
    pid_t pid = 0;
};

// Called once, on any thread, with the outcome. Move-only answers are wrapped by the caller (fs/bridge/reply.h).
using TreeChangeDone = std::function<void(Result<void>)>;

class TreeChangeHandler {
public:
    virtual ~TreeChangeHandler() = default;
    // Thread-safe, returns at once. EINVAL bad content (the old one stays), EROFS a path nobody may change.
    virtual void postTreeChange(TreeChange change, TreeChangeDone done) = 0;
    // Pure syntax check of a single-value control, for write(2) to fail at once; thread-safe.
    virtual Result<void> checkControl(std::string_view path, std::string_view content) const = 0;
};

} // namespace cortexfs
