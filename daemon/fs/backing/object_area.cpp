#include "daemon/fs/backing/object_area.h"

#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/logging.h"
#include "daemon/fs/tree/listed_directory.h"
#include "daemon/fs/tree/text_file.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>

namespace cortexfs::fs {

namespace {

bool isHidden(std::string_view name) { return name.starts_with(".cortexfs-") || name.starts_with(".ctx-"); }

bool isOneOf(const std::vector<std::string_view> &words, std::string_view word)
{
    return std::find(words.begin(), words.end(), word) != words.end();
}

class NameCollector : public DirectorySink {
public:
    bool wantsEntries() const override { return false; }
    bool add(std::string_view name, const Entry &entry, off_t) override
    {
        if (name != "." && name != "..")
            names.push_back({std::string(name), entry});
        return true;
    }
    std::vector<ListedDirectory::Name> names;
};

} // namespace

ObjectArea::ObjectArea(const AreaContext &context, const ObjectKind &kind)
    : BackedArea(context, std::string(kind.area)), m_kind(kind), m_staged(context.tag, Staged),
      m_controls(m_staged, *this)
{}

Result<std::unique_ptr<Area>> ObjectArea::make(const AreaContext &context, const ObjectKind &kind)
{
    std::unique_ptr<ObjectArea> area(new ObjectArea(context, kind));
    if (Result<void> opened = area->openRoot(); !opened)
        return opened.error();
    return std::unique_ptr<Area>(std::move(area));
}

BackedNode *ObjectArea::backed(NodeId id, Role role)
{
    BackedNode *node = isProjected(id) ? nullptr : m_nodes.find(id);
    return node && node->role == role ? node : nullptr;
}

bool ObjectArea::isControlDirectory(const std::string &name) const
{
    struct stat info = {};
    const std::string path = m_name + "/" + name;
    return ::fstatat(m_context.treeFd, path.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode);
}

std::uint64_t ObjectArea::saltOf(std::string_view path) const
{
    return (std::uint64_t{m_context.tag} << 56) | (std::hash<std::string_view>()(path) & 0xff'ffff'ffff'ffffULL);
}

ErrnoOr<BackedArea::Sighting> ObjectArea::sight(const Caller &, BackedNode &parent, std::string_view name)
{
    if (isHidden(name))
        return Errno{ENOENT};
    m_credentials.assumeDaemon();
    const std::string path = m_nodes.pathOf(parent, m_name) + "/" + std::string(name);
    Sighting sighting{saltOf(path), Other, 0};
    struct stat info = {};
    if (::fstatat(m_context.treeFd, path.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
        return Errno{errno};
    if (!parent.parent) {
        if (S_ISREG(info.st_mode) && (info.st_mode & 0111) && isControlDirectory(std::string(name) + ".d"))
            sighting.role = Object;
        else if (S_ISDIR(info.st_mode) && name.size() > 2 && name.ends_with(".d"))
            sighting.role = Controls;
    } else if (parent.role == Controls && S_ISREG(info.st_mode)) {
        sighting.role = Control;
    }
    return sighting;
}

bool ObjectArea::isListed(const Caller &, const BackedNode &directory, std::string_view name) const
{
    // Sockets are told by the runtime, whatever lies in the tree.
    return !isHidden(name) && !(m_kind.hasSockets && !directory.parent && name.ends_with(".sock"));
}

std::string ObjectArea::liveSocket(std::string_view object) const
{
    return m_context.places.runtime + "/" + m_name + "/" + std::string(object) + ".sock";
}

ErrnoOr<Attr> ObjectArea::projectedAttributes(NodeId id) const
{
    if (fs::kindOf(id) == Staged) {
        const StagedFiles::FilePtr file = m_staged.byId(id);
        return file ? ErrnoOr<Attr>(StagedFiles::entryOf(*file).attr) : Errno{ESTALE};
    }
    const ProjectedOwner &owner = m_context.owner;
    if (fs::kindOf(id) == SocketLink)
        return projectedAttr(owner, id, S_IFLNK | 0777, liveSocket(m_names.name(keyOf(id))).size(), 1, owner.born);
    return projectedAttr(owner, id, S_IFSOCK | 0666, 0, 1, owner.born);
}

ErrnoOr<Entry> ObjectArea::socketEntry(std::string_view object)
{
    m_credentials.assumeDaemon();
    if (object.empty() || isHidden(object) || !isControlDirectory(std::string(object) + ".d"))
        return Errno{ENOENT};
    struct stat info = {};
    const bool isLive = ::lstat(liveSocket(object).c_str(), &info) == 0 && S_ISSOCK(info.st_mode);
    return projectedEntry(
        *projectedAttributes(projectedId(m_context.tag, m_names.id(object), isLive ? SocketLink : Placeholder)));
}

ErrnoOr<Entry> ObjectArea::lookup(const Caller &caller, NodeId parent, std::string_view name)
{
    if (isProjected(parent))
        return Errno{ENOTDIR};
    if (m_kind.hasSockets && parent == rootId() && name.ends_with(".sock"))
        return socketEntry(name.substr(0, name.size() - 5));
    if (const StagedFiles::FilePtr file = m_staged.find(caller, parent, name))
        return StagedFiles::entryOf(*file);
    return BackedArea::lookup(caller, parent, name);
}

ErrnoOr<Attr> ObjectArea::attributes(const Caller &caller, NodeId id, OpenFile *file)
{
    if (isProjected(id))
        return projectedAttributes(id);
    return BackedArea::attributes(caller, id, file);
}

void ObjectArea::present(const BackedNode &node, struct stat &info)
{
    if (node.role == Object) {
        m_credentials.assumeDaemon();
        info.st_mode = S_IFREG | 0555;
        info.st_nlink = 1;
        info.st_size = static_cast<off_t>(metadata(node).size());
        info.st_blocks = static_cast<blkcnt_t>((info.st_size + 511) / 512);
    } else if (node.role == Control) {
        const std::optional<ControlRef> control = controlOf(node);
        if (!control || !control->isWritable)
            info.st_mode &= ~static_cast<mode_t>(0222);
    }
}

std::string_view ObjectArea::kindWord(const BackedNode &node) const
{
    switch (node.role) {
    case Object: return m_kind.area;
    case Control: return "control";
    default: return BackedArea::kindWord(node);
    }
}

std::string ObjectArea::controlText(const std::string &path) const
{
    const Result<std::string> text = files::readRegularAt(m_context.treeFd, path, limits::kControlFile);
    return text ? *text : std::string();
}

std::string ObjectArea::metadata(const BackedNode &object) const
{
    std::string out = "#!" + m_context.runner + "\n";
    const auto append = [&](std::string_view key, std::string_view value) {
        out.append("# cortexfs.").append(key).append("=").append(logging::escapeControl(value)).append("\n");
    };
    append("object", m_name + "/" + object.name);
    append("name", object.name);
    for (const std::string_view key : m_kind.metadata) {
        if (key == (m_kind.hasSockets ? "owner" : "status"))
            append("runner", m_context.runner);
        std::string text = controlText(m_name + "/" + object.name + ".d/" + std::string(key));
        while (text.ends_with('\n'))
            text.pop_back();
        std::replace(text.begin(), text.end(), '\n', key == "cap" ? ',' : ' ');
        append(key, text);
    }
    return out;
}

ErrnoOr<std::string> ObjectArea::readLink(const Caller &caller, NodeId id)
{
    if (!isProjected(id))
        return BackedArea::readLink(caller, id);
    if (fs::kindOf(id) != SocketLink)
        return Errno{EINVAL};
    return liveSocket(m_names.name(keyOf(id)));
}

std::optional<ControlRef> ObjectArea::controlOf(const BackedNode &node) const
{
    if (node.role != Control)
        return std::nullopt;
    const bool isWritable = !isOneOf(m_kind.readOnly, node.name) && !node.name.starts_with('.');
    return ControlRef{node.id, m_nodes.pathOf(node, m_name), isWritable, isOneOf(m_kind.singleValue, node.name),
                      limits::kControlFile};
}

int ObjectArea::access(const Caller &caller, NodeId id, int mask)
{
    if (isProjected(id)) {
        const ErrnoOr<Attr> attr = projectedAttributes(id);
        if (!attr)
            return attr.error();
        return fs::kindOf(id) == Staged ? projectedAccess(caller, attr->stat.st_uid, attr->stat.st_mode, true, mask)
                                        : ((mask & X_OK) ? EACCES : 0);
    }
    const BackedNode *node = m_nodes.find(id);
    if (!node)
        return ESTALE;
    if (node->role == Object)
        return projectedAccess(caller, m_context.owner.uid, 0555, false, mask);
    const std::optional<ControlRef> control = controlOf(*node);
    if ((mask & W_OK) && node->role != Controls && !(control && control->isWritable))
        return EROFS;
    return BackedArea::access(caller, id, mask);
}

ErrnoOr<OpenedFile> ObjectArea::open(const Caller &caller, NodeId id, int flags)
{
    const bool isChanging = (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC);
    if (isProjected(id)) {
        const StagedFiles::FilePtr file = fs::kindOf(id) == Staged ? m_staged.byId(id) : nullptr;
        if (!file)
            return Errno{fs::kindOf(id) == SocketLink ? ELOOP : ENXIO};
        if (caller.uid != 0 && caller.uid != file->uid)
            return Errno{EACCES};
        return StagedFiles::open(file, flags);
    }
    OpenedFile opened;
    if (const BackedNode *object = backed(id, Object)) {
        if (isChanging)
            return Errno{EROFS};
        m_credentials.assumeDaemon();
        opened.file = std::make_unique<TextFile>(metadata(*object));
        opened.directIo = true;
        return opened;
    }
    if (!isChanging) {
        ErrnoOr<OpenedFile> plain = BackedArea::open(caller, id, flags);
        if (plain)
            plain->directIo = backed(id, Control) != nullptr; // the runtime appends to some of them
        return plain;
    }
    const BackedNode *node = m_nodes.find(id);
    const std::optional<ControlRef> control = node ? controlOf(*node) : std::nullopt;
    if (!control || !control->isWritable)
        return Errno{EROFS};
    if (const int error = mayChangeControl(caller, *control))
        return Errno{error};
    m_credentials.assumeDaemon();
    Result<std::string> text = files::readRegularAt(m_context.treeFd, control->path, limits::kControlFile);
    if (!text)
        return Errno{text.error().number()};
    opened.file = std::make_unique<ControlFile>(storage(), *control, std::move(*text), flags);
    opened.directIo = true;
    opened.needsFlush = !control->isSingleValue;
    return opened;
}

ErrnoOr<std::unique_ptr<OpenDirectory>> ObjectArea::openDirectory(const Caller &caller, NodeId id)
{
    if (isProjected(id))
        return Errno{ENOTDIR};
    const bool isRoot = id == rootId();
    ErrnoOr<std::unique_ptr<OpenDirectory>> stored = BackedArea::openDirectory(caller, id);
    if (!stored || (!backed(id, Controls) && !(isRoot && m_kind.hasSockets)))
        return stored;
    NameCollector all;
    if (const int error = (*stored)->list(caller, 0, all))
        return Errno{error};
    for (std::size_t i = 0, count = all.names.size(); isRoot && i < count; ++i) {
        const std::string &name = all.names[i].name;
        if (!name.ends_with(".d"))
            continue;
        const std::string object = name.substr(0, name.size() - 2);
        if (const ErrnoOr<Entry> socket = socketEntry(object))
            all.names.push_back({object + ".sock", *socket});
    }
    for (const StagedFiles::FilePtr &file : m_staged.list(caller, id))
        all.names.push_back({file->name, StagedFiles::entryOf(*file)});
    const BackedNode &node = *m_nodes.find(id);
    const ino_t self = m_nodes.visibleInode(node.identity.device, node.identity.inode);
    ino_t parent = kRootId;
    if (node.parent) {
        const BackedIdentity &identity = m_nodes.parentOf(node).identity;
        parent = m_nodes.visibleInode(identity.device, identity.inode);
    }
    return std::unique_ptr<OpenDirectory>(std::make_unique<ListedDirectory>(self, parent, std::move(all.names)));
}

ErrnoOr<NodeFacts> ObjectArea::facts(NodeId id)
{
    if (!isProjected(id)) {
        ErrnoOr<NodeFacts> facts = BackedArea::facts(id);
        if (facts && backed(id, Object))
            facts->origin = Origin::Overlay; // a file is there, and something else is shown
        return facts;
    }
    if (fs::kindOf(id) != Staged)
        return NodeFacts{m_name + "/" + std::string(m_names.name(keyOf(id))) + ".sock", "socket", Origin::Virtual,
                         false};
    const StagedFiles::FilePtr file = m_staged.byId(id);
    ErrnoOr<NodeFacts> parent = file ? BackedArea::facts(file->directory) : Errno{ESTALE};
    if (!parent)
        return parent;
    return NodeFacts{parent->abiPath + "/" + file->name, "temporary", Origin::Virtual, false};
}

bool ObjectArea::listsReservedXattrs(NodeId id) const
{
    if (isProjected(id))
        return fs::kindOf(id) == Staged;
    const BackedNode *node = m_nodes.find(id);
    return node && (node->type == S_IFREG || node->type == S_IFDIR);
}

} // namespace cortexfs::fs
