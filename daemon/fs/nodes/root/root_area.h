// The root: status, bin/ and the doors to the other areas.
#pragma once

#include "daemon/fs/tree/area.h"
#include "daemon/fs/tree/area_context.h"
#include "daemon/fs/tree/name_ids.h"

#include <mutex>
#include <vector>

namespace cortexfs::fs::nodes {

class RootArea : public Area {
public:
    struct Subtree {
        std::string_view name;
        Area &area;
    };
    RootArea(const AreaContext &context, std::vector<Subtree> subtrees);

    NodeId rootId() const override { return kRootId; }
    ErrnoOr<Entry> lookup(const Caller &caller, NodeId parent, std::string_view name) override;
    ErrnoOr<Attr> attributes(const Caller &caller, NodeId node, OpenFile *file) override;
    ErrnoOr<std::string> readLink(const Caller &caller, NodeId node) override;
    int access(const Caller &caller, NodeId node, int mask) override;
    ErrnoOr<OpenedFile> open(const Caller &caller, NodeId node, int flags) override;
    ErrnoOr<std::unique_ptr<OpenDirectory>> openDirectory(const Caller &caller, NodeId node) override;
    ErrnoOr<NodeFacts> facts(NodeId node) override;
    bool listsReservedXattrs(NodeId node) const override;
    void snapshotChanged(const RuntimeSnapshot &before, const RuntimeSnapshot &after, Invalidations &changes) override;

private:
    ErrnoOr<Entry> subtreeEntry(const Caller &caller, const Subtree &subtree) const;
    const std::string *linkTarget(const RuntimeSnapshot &snapshot, NodeId node) const;
    timespec changedAt() const;

    const AreaContext m_context;
    const std::vector<Subtree> m_subtrees;
    NameIds m_links; // "name\0target": a link that points elsewhere is another node
    mutable std::mutex m_mutex;
    timespec m_changed;
};

} // namespace cortexfs::fs::nodes
