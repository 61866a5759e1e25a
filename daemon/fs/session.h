// The mounted tree, as the composer of the daemon sees it. One object is one mount.
//
// Threads: mount(), snapshotChanged(), entryChanged(), requestCount() and stop() may be called from any thread, stop()
// not from within the handler's own answer nor from onEnded. The session has threads of its own; it installs no signal
// handler and blocks every signal in them. TreeChangeHandler is called on the answering thread and must not wait.
#pragma once

#include "common/base/places.h"
#include "common/base/result.h"
#include "daemon/snapshot/runtime_snapshot.h"
#include "daemon/snapshot/snapshot_cell.h"
#include "daemon/snapshot/tree_change.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace cortexfs::fs {

struct FsOptions {
    Places places;
    std::string runner;  // absolute path of the #! interpreter
    uid_t daemonUid = 0; // owner of what is projected; uid and gid of this process
    gid_t daemonGid = 0;
    bool allowOther = false;
    // Called once, on the answering thread, when the mount ended without stop(): somebody unmounted it (ENODEV) or the
    // device failed. stop() is still needed afterwards, from another thread (post it to the Qt thread).
    std::function<void(Error)> onEnded;
};

class FsSession {
public:
    // Makes the mount point and the areas of the installed tree where they are missing, mounts, and returns when the
    // kernel has agreed (requests are answered from then on). `cell` and `handler` outlive the session.
    // EBUSY: something else is mounted there (see recoverStaleMount). EACCES, ENOENT, ENODEV: as mount(2) says.
    static Result<std::unique_ptr<FsSession>> mount(FsOptions options, const SnapshotCell<RuntimeSnapshot> &cell,
                                                    TreeChangeHandler &handler);
    // Stops when that was not done.
    ~FsSession();
    FsSession(const FsSession &) = delete;
    FsSession &operator=(const FsSession &) = delete;

    // To be called after the cell holds `after`: makes the kernel forget what differs from `before`.
    void snapshotChanged(const std::shared_ptr<const RuntimeSnapshot> &before,
                         const std::shared_ptr<const RuntimeSnapshot> &after);
    // One name appeared, vanished or changed its kind outside of the snapshot: "model/P/M.sock", "agent/N.sock".
    void entryChanged(std::string_view path);

    // Answers what is still open with EIO, unmounts (lazily where somebody is inside) and joins the threads. Idempotent.
    void stop();
    bool isMounted() const;

    // Requests the kernel has sent and waits for (FORGET and INTERRUPT are none).
    std::uint64_t requestCount() const;
    std::uint64_t lookupCount() const;

private:
    class Impl;
    explicit FsSession(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> m_impl;
};

// Makes way for a mount: a dead mount of ours (the daemon was killed) is unmounted lazily. Nothing is touched where a
// live file system or one of another kind is mounted: EBUSY, and the message says what is there.
Result<void> recoverStaleMount(const std::string &mountpoint);

} // namespace cortexfs::fs
