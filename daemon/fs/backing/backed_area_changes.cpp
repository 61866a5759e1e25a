// The changing half of BackedArea.
#include "daemon/fs/backing/backed_area.h"

#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace cortexfs::fs {

namespace {

struct DescriptorPath {
    explicit DescriptorPath(int fd) { std::snprintf(text, sizeof text, "/proc/self/fd/%d", fd); }
    const char *name() const { return text + sizeof "/proc/self/fd/" - 1; }
    char text[40];
};

// Only user.* is offered, and the kernel keeps it on files and directories only.
bool canHoldXattr(const BackedNode &node, const std::string &name)
{
    return (node.type == S_IFREG || node.type == S_IFDIR) && name.starts_with("user.");
}

timespec orOmitted(const std::optional<timespec> &time) { return time ? *time : timespec{0, UTIME_OMIT}; }

} // namespace

ErrnoOr<Entry> BackedArea::entryOfNew(const Caller &caller, BackedNode &parent, std::string_view name, int fd)
{
    const ErrnoOr<BackedStat> stat = statDescriptor(fd);
    if (!stat)
        return Errno{stat.error()};
    if (!S_ISREG(stat->stat.st_mode))
        return Errno{ESTALE}; // something else took the name; the kernel looks again
    const ErrnoOr<Sighting> sighting = sight(caller, parent, name);
    if (!sighting)
        return Errno{sighting.error()};
    m_credentials.assume(caller);
    UniqueFd path(::openat(m_context.procFd, DescriptorPath(fd).name(), O_PATH | O_CLOEXEC));
    if (!path.isValid())
        return Errno{errno};
    BackedNode &node = m_nodes.acquire({stat->stat.st_dev, stat->stat.st_ino, sighting->salt}, parent, name,
                                       std::move(path), *stat);
    node.role = sighting->role;
    node.home = sighting->home;
    return Entry{node.id, attrOf(node, stat->stat), seconds()};
}

ErrnoOr<CreatedFile> BackedArea::create(const Caller &caller, NodeId parent, std::string_view name, mode_t mode,
                                        int flags)
{
    const ErrnoOr<Entered> entered = enter(caller, parent, Want::Change);
    if (!entered)
        return Errno{entered.error()};
    const std::string text(name);
    const int wanted = (flags & (O_ACCMODE | O_EXCL | O_TRUNC)) | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
                       | O_NOCTTY;
    const auto open = [&] { return ::openat(entered->fd, text.c_str(), wanted, mode & 07777); };
    UniqueFd fd(m_credentials.withGroups(caller, open));
    if (!fd.isValid() && (errno == EMFILE || errno == ENFILE) && m_nodes.makeRoom())
        fd = UniqueFd(m_credentials.withGroups(caller, open));
    if (!fd.isValid())
        return Errno{errno};
    const ErrnoOr<Entry> entry = entryOfNew(caller, *entered->node, name, fd.get());
    if (!entry)
        return Errno{entry.error()};
    CreatedFile created;
    created.entry = *entry;
    created.opened.file = std::make_unique<BackedFile>(std::move(fd), (flags & O_APPEND) != 0, m_credentials,
                                                       m_context.work);
    created.opened.needsFlush = true;
    return created;
}

ErrnoOr<Entry> BackedArea::makeNode(const Caller &caller, NodeId parent, std::string_view name, mode_t mode, dev_t)
{
    if (S_ISCHR(mode) || S_ISBLK(mode))
        return Errno{EPERM}; // the mount is nodev; a device would be of no use but to somebody with the backing tree
    const ErrnoOr<Entered> entered = enter(caller, parent, Want::Change);
    if (!entered)
        return Errno{entered.error()};
    const std::string text(name);
    if (m_credentials.withGroups(caller, [&] { return ::mknodat(entered->fd, text.c_str(), mode, 0); }) != 0)
        return Errno{errno};
    return entryFor(caller, *entered->node, name);
}

ErrnoOr<Entry> BackedArea::makeDirectory(const Caller &caller, NodeId parent, std::string_view name, mode_t mode)
{
    const ErrnoOr<Entered> entered = enter(caller, parent, Want::Change);
    if (!entered)
        return Errno{entered.error()};
    const std::string text(name);
    if (m_credentials.withGroups(caller, [&] { return ::mkdirat(entered->fd, text.c_str(), mode & 07777); }) != 0)
        return Errno{errno};
    return entryFor(caller, *entered->node, name);
}

void BackedArea::makeSymlink(const Caller &caller, NodeId parent, std::string_view name, std::string_view target,
                             Reply<Entry> reply)
{
    const ErrnoOr<Entered> entered = enter(caller, parent, Want::Change);
    if (!entered)
        return reply.fail(entered.error());
    const std::string text(name);
    const std::string to(target);
    if (m_credentials.withGroups(caller, [&] { return ::symlinkat(to.c_str(), entered->fd, text.c_str()); }) != 0)
        return reply.fail(errno);
    const ErrnoOr<Entry> entry = entryFor(caller, *entered->node, name);
    if (!entry)
        return reply.fail(entry.error());
    reply.ok(*entry);
}

