// The contract of a subtree. An area owns the meaning of its node ids; the tree sends it what the kernel asks about them.
// Everything is called on the answering thread and must not wait; what needs the Qt thread or a slow disk answers later
// through its Reply. An errno is positive; 0 is success. What an area does not override is refused with EROFS.
#pragma once

#include "daemon/fs/tree/attributes.h"
#include "daemon/fs/tree/entry.h"
#include "daemon/fs/tree/errno_or.h"
#include "daemon/fs/tree/invalidation.h"
#include "daemon/fs/tree/open_file.h"
#include "daemon/fs/tree/reply.h"
#include "daemon/identity/caller.h"

#include <optional>
#include <string>
#include <string_view>

#include <unistd.h>

namespace cortexfs {
struct RuntimeSnapshot;
}

namespace cortexfs::fs {

// What setattr asks for; only what is present changes.
struct AttrChange {
    std::optional<mode_t> mode;
    std::optional<uid_t> uid;
    std::optional<gid_t> gid;
    std::optional<off_t> size;
    std::optional<timespec> accessed; // tv_nsec may be UTIME_NOW
    std::optional<timespec> modified;

    bool isTimesOnly() const { return !mode && !uid && !gid && !size; }
};

class Area {
public:
    virtual ~Area() = default;

    virtual NodeId rootId() const = 0;
    virtual ErrnoOr<Entry> lookup(const Caller &caller, NodeId parent, std::string_view name) = 0;
    virtual void forget(NodeId, std::uint64_t) {}
    virtual ErrnoOr<Attr> attributes(const Caller &caller, NodeId node, OpenFile *file) = 0;
    virtual ErrnoOr<std::string> readLink(const Caller &, NodeId) { return Errno{EINVAL}; }
    virtual int access(const Caller &caller, NodeId node, int mask) = 0;
    virtual ErrnoOr<OpenedFile> open(const Caller &caller, NodeId node, int flags) = 0;
    virtual ErrnoOr<std::unique_ptr<OpenDirectory>> openDirectory(const Caller &caller, NodeId node) = 0;
    virtual ErrnoOr<NodeFacts> facts(NodeId node) = 0;

    // Names of extended attributes beside the read-only ones, each with its NUL. `listsReserved` tells whether the
    // read-only ones are listed.
    virtual ErrnoOr<std::string> storedXattrNames(const Caller &, NodeId) { return std::string(); }
    virtual bool listsReservedXattrs(NodeId) const { return true; }
    virtual ErrnoOr<std::string> storedXattr(const Caller &, NodeId, const std::string &) { return Errno{ENODATA}; }
    virtual int setXattr(const Caller &, NodeId, const std::string &, std::string_view, int) { return EROFS; }
    virtual int removeXattr(const Caller &, NodeId, const std::string &) { return EROFS; }

    virtual void setAttributes(const Caller &, NodeId, const AttrChange &, OpenFile *, Reply<Attr> reply)
    {
        reply.fail(EROFS);
    }
    virtual ErrnoOr<CreatedFile> create(const Caller &, NodeId, std::string_view, mode_t, int) { return Errno{EROFS}; }
    virtual ErrnoOr<Entry> makeNode(const Caller &, NodeId, std::string_view, mode_t, dev_t) { return Errno{EROFS}; }
    virtual ErrnoOr<Entry> makeDirectory(const Caller &, NodeId, std::string_view, mode_t) { return Errno{EROFS}; }
    virtual void makeSymlink(const Caller &, NodeId, std::string_view, std::string_view, Reply<Entry> reply)
    {
        reply.fail(EROFS);
    }
    virtual ErrnoOr<Entry> hardLink(const Caller &, NodeId, NodeId, std::string_view) { return Errno{EROFS}; }
    virtual void unlink(const Caller &, NodeId, std::string_view, Reply<Ack> reply) { reply.fail(EROFS); }
    virtual int removeDirectory(const Caller &, NodeId, std::string_view) { return EROFS; }
    // Both parents belong to this area. flags: RENAME_NOREPLACE, RENAME_EXCHANGE.
    virtual void rename(const Caller &, NodeId, std::string_view, NodeId, std::string_view, unsigned, Reply<Ack> reply)
    {
        reply.fail(EROFS);
    }

    // A new snapshot is in the cell. Any thread.
    virtual void snapshotChanged(const RuntimeSnapshot &, const RuntimeSnapshot &, Invalidations &) {}
    // The node that a path below the area names, where that can be told without the disk. Any thread.
    virtual std::optional<NodeId> projectedParent(std::string_view) const { return std::nullopt; }
};

// Permission questions of projected nodes, which everybody may read.
inline int projectedAccess(const Caller &caller, uid_t owner, mode_t mode, bool isWritable, int mask)
{
    if (mask & W_OK) {
        if (!isWritable)
            return EROFS;
        if (caller.uid != 0 && caller.uid != owner)
            return EACCES;
    }
    if ((mask & X_OK) && !(mode & 0111))
        return EACCES;
    return 0;
}

} // namespace cortexfs::fs
