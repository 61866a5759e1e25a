#include "daemon/fs/nodes/model/model_area.h"

#include "common/base/files.h"
#include "common/base/limits.h"
#include "daemon/fs/tree/text_file.h"
#include "daemon/identity/credentials.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>

namespace cortexfs::fs::nodes {

using models::Control;
using models::ModelAlias;
using models::ModelEntry;

namespace {

constexpr std::string_view kRoute = "route";
// How long after a change an executable is opened without the page cache: longer than its attributes are believed.
constexpr time_t kUnsettledSeconds = 3;

std::string aliasKey(const ModelAlias &alias) { return alias.name + '\0' + alias.target; }

timespec now()
{
    timespec time = {};
    ::clock_gettime(CLOCK_REALTIME, &time);
    return time;
}

} // namespace

AreaDescriptor modelArea() { return {"model", 1, &ModelArea::make}; }

Result<std::unique_ptr<Area>> ModelArea::make(const AreaContext &context)
{
    if (::mkdirat(context.treeFd, "model", 0755) != 0 && errno != EEXIST)
        return errors::fromErrno(errno, "model");
    UniqueFd backing(::openat(context.treeFd, "model", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!backing.isValid())
        return errors::fromErrno(errno, "model");
    return std::unique_ptr<Area>(new ModelArea(context, std::move(backing)));
}

ModelArea::ModelArea(const AreaContext &context, UniqueFd backing)
    : m_context(context), m_backing(std::move(backing)), m_staged(context.tag, Staged), m_controls(m_staged, *this),
      m_catalogChanged(context.owner.born), m_announced(context.snapshot.load()->catalog.get())
{}

std::optional<Control> ModelArea::controlOf(unsigned kind)
{
    if (kind < FirstControl || kind >= FirstControl + models::kControlCount)
        return std::nullopt;
    return static_cast<Control>(kind - FirstControl);
}

NodeId ModelArea::controlId(const ModelEntry &model, Control control) const
{
    return id(model.serial, FirstControl + static_cast<unsigned>(control));
}

NodeId ModelArea::aliasId(const ModelAlias &alias) const { return id(m_aliases.id(aliasKey(alias)), Alias); }

const ModelAlias *ModelArea::aliasOf(const RuntimeSnapshot &snapshot, NodeId node) const
{
    const std::string_view key = m_aliases.name(keyOf(node));
    const ModelAlias *alias = snapshot.catalog->alias(key.substr(0, key.find('\0')));
    return alias && aliasKey(*alias) == key ? alias : nullptr;
}

const ModelEntry *ModelArea::modelOf(const RuntimeSnapshot &snapshot, NodeId node)
{
    return snapshot.catalog->bySerial(static_cast<std::uint32_t>(keyOf(node)));
}

std::string ModelArea::liveSocket(const ModelEntry &model) const
{
    return m_context.places.runtime + "/model/" + model.ref.provider + "/" + model.ref.model + ".sock";
}

bool ModelArea::isLive(const ModelEntry &model) const
{
    struct stat info = {};
    return ::lstat(liveSocket(model).c_str(), &info) == 0 && S_ISSOCK(info.st_mode);
}

std::optional<NodeId> ModelArea::nodeOfModel(const ModelEntry &model, std::string_view suffix) const
{
    if (suffix.empty())
        return id(model.serial, Executable);
    if (suffix == ".d")
        return id(model.serial, Directory);
    if (suffix == ".sock" && model.hasSocket)
        return id(model.serial, isLive(model) ? SocketLink : Placeholder);
    return std::nullopt;
}

timespec ModelArea::changedAt(std::uint32_t serial) const
{
    const std::lock_guard lock(m_mutex);
    const auto found = m_changed.find(serial);
    return found == m_changed.end() ? m_context.owner.born : found->second;
}

timespec ModelArea::catalogChangedAt() const
{
    const std::lock_guard lock(m_mutex);
    return m_catalogChanged;
}

void ModelArea::noteChange(std::uint32_t serial)
{
    const std::lock_guard lock(m_mutex);
    m_changed[serial] = now();
}

bool ModelArea::isAnnounced(const RuntimeSnapshot &snapshot, std::uint32_t serial) const
{
    if (snapshot.catalog.get() != m_announced.load(std::memory_order_acquire))
        return false;
    const std::lock_guard lock(m_mutex);
    const auto found = m_changed.find(serial);
    return found == m_changed.end() || found->second.tv_sec + kUnsettledSeconds < now().tv_sec;
}

// Whether the text is that of a cooldown, or the kernel may still believe its size.
bool ModelArea::isCoolingDown(const ModelEntry &model) const
{
    const timespec time = now();
    if (models::stateWord(model) == "cooldown") {
        m_cooling[model.serial] = time.tv_sec;
        return true;
    }
    const auto found = m_cooling.find(model.serial);
    if (found == m_cooling.end())
        return false;
    if (found->second + kUnsettledSeconds >= time.tv_sec)
        return true;
    m_cooling.erase(found);
    return false;
}

std::size_t ModelArea::metadataSize(const RuntimeSnapshot &snapshot, const ModelEntry &model) const
{
    if (isCoolingDown(model))
        return models::metadataText(model, m_context.runner).size();
    const auto &catalog = snapshot.catalog;
    if (m_sizedCatalog.owner_before(catalog) || catalog.owner_before(m_sizedCatalog)) {
        m_sizedCatalog = catalog;
        m_sizes.assign(catalog->models().size(), 0);
    }
    std::uint32_t &size = m_sizes[static_cast<std::size_t>(&model - catalog->models().data())];
    if (size == 0)
        size = static_cast<std::uint32_t>(models::metadataText(model, m_context.runner).size());
    return size;
}

ErrnoOr<struct stat> ModelArea::routeStat() const
{
    struct stat info = {};
    m_context.credentials.assumeDaemon();
    if (::fstatat(m_backing.get(), kRoute.data(), &info, AT_SYMLINK_NOFOLLOW) != 0)
        return Errno{errno};
    if (!S_ISREG(info.st_mode))
        return Errno{ENOENT};
    return info;
}

ErrnoOr<Attr> ModelArea::attributesOf(const RuntimeSnapshot &snapshot, NodeId node) const
{
    const ProjectedOwner &owner = m_context.owner;
    const unsigned kind = kindOf(node);
    switch (kind) {
    case Top:
        return projectedAttr(owner, node, S_IFDIR | 0755, 0, 2 + snapshot.catalog->providers().size(),
                             catalogChangedAt());
    case Provider: {
        const auto [first, last] = snapshot.catalog->rangeOf(m_providers.name(keyOf(node)));
        if (first == last)
            return Errno{ESTALE};
        return projectedAttr(owner, node, S_IFDIR | 0755, 0, 2 + (last - first), catalogChangedAt());
    }
    case Alias:
        if (const ModelAlias *alias = aliasOf(snapshot, node))
            return projectedAttr(owner, node, S_IFLNK | 0777, alias->target.size(), 1, owner.born);
        return Errno{ESTALE};
    case Route: {
        const ErrnoOr<struct stat> info = routeStat();
        Attr attr = projectedAttr(owner, node, S_IFREG | 0644, info ? static_cast<std::size_t>(info->st_size) : 0, 1,
                                  info ? info->st_mtim : owner.born);
        attr.seconds = kUncachedSeconds; // also written past the tree, through the control socket
        return attr;
    }
    case Staged:
        if (const StagedFiles::FilePtr file = m_staged.byId(node))
            return StagedFiles::entryOf(*file).attr;
        return Errno{ESTALE};
    default: break;
    }
    const ModelEntry *model = modelOf(snapshot, node);
    if (!model)
        return Errno{ESTALE};
    const timespec changed = changedAt(model->serial);
    if (const std::optional<Control> control = controlOf(kind)) {
        return projectedAttr(owner, node, S_IFREG | (models::isWritable(*control) ? 0644 : 0444),
                             models::controlText(*model, *control).size(), 1, changed);
    }
    switch (kind) {
    case Executable: return projectedAttr(owner, node, S_IFREG | 0555, metadataSize(snapshot, *model), 1, changed);
    case Directory: return projectedAttr(owner, node, S_IFDIR | 0755, 0, 2, changed);
    case Placeholder: return projectedAttr(owner, node, S_IFSOCK | 0666, 0, 1, changed);
    case SocketLink: return projectedAttr(owner, node, S_IFLNK | 0777, liveSocket(*model).size(), 1, changed);
    default: return Errno{ESTALE};
    }
}

ErrnoOr<Entry> ModelArea::entryOf(const RuntimeSnapshot &snapshot, NodeId node) const
{
    const ErrnoOr<Attr> attr = attributesOf(snapshot, node);
    if (!attr)
        return Errno{attr.error() == ESTALE ? ENOENT : attr.error()};
    return projectedEntry(*attr);
}

ErrnoOr<Entry> ModelArea::routeEntry(const RuntimeSnapshot &snapshot) const
{
    ErrnoOr<Entry> entry = entryOf(snapshot, id(0, Route));
    if (entry)
        entry->seconds = kUncachedSeconds;
    return entry;
}

ErrnoOr<Attr> ModelArea::attributes(const Caller &, NodeId node, OpenFile *)
{
    return attributesOf(*m_context.snapshot.load(), node);
}

ErrnoOr<Entry> ModelArea::lookup(const Caller &caller, NodeId parent, std::string_view name)
{
    const Snapshot snapshot = m_context.snapshot.load();
    const models::ModelCatalog &catalog = *snapshot->catalog;
    switch (kindOf(parent)) {
    case Top: {
        const auto [first, last] = catalog.rangeOf(name);
        if (first != last)
            return entryOf(*snapshot, id(m_providers.id(name), Provider));
        if (const ModelAlias *alias = catalog.alias(name))
            return entryOf(*snapshot, aliasId(*alias));
        if (name == kRoute && routeStat())
            return routeEntry(*snapshot);
        break;
    }
    case Provider: {
        const std::string_view provider = m_providers.name(keyOf(parent));
        const std::string_view suffix = name.ends_with(".sock") ? ".sock" : name.ends_with(".d") ? ".d" : "";
        const ModelEntry *model = catalog.find(provider, name.substr(0, name.size() - suffix.size()));
        const std::optional<NodeId> node = model ? nodeOfModel(*model, suffix) : std::nullopt;
        return node ? entryOf(*snapshot, *node) : Errno{ENOENT};
    }
    case Directory: {
        const ModelEntry *model = modelOf(*snapshot, parent);
        if (!model)
            return Errno{ESTALE};
        if (const std::optional<Control> control = models::controlFromName(name))
            return entryOf(*snapshot, controlId(*model, *control));
        break;
    }
    default: return Errno{ENOTDIR};
    }
    if (const StagedFiles::FilePtr file = m_staged.find(caller, parent, name))
        return StagedFiles::entryOf(*file);
    return Errno{ENOENT};
}

ErrnoOr<std::string> ModelArea::readLink(const Caller &, NodeId node)
{
    const Snapshot snapshot = m_context.snapshot.load();
    if (kindOf(node) == Alias) {
        const ModelAlias *alias = aliasOf(*snapshot, node);
        return alias ? ErrnoOr<std::string>(alias->target) : Errno{ESTALE};
    }
    if (kindOf(node) == SocketLink) {
        const ModelEntry *model = modelOf(*snapshot, node);
        return model ? ErrnoOr<std::string>(liveSocket(*model)) : Errno{ESTALE};
    }
    return Errno{EINVAL};
}

int ModelArea::access(const Caller &caller, NodeId node, int mask)
{
    const Snapshot snapshot = m_context.snapshot.load();
    const ErrnoOr<Attr> attr = attributesOf(*snapshot, node);
    if (!attr)
        return attr.error();
    const unsigned kind = kindOf(node);
    const bool holdsFiles = kind == Directory || kind == Top; // temporary ones, aliases
    const std::optional<ControlRef> control = controlRef(*snapshot, node);
    // Connecting to a socket needs the right to write.
    if (kind == Placeholder || kind == SocketLink)
        mask &= ~W_OK;
    return projectedAccess(caller, attr->stat.st_uid, attr->stat.st_mode,
                           holdsFiles || kind == Staged || (control && control->isWritable), mask);
}

ErrnoOr<std::string> ModelArea::textOf(const RuntimeSnapshot &snapshot, NodeId node) const
{
    if (kindOf(node) == Route) {
        m_context.credentials.assumeDaemon();
        Result<std::string> text = files::readRegularAt(m_backing.get(), std::string(kRoute), limits::kRouteFile);
        if (text)
            return std::move(*text);
        return text.error().number() == ENOENT ? ErrnoOr<std::string>(std::string()) : Errno{text.error().number()};
    }
    const ModelEntry *model = modelOf(snapshot, node);
    if (!model)
        return Errno{ESTALE};
    if (kindOf(node) == Executable)
        return models::metadataText(*model, m_context.runner);
    if (const std::optional<Control> control = controlOf(kindOf(node)))
        return models::controlText(*model, *control);
    return Errno{EISDIR};
}

ErrnoOr<OpenedFile> ModelArea::open(const Caller &caller, NodeId node, int flags)
{
    const bool isChanging = (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC);
    const unsigned kind = kindOf(node);
    if (kind == Alias || kind == SocketLink)
        return Errno{ELOOP};
    if (kind == Placeholder)
        return Errno{ENXIO};
    if (kind == Staged) {
        const StagedFiles::FilePtr file = m_staged.byId(node);
        if (!file)
            return Errno{ESTALE};
        if (caller.uid != 0 && caller.uid != file->uid)
            return Errno{EACCES};
        return StagedFiles::open(file, flags);
    }
    const Snapshot snapshot = m_context.snapshot.load();
    const std::optional<ControlRef> control = isChanging ? controlRef(*snapshot, node) : std::nullopt;
    if (isChanging) {
        if (!control || !control->isWritable)
            return Errno{EROFS};
        if (const int error = mayChange(caller))
            return Errno{error};
    }
    ErrnoOr<std::string> text = textOf(*snapshot, node);
    if (!text)
        return Errno{text.error()};
    if (isChanging)
        return editControl(*control, std::move(*text), flags);
    OpenedFile opened;
    opened.file = std::make_unique<TextFile>(std::move(*text));
    opened.directIo = kind != Executable || !isAnnounced(*snapshot, static_cast<std::uint32_t>(keyOf(node)))
                      || isCoolingDown(*modelOf(*snapshot, node));
    opened.keepCache = !opened.directIo;
    return opened;
}

bool ModelArea::listsReservedXattrs(NodeId node) const
{
    // The kernel keeps user.* on files and directories only: a name that is listed must be readable.
    const unsigned kind = kindOf(node);
    return kind != Alias && kind != Placeholder && kind != SocketLink;
}

ErrnoOr<NodeFacts> ModelArea::facts(NodeId node)
{
    const Snapshot snapshot = m_context.snapshot.load();
    switch (kindOf(node)) {
    case Top: return NodeFacts{"model", "directory", Origin::Virtual, true};
    case Provider: {
        const std::string_view name = m_providers.name(keyOf(node));
        return NodeFacts{"model/" + std::string(name), "directory", Origin::Virtual, false};
    }
    case Alias: {
        const ModelAlias *alias = aliasOf(*snapshot, node);
        if (!alias)
            return Errno{ESTALE};
        return NodeFacts{"model/" + alias->name, "alias", alias->userMade ? Origin::Disk : Origin::Virtual,
                         alias->userMade};
    }
    case Route: return NodeFacts{"model/route", "control", Origin::Disk, routeStat().isOk()};
    case Staged: {
        const StagedFiles::FilePtr file = m_staged.byId(node);
        if (!file)
            return Errno{ESTALE};
        ErrnoOr<NodeFacts> parent = facts(file->directory);
        if (!parent)
            return parent;
        return NodeFacts{parent->abiPath + "/" + file->name, "temporary", Origin::Virtual, false};
    }
    default: break;
    }
    const ModelEntry *model = modelOf(*snapshot, node);
    if (!model)
        return Errno{ESTALE};
    std::string path = "model/" + model->ref.text();
    if (const std::optional<Control> control = controlOf(kindOf(node))) {
        const auto index = static_cast<std::size_t>(*control);
        const bool isStored = (model->overridden >> index) & 1;
        path.append(".d/").append(models::kControlNames[index]);
        return NodeFacts{std::move(path), "control", isStored ? Origin::Overlay : Origin::Virtual, isStored};
    }
    switch (kindOf(node)) {
    case Executable: return NodeFacts{std::move(path), "model", Origin::Virtual, false};
    case Directory: return NodeFacts{path + ".d", "directory", Origin::Virtual, model->overridden != 0};
    default: return NodeFacts{path + ".sock", "socket", Origin::Virtual, false};
    }
}

} // namespace cortexfs::fs::nodes