ErrnoOr<Entry> BackedArea::hardLink(const Caller &caller, NodeId id, NodeId parent, std::string_view name)
{
    const ErrnoOr<Entered> source = enter(caller, id, Want::Change);
    if (!source)
        return Errno{source.error()};
    const ErrnoOr<Entered> target = enter(caller, parent, Want::Change);
    if (!target)
        return Errno{target.error()};
    if (source->node->home != target->node->home)
        return Errno{EXDEV};
    const std::string text(name);
    const DescriptorPath from(source->fd);
    const auto link = [&] {
        return ::linkat(m_context.procFd, from.name(), target->fd, text.c_str(), AT_SYMLINK_FOLLOW);
    };
    if (m_credentials.withGroups(caller, link) != 0)
        return Errno{errno};
    return entryFor(caller, *target->node, name);
}

BackedNode *BackedArea::keepBeforeLoss(const Caller &caller, BackedNode &parent, int parentFd, const std::string &name)
{
    struct stat info = {};
    if (m_credentials.withGroups(caller, [&] { return ::fstatat(parentFd, name.c_str(), &info, AT_SYMLINK_NOFOLLOW); })
        != 0)
        return nullptr;
    const ErrnoOr<Sighting> sighting = sight(caller, parent, name);
    m_credentials.assume(caller);
    if (!sighting)
        return nullptr;
    BackedNode *node = m_nodes.byIdentity({info.st_dev, info.st_ino, sighting->salt});
    if (!node)
        return nullptr;
    const bool isOpen = descriptor(*node).isOk();
    m_credentials.assume(caller);
    return isOpen ? node : nullptr;
}

void BackedArea::afterLoss(BackedNode *node, const BackedNode &parent, std::string_view name)
{
    if (node && node->parent && m_nodes.parentOf(*node).id == parent.id && node->name == name)
        m_nodes.pin(*node);
}

void BackedArea::unlink(const Caller &caller, NodeId parent, std::string_view name, Reply<Ack> reply)
{
    const ErrnoOr<Entered> entered = enter(caller, parent, Want::Change);
    if (!entered)
        return reply.fail(entered.error());
    const std::string text(name);
    BackedNode *node = keepBeforeLoss(caller, *entered->node, entered->fd, text);
    if (m_credentials.withGroups(caller, [&] { return ::unlinkat(entered->fd, text.c_str(), 0); }) != 0)
        return reply.fail(errno);
    afterLoss(node, *entered->node, name);
    reply.ok();
}

int BackedArea::removeDirectory(const Caller &caller, NodeId parent, std::string_view name)
{
    const ErrnoOr<Entered> entered = enter(caller, parent, Want::Change);
    if (!entered)
        return entered.error();
    const std::string text(name);
    BackedNode *node = keepBeforeLoss(caller, *entered->node, entered->fd, text);
    if (m_credentials.withGroups(caller, [&] { return ::unlinkat(entered->fd, text.c_str(), AT_REMOVEDIR); }) != 0)
        return errno;
    afterLoss(node, *entered->node, name);
    return 0;
}

