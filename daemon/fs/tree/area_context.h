// The services every area is given. A plain struct of references; all outlive the areas.
#pragma once

#include "common/base/places.h"
#include "daemon/fs/tree/entry.h"
#include "daemon/fs/tree/invalidation.h"
#include "daemon/fs/tree/pending_changes.h"
#include "daemon/fs/tree/work_queue.h"
#include "daemon/snapshot/runtime_snapshot.h"
#include "daemon/snapshot/snapshot_cell.h"
#include "daemon/snapshot/tree_change.h"

#include <functional>
#include <memory>
#include <string>

namespace cortexfs {
class FsCredentials;
}

namespace cortexfs::fs {

class Area;
class BackedNodes;

struct AreaContext {
    const Places &places;
    const std::string &runner;
    ProjectedOwner owner;
    const SnapshotCell<RuntimeSnapshot> &snapshot;
    TreeChangeHandler &handler;
    PendingChanges &changes;
    WorkQueue &work;
    BackedNodes &nodes;
    FsCredentials &credentials;
    const std::function<void(Invalidation)> &forget; // asks the kernel, some time later
    int treeFd;                                      // O_PATH of the installed tree
    int procFd;                                      // O_PATH of /proc/self/fd: opens a descriptor's file anew
    unsigned tag;                                    // of the area that is made
};

// A member of the family of areas.
struct AreaDescriptor {
    std::string_view name; // entry in the root
    int order;             // place in the root's listing
    Result<std::unique_ptr<Area>> (*make)(const AreaContext &context);
};

} // namespace cortexfs::fs
