#include "daemon/fs/nodes/tree.h"

#include "daemon/fs/backing/backed_nodes.h"
#include "daemon/fs/nodes/registry.h"
#include "daemon/fs/nodes/root/root_area.h"

#include <cerrno>

namespace cortexfs::fs {

Tree::Tree(const AreaContext &context)
    : m_context(context), m_nodes(context.nodes), m_controlSocket(context.places.controlSocket())
{}

Tree::~Tree() = default;

Result<std::unique_ptr<Tree>> Tree::make(AreaContext context)
{
    std::unique_ptr<Tree> tree(new Tree(context));
    std::vector<nodes::RootArea::Subtree> subtrees;
    for (const AreaDescriptor &descriptor : nodes::registry()) {
        context.tag = static_cast<unsigned>(tree->m_members.size()) + 1;
        Result<std::unique_ptr<Area>> area = descriptor.make(context);
        if (!area)
            return area.error();
        subtrees.push_back({descriptor.name, **area});
        tree->m_members.push_back({descriptor.name, std::move(*area)});
    }
    context.tag = 0;
    tree->m_root = std::make_unique<nodes::RootArea>(context, std::move(subtrees));
    return tree;
}

Area *Tree::areaOf(NodeId node)
{
    if (node == kRootId)
        return m_root.get();
    if (isProjected(node)) {
        const unsigned tag = areaTagOf(node);
        if (tag == 0)
            return m_root.get();
        return tag <= m_members.size() ? m_members[tag - 1].area.get() : nullptr;
    }
    const BackedNode *backed = m_nodes.find(node);
    return backed ? backed->area : nullptr;
}

ErrnoOr<Entry> Tree::lookup(const Caller &caller, NodeId parent, std::string_view name)
{
    Area *area = areaOf(parent);
    if (!area)
        return Errno{ESTALE};
    return area->lookup(caller, parent, name);
}

ErrnoOr<Entry> Tree::hardLink(const Caller &caller, NodeId node, NodeId parent, std::string_view name)
{
    Area *from = areaOf(node);
    Area *to = areaOf(parent);
    if (!from || !to)
        return Errno{ESTALE};
    if (from != to)
        return Errno{EXDEV};
    return to->hardLink(caller, node, parent, name);
}

void Tree::rename(const Caller &caller, NodeId from, std::string_view name, NodeId to, std::string_view newName,
                  unsigned flags, Reply<Ack> reply)
{
    Area *source = areaOf(from);
    Area *target = areaOf(to);
    if (!source || !target)
        return reply.fail(ESTALE);
    if (source != target)
        return reply.fail(EXDEV);
    source->rename(caller, from, name, to, newName, flags, std::move(reply));
}

ErrnoOr<std::string> Tree::xattr(const Caller &caller, NodeId node, const std::string &name)
{
    Area *area = areaOf(node);
    if (!area)
        return Errno{ESTALE};
    if (!isReservedXattr(name))
        return area->storedXattr(caller, node, name);
    const ErrnoOr<NodeFacts> facts = area->facts(node);
    if (!facts)
        return Errno{facts.error()};
    std::uint64_t size = 0;
    if (needsSize(name)) {
        const ErrnoOr<Attr> attr = area->attributes(caller, node, nullptr);
        if (!attr)
            return Errno{attr.error()};
        size = static_cast<std::uint64_t>(attr->stat.st_size);
    }
    std::optional<std::string> value = reservedXattr(name, *facts, size, m_controlSocket);
    if (!value)
        return Errno{ENODATA};
    return std::move(*value);
}

ErrnoOr<std::string> Tree::xattrNames(const Caller &caller, NodeId node)
{
    Area *area = areaOf(node);
    if (!area)
        return Errno{ESTALE};
    ErrnoOr<std::string> names = area->storedXattrNames(caller, node);
    if (names && area->listsReservedXattrs(node))
        names->insert(0, reservedXattrNames());
    return names;
}

int Tree::setXattr(const Caller &caller, NodeId node, const std::string &name, std::string_view value, int flags)
{
    Area *area = areaOf(node);
    if (!area)
        return ESTALE;
    return isReservedXattr(name) ? EROFS : area->setXattr(caller, node, name, value, flags);
}

int Tree::removeXattr(const Caller &caller, NodeId node, const std::string &name)
{
    Area *area = areaOf(node);
    if (!area)
        return ESTALE;
    return isReservedXattr(name) ? EROFS : area->removeXattr(caller, node, name);
}

std::vector<Invalidation> Tree::snapshotChanged(const RuntimeSnapshot &before, const RuntimeSnapshot &after)
{
    Invalidations changes;
    m_root->snapshotChanged(before, after, changes);
    for (const Member &member : m_members)
        member.area->snapshotChanged(before, after, changes);
    return changes.take();
}

std::vector<Invalidation> Tree::entryChanged(std::string_view path) const
{
    const std::size_t slash = path.find('/');
    if (slash == std::string_view::npos)
        return {{kRootId, std::string(path)}};
    for (const Member &member : m_members) {
        if (member.name != path.substr(0, slash))
            continue;
        const std::string_view below = path.substr(slash + 1);
        if (const std::optional<NodeId> parent = member.area->projectedParent(below))
            return {{*parent, std::string(below.substr(below.rfind('/') + 1))}};
    }
    return {};
}

} // namespace cortexfs::fs
