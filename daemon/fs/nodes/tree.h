// All areas together: sends a request to the area that owns the node. No kernel in here; the bridge calls it, and so do
// the tests.
#pragma once

#include "daemon/fs/tree/area.h"
#include "daemon/fs/tree/area_context.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cortexfs::fs {

class Tree {
public:
    // `context.tag` is filled for each area.
    static Result<std::unique_ptr<Tree>> make(AreaContext context);
    ~Tree();

    // Null for an id that nothing owns: ESTALE.
    Area *areaOf(NodeId node);

    ErrnoOr<Entry> lookup(const Caller &caller, NodeId parent, std::string_view name);
    // Both across the borders of areas: EXDEV, so that mv copies.
    ErrnoOr<Entry> hardLink(const Caller &caller, NodeId node, NodeId parent, std::string_view name);
    void rename(const Caller &caller, NodeId from, std::string_view name, NodeId to, std::string_view newName,
                unsigned flags, Reply<Ack> reply);

    ErrnoOr<std::string> xattr(const Caller &caller, NodeId node, const std::string &name);
    ErrnoOr<std::string> xattrNames(const Caller &caller, NodeId node);
    int setXattr(const Caller &caller, NodeId node, const std::string &name, std::string_view value, int flags);
    int removeXattr(const Caller &caller, NodeId node, const std::string &name);

    // Any thread.
    std::vector<Invalidation> snapshotChanged(const RuntimeSnapshot &before, const RuntimeSnapshot &after);
    // The name of a path whose kind may have changed. Any thread.
    std::vector<Invalidation> entryChanged(std::string_view path) const;

private:
    explicit Tree(const AreaContext &context);

    struct Member {
        std::string_view name;
        std::unique_ptr<Area> area;
    };

    AreaContext m_context;
    BackedNodes &m_nodes;
    const std::string m_controlSocket;
    std::vector<Member> m_members; // index + 1 is the tag
    std::unique_ptr<Area> m_root;
};

} // namespace cortexfs::fs