void BackedArea::afterMove(const Caller &caller, BackedNode &to, int toFd, const std::string &name)
{
    struct stat info = {};
    if (::fstatat(toFd, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    const ErrnoOr<Sighting> sighting = sight(caller, to, name);
    m_credentials.assume(caller);
    BackedNode *node = sighting ? m_nodes.byIdentity({info.st_dev, info.st_ino, sighting->salt}) : nullptr;
    if (node)
        m_nodes.moved(*node, to, name);
}

void BackedArea::rename(const Caller &caller, NodeId from, std::string_view name, NodeId to, std::string_view newName,
                        unsigned flags, Reply<Ack> reply)
{
    if (flags & ~static_cast<unsigned>(RENAME_NOREPLACE | RENAME_EXCHANGE))
        return reply.fail(EINVAL);
    const ErrnoOr<Entered> source = enter(caller, from, Want::Change);
    if (!source)
        return reply.fail(source.error());
    const ErrnoOr<Entered> target = enter(caller, to, Want::Change);
    if (!target)
        return reply.fail(target.error());
    if (source->node->home != target->node->home)
        return reply.fail(EXDEV);
    const std::string text(name);
    const std::string newText(newName);
    BackedNode *replaced = keepBeforeLoss(caller, *target->node, target->fd, newText);
    const auto move = [&] { return ::renameat2(source->fd, text.c_str(), target->fd, newText.c_str(), flags); };
    if (m_credentials.withGroups(caller, move) != 0)
        return reply.fail(errno);
    if (flags & RENAME_EXCHANGE)
        afterMove(caller, *source->node, source->fd, text);
    else
        afterLoss(replaced, *target->node, newName);
    afterMove(caller, *target->node, target->fd, newText);
    reply.ok();
}

int BackedArea::apply(const Caller &caller, BackedNode &node, int fd, const AttrChange &change)
{
    const DescriptorPath path(fd);
    if (change.size) {
        const UniqueFd file = reopen(caller, fd, O_WRONLY);
        if (!file.isValid() || ::ftruncate(file.get(), *change.size) != 0)
            return errno;
    }
    if (change.uid || change.gid) {
        const uid_t uid = change.uid.value_or(static_cast<uid_t>(-1));
        const gid_t gid = change.gid.value_or(static_cast<gid_t>(-1));
        const auto own = [&] { return ::fchownat(fd, "", uid, gid, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW); };
        if (m_credentials.withGroups(caller, own) != 0)
            return errno;
    }
    if (change.mode) {
        if (node.type == S_IFLNK)
            return EOPNOTSUPP;
        const auto set = [&] { return ::fchmodat(m_context.procFd, path.name(), *change.mode & 07777, 0); };
        // A caller outside the file's group would lose S_ISGID without an error.
        const bool keepsGroup = (*change.mode & S_ISGID) != 0;
        if ((keepsGroup ? m_credentials.alwaysWithGroups(caller, set) : m_credentials.withGroups(caller, set)) != 0)
            return errno;
    }
    if (change.accessed || change.modified) {
        const timespec times[2] = {orOmitted(change.accessed), orOmitted(change.modified)};
        const auto set = [&] { return ::utimensat(fd, "", times, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW); };
        if (m_credentials.withGroups(caller, set) != 0)
            return errno;
    }
    return 0;
}

void BackedArea::setAttributes(const Caller &caller, NodeId id, const AttrChange &change, OpenFile *file,
                               Reply<Attr> reply)
{
    const auto answer = [this, id](int error, Reply<Attr> &to) {
        const ErrnoOr<Attr> attr = error ? ErrnoOr<Attr>(Errno{error}) : attributes({}, id, nullptr);
        if (attr)
            to.ok(*attr);
        else
            to.fail(attr.error());
    };
    // ftruncate(2): whoever has the descriptor may use it, also when it was handed over.
    if (file && change.size) {
        auto shared = shareReply(std::move(reply));
        return file->truncate(caller, *change.size, replyThen([answer, shared](int error) { answer(error, *shared); }));
    }
    const ErrnoOr<Entered> entered = enter(caller, id, Want::Change);
    answer(entered ? apply(caller, *entered->node, entered->fd, change) : entered.error(), reply);
}

ErrnoOr<std::string> BackedArea::storedXattrNames(const Caller &caller, NodeId id)
{
    const ErrnoOr<Entered> entered = enter(caller, id, Want::Reach);
    if (!entered)
        return Errno{entered.error()};
    if (!canHoldXattr(*entered->node, "user."))
        return std::string();
    const DescriptorPath path(entered->fd);
    std::string names(65536, '\0');
    const ssize_t length = ::listxattr(path.text, names.data(), names.size());
    if (length < 0)
        return errno == EOPNOTSUPP ? ErrnoOr<std::string>(std::string()) : Errno{errno};
    std::string shown;
    const std::string_view all(names.data(), static_cast<std::size_t>(length));
    for (std::size_t at = 0; at < all.size();) {
        const std::string_view name = all.substr(at, all.find('\0', at) - at);
        if (name.starts_with("user.") && !isReservedXattr(name))
            shown.append(name).push_back('\0');
        at += name.size() + 1;
    }
    return shown;
}

ErrnoOr<std::string> BackedArea::storedXattr(const Caller &caller, NodeId id, const std::string &name)
{
    const ErrnoOr<Entered> entered = enter(caller, id, Want::Read);
    if (!entered)
        return Errno{entered.error()};
    if (!canHoldXattr(*entered->node, name))
        return Errno{ENODATA};
    const DescriptorPath path(entered->fd);
    std::string value(65536, '\0');
    const auto get = [&] { return ::getxattr(path.text, name.c_str(), value.data(), value.size()); };
    const ssize_t length = m_credentials.withGroups(caller, get);
    if (length < 0)
        return Errno{errno == EOPNOTSUPP ? ENODATA : errno};
    value.resize(static_cast<std::size_t>(length));
    return value;
}

int BackedArea::setXattr(const Caller &caller, NodeId id, const std::string &name, std::string_view value, int flags)
{
    const ErrnoOr<Entered> entered = enter(caller, id, Want::Change);
    if (!entered)
        return entered.error();
    if (!name.starts_with("user."))
        return EOPNOTSUPP;
    if (!canHoldXattr(*entered->node, name))
        return EPERM;
    const DescriptorPath path(entered->fd);
    const auto set = [&] { return ::setxattr(path.text, name.c_str(), value.data(), value.size(), flags); };
    return m_credentials.withGroups(caller, set) == 0 ? 0 : errno;
}

int BackedArea::removeXattr(const Caller &caller, NodeId id, const std::string &name)
{
    const ErrnoOr<Entered> entered = enter(caller, id, Want::Change);
    if (!entered)
        return entered.error();
    if (!canHoldXattr(*entered->node, name))
        return ENODATA;
    const DescriptorPath path(entered->fd);
    return m_credentials.withGroups(caller, [&] { return ::removexattr(path.text, name.c_str()); }) == 0 ? 0 : errno;
}

} // namespace cortexfs::fs
