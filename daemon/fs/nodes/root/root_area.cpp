#include "daemon/fs/nodes/root/root_area.h"

#include "daemon/fs/tree/listed_directory.h"
#include "daemon/fs/tree/text_file.h"

#include <cerrno>

namespace cortexfs::fs::nodes {

namespace {

enum Kind : unsigned { Status = 1, Bin = 2, Link = 3 };

constexpr NodeId kStatusId = projectedId(0, 0, Status);
constexpr NodeId kBinId = projectedId(0, 0, Bin);

std::string linkKey(const BinLink &link) { return link.name + '\0' + link.target; }

} // namespace

RootArea::RootArea(const AreaContext &context, std::vector<Subtree> subtrees)
    : m_context(context), m_subtrees(std::move(subtrees)), m_changed(context.owner.born)
{}

timespec RootArea::changedAt() const
{
    const std::lock_guard lock(m_mutex);
    return m_changed;
}

ErrnoOr<Entry> RootArea::subtreeEntry(const Caller &caller, const Subtree &subtree) const
{
    const ErrnoOr<Attr> attr = subtree.area.attributes(caller, subtree.area.rootId(), nullptr);
    if (!attr)
        return Errno{attr.error()};
    Entry entry{subtree.area.rootId(), *attr, kProjectedSeconds};
    entry.attr.seconds = kProjectedSeconds;
    return entry;
}

ErrnoOr<Entry> RootArea::lookup(const Caller &caller, NodeId parent, std::string_view name)
{
    NodeId found = 0;
    if (parent == kRootId) {
        for (const Subtree &subtree : m_subtrees) {
            if (subtree.name == name)
                return subtreeEntry(caller, subtree);
        }
        found = name == "status" ? kStatusId : name == "bin" ? kBinId : 0;
    } else if (parent == kBinId) {
        for (const BinLink &link : m_context.snapshot.load()->bin) {
            if (link.name == name)
                found = projectedId(0, m_links.id(linkKey(link)), Link);
        }
    } else {
        return Errno{ENOTDIR};
    }
    if (!found)
        return Errno{ENOENT};
    const ErrnoOr<Attr> attr = attributes(caller, found, nullptr);
    if (!attr)
        return Errno{attr.error()};
    return projectedEntry(*attr);
}

const std::string *RootArea::linkTarget(const RuntimeSnapshot &snapshot, NodeId node) const
{
    const std::string_view key = m_links.name(keyOf(node));
    for (const BinLink &link : snapshot.bin) {
        if (linkKey(link) == key)
            return &link.target;
    }
    return nullptr;
}

ErrnoOr<Attr> RootArea::attributes(const Caller &, NodeId node, OpenFile *)
{
    const ProjectedOwner &owner = m_context.owner;
    if (node == kRootId)
        return projectedAttr(owner, node, S_IFDIR | 0755, 0, 3 + m_subtrees.size(), owner.born);
    const auto snapshot = m_context.snapshot.load();
    switch (kindOf(node)) {
    case Status: return projectedAttr(owner, node, S_IFREG | 0444, snapshot->statusText.size(), 1, changedAt());
    case Bin: return projectedAttr(owner, node, S_IFDIR | 0755, 0, 2, changedAt());
    case Link:
        if (const std::string *target = linkTarget(*snapshot, node))
            return projectedAttr(owner, node, S_IFLNK | 0777, target->size(), 1, owner.born);
        return Errno{ESTALE};
    }
    return Errno{ESTALE};
}

ErrnoOr<std::string> RootArea::readLink(const Caller &, NodeId node)
{
    if (kindOf(node) != Link)
        return Errno{EINVAL};
    const auto snapshot = m_context.snapshot.load();
    const std::string *target = linkTarget(*snapshot, node);
    if (!target)
        return Errno{ESTALE};
    return *target;
}

int RootArea::access(const Caller &caller, NodeId node, int mask)
{
    return projectedAccess(caller, m_context.owner.uid, node == kStatusId ? 0444 : 0755, false, mask);
}

ErrnoOr<OpenedFile> RootArea::open(const Caller &, NodeId node, int flags)
{
    if ((flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC))
        return Errno{EROFS};
    if (node != kStatusId)
        return Errno{kindOf(node) == Link ? ELOOP : EISDIR};
    OpenedFile opened;
    opened.file = std::make_unique<TextFile>(m_context.snapshot.load()->statusText);
    opened.directIo = true;
    return opened;
}

ErrnoOr<std::unique_ptr<OpenDirectory>> RootArea::openDirectory(const Caller &caller, NodeId node)
{
    std::vector<ListedDirectory::Name> names;
    const auto add = [&](std::string_view name) {
        if (const ErrnoOr<Entry> entry = lookup(caller, node, name))
            names.push_back({std::string(name), *entry});
    };
    if (node == kRootId) {
        add("status");
        add("bin");
        for (const Subtree &subtree : m_subtrees)
            add(subtree.name);
    } else if (node == kBinId) {
        for (const BinLink &link : m_context.snapshot.load()->bin)
            add(link.name);
    } else {
        return Errno{ENOTDIR};
    }
    return std::unique_ptr<OpenDirectory>(std::make_unique<ListedDirectory>(node, kRootId, std::move(names)));
}

bool RootArea::listsReservedXattrs(NodeId node) const { return node == kRootId || kindOf(node) != Link; }

ErrnoOr<NodeFacts> RootArea::facts(NodeId node)
{
    if (node == kRootId)
        return NodeFacts{"", "directory", Origin::Virtual, false};
    switch (kindOf(node)) {
    case Status: return NodeFacts{"status", "status", Origin::Virtual, false};
    case Bin: return NodeFacts{"bin", "directory", Origin::Virtual, false};
    default: break;
    }
    const std::string_view key = m_links.name(keyOf(node));
    return NodeFacts{"bin/" + std::string(key.substr(0, key.find('\0'))), "link", Origin::Virtual, false};
}

void RootArea::snapshotChanged(const RuntimeSnapshot &before, const RuntimeSnapshot &after, Invalidations &changes)
{
    bool differs = before.statusText != after.statusText;
    if (differs)
        changes.node(kStatusId);
    for (const BinLink &old : before.bin) {
        bool isKept = false;
        for (const BinLink &link : after.bin)
            isKept |= link.name == old.name && link.target == old.target;
        if (!isKept)
            changes.name(kBinId, old.name);
        differs |= !isKept;
    }
    if (!differs && before.bin.size() == after.bin.size())
        return;
    const std::lock_guard lock(m_mutex);
    ::clock_gettime(CLOCK_REALTIME, &m_changed);
}

} // namespace cortexfs::fs::nodes
