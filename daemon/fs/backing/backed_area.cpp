#include "daemon/fs/backing/backed_area.h"

#include "common/base/files.h"

#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cortexfs::fs {

namespace {

// __FMODE_EXEC: the kernel opens the file in order to execute it. No header exports the bit.
constexpr int kOpenedToExecute = 0x20;

int openPath(int directory, const char *name, bool mayCrossMounts)
{
    open_how how = {};
    how.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
    how.resolve = mayCrossMounts ? 0 : RESOLVE_NO_XDEV;
    return static_cast<int>(::syscall(SYS_openat2, directory, name, &how, sizeof how));
}

// The name of a descriptor in /proc/self/fd.
struct DescriptorName {
    explicit DescriptorName(int fd) { std::snprintf(text, sizeof text, "%d", fd); }
    char text[16];
};

int checkName(std::string_view name)
{
    if (name.size() > 255)
        return ENAMETOOLONG;
    if (name.empty() || name == "." || name == ".." || name.find('/') != std::string_view::npos)
        return ENOENT;
    return 0;
}

bool isExhausted(int error) { return error == EMFILE || error == ENFILE; }

} // namespace

BackedArea::BackedArea(const AreaContext &context, std::string name)
    : m_context(context), m_nodes(context.nodes), m_credentials(context.credentials), m_name(std::move(name))
{}

Result<void> BackedArea::openRoot()
{
    if (::mkdirat(m_context.treeFd, m_name.c_str(), 0755) != 0 && errno != EEXIST)
        return errors::fromErrno(errno, m_name);
    UniqueFd fd(::openat(m_context.treeFd, m_name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd.isValid())
        return errors::fromErrno(errno, m_name);
    const ErrnoOr<BackedStat> stat = statDescriptor(fd.get());
    if (!stat)
        return errors::fromErrno(stat.error(), m_name);
    m_root = m_nodes.addRoot(*this, std::move(fd), *stat).id;
    return {};
}

ErrnoOr<int> BackedArea::descriptor(BackedNode &node)
{
    if (!node.fd.isValid())
        m_credentials.assumeDaemon(); // to open a parked node again is our business, not the caller's
    return m_nodes.descriptor(node);
}

ErrnoOr<BackedArea::Entered> BackedArea::enter(const Caller &caller, NodeId id, Want want)
{
    BackedNode *node = m_nodes.find(id);
    if (!node)
        return Errno{ESTALE};
    if (const int error = admit(caller, *node, want))
        return Errno{error};
    const ErrnoOr<int> fd = descriptor(*node);
    if (!fd)
        return Errno{fd.error()};
    if (!m_credentials.assume(caller)) {
        struct stat info = {};
        if (::fstat(*fd, &info) != 0)
            return Errno{errno};
        const mode_t needed = want == Want::Read ? S_IROTH : S_ISDIR(info.st_mode) ? S_IXOTH : 0;
        if (want == Want::Change || (info.st_mode & needed) != needed)
            return Errno{EACCES};
    }
    return Entered{node, *fd};
}

Attr BackedArea::attrOf(const BackedNode &node, struct stat info)
{
    info.st_ino = m_nodes.visibleInode(node.identity.device, node.identity.inode);
    present(node, info);
    return Attr{info, seconds()};
}

ErrnoOr<Entry> BackedArea::entryFor(const Caller &caller, BackedNode &parent, std::string_view name)
{
    const ErrnoOr<Sighting> sighting = sight(caller, parent, name);
    if (!sighting)
        return Errno{sighting.error()};
    const ErrnoOr<int> parentFd = descriptor(parent);
    if (!parentFd)
        return Errno{parentFd.error()};
    m_credentials.assume(caller);
    const std::string text(name);
    struct stat info = {};
    if (m_credentials.withGroups(caller, [&] { return ::fstatat(*parentFd, text.c_str(), &info, AT_SYMLINK_NOFOLLOW); })
        != 0)
        return Errno{errno};

    // The open descriptor of a known node keeps its inode number from being used again.
    BackedNode *known = m_nodes.byIdentity({info.st_dev, info.st_ino, sighting->salt});
    if (known && known->fd.isValid()) {
        m_nodes.acquire(*known, parent, name);
        known->role = sighting->role;
        return Entry{known->id, attrOf(*known, info), seconds()};
    }
    const bool mayCross = parent.parent == 0;
    const auto open = [&] { return openPath(*parentFd, text.c_str(), mayCross); };
    UniqueFd fd(m_credentials.withGroups(caller, open));
    if (!fd.isValid() && isExhausted(errno) && m_nodes.makeRoom())
        fd = UniqueFd(m_credentials.withGroups(caller, open));
    if (!fd.isValid())
        return Errno{errno};
    const ErrnoOr<BackedStat> stat = statDescriptor(fd.get());
    if (!stat)
        return Errno{stat.error()};
    BackedNode &node = m_nodes.acquire({stat->stat.st_dev, stat->stat.st_ino, sighting->salt}, parent, name,
                                       std::move(fd), *stat);
    node.role = sighting->role;
    node.home = sighting->home;
    return Entry{node.id, attrOf(node, stat->stat), seconds()};
}

ErrnoOr<Entry> BackedArea::lookup(const Caller &caller, NodeId parent, std::string_view name)
{
    if (const int error = checkName(name))
        return Errno{error};
    const ErrnoOr<Entered> entered = enter(caller, parent, Want::Reach);
    if (!entered)
        return Errno{entered.error()};
    return entryFor(caller, *entered->node, name);
}

// No admission: whoever got hold of the node may know its size and times (fstat of an inherited descriptor). A path to it
// is checked name by name.
ErrnoOr<Attr> BackedArea::attributes(const Caller &, NodeId id, OpenFile *file)
{
    BackedNode *node = m_nodes.find(id);
    if (!node)
        return Errno{ESTALE};
    int fd = file ? file->backingFd() : -1;
    if (fd < 0) {
        const ErrnoOr<int> own = descriptor(*node);
        if (!own)
            return Errno{own.error()};
        fd = *own;
    }
    struct stat info = {};
    if (::fstat(fd, &info) != 0)
        return Errno{errno};
    return attrOf(*node, info);
}

ErrnoOr<std::string> BackedArea::readLink(const Caller &caller, NodeId id)
{
    const ErrnoOr<Entered> entered = enter(caller, id, Want::Reach);
    if (!entered)
        return Errno{entered.error()};
    char target[4096];
    const ssize_t length = ::readlinkat(entered->fd, "", target, sizeof target);
    if (length < 0)
        return Errno{errno};
    return std::string(target, static_cast<std::size_t>(length));
}

int BackedArea::access(const Caller &caller, NodeId id, int mask)
{
    const Want want = (mask & W_OK) ? Want::Change : (mask & R_OK) ? Want::Read : Want::Reach;
    const ErrnoOr<Entered> entered = enter(caller, id, want);
    if (!entered)
        return entered.error();
    const auto check = [&] {
        return static_cast<int>(::syscall(SYS_faccessat2, entered->fd, "", mask, AT_EMPTY_PATH | AT_EACCESS));
    };
    return m_credentials.withGroups(caller, check) == 0 ? 0 : errno;
}

UniqueFd BackedArea::reopen(const Caller &caller, int fd, int flags)
{
    const DescriptorName name(fd);
    const auto open = [&] { return ::openat(m_context.procFd, name.text, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK); };
    UniqueFd opened(m_credentials.withGroups(caller, open));
    if (!opened.isValid() && isExhausted(errno) && m_nodes.makeRoom())
        opened = UniqueFd(m_credentials.withGroups(caller, open));
    return opened;
}

ErrnoOr<OpenedFile> BackedArea::open(const Caller &caller, NodeId id, int flags)
{
    const bool isChanging = (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC);
    const ErrnoOr<Entered> entered = enter(caller, id, isChanging ? Want::Change : Want::Read);
    if (!entered)
        return Errno{entered.error()};
    if (!S_ISREG(entered->node->type))
        return Errno{entered->node->type == S_IFLNK ? ELOOP : ENXIO};
    // Without O_SYNC, which comes as fsync, and O_DIRECT, which would ask for aligned buffers of ours.
    const bool isExecuting = (flags & kOpenedToExecute) != 0;
    if (const int error = isExecuting ? access(caller, id, X_OK) : 0)
        return Errno{error};
    UniqueFd fd = reopen(caller, entered->fd, flags & (O_ACCMODE | O_TRUNC));
    if (!fd.isValid() && errno == EACCES && isExecuting) {
        m_credentials.assumeDaemon(); // to execute needs no right to read
        fd = reopen(caller, entered->fd, O_RDONLY);
    }
    if (!fd.isValid())
        return Errno{errno};
    OpenedFile opened;
    opened.file = std::make_unique<BackedFile>(std::move(fd), (flags & O_APPEND) != 0, m_credentials, m_context.work);
    opened.needsFlush = isChanging;
    return opened;
}

ErrnoOr<std::unique_ptr<OpenDirectory>> BackedArea::openDirectory(const Caller &caller, NodeId id)
{
    const ErrnoOr<Entered> entered = enter(caller, id, Want::Read);
    if (!entered)
        return Errno{entered.error()};
    UniqueFd fd = reopen(caller, entered->fd, O_RDONLY | O_DIRECTORY);
    if (!fd.isValid())
        return Errno{errno};
    const auto filter = [this, id](const Caller &reader, std::string_view name) {
        const BackedNode *node = m_nodes.find(id);
        return node && isListed(reader, *node, name);
    };
    const auto inodes = [this, id](ino_t inode) -> ino_t {
        const BackedNode *node = m_nodes.find(id);
        if (!node || inode)
            return node ? m_nodes.visibleInode(node->identity.device, inode) : inode;
        if (!node->parent)
            return kRootId;
        const BackedNode &parent = m_nodes.parentOf(*node);
        return m_nodes.visibleInode(parent.identity.device, parent.identity.inode);
    };
    return std::unique_ptr<OpenDirectory>(
        std::make_unique<BackedDirectory>(std::move(fd), filter, inodes, m_context.work));
}

std::string_view BackedArea::kindWord(const BackedNode &node) const
{
    switch (node.type) {
    case S_IFDIR: return "directory";
    case S_IFLNK: return "link";
    case S_IFSOCK: return "socket";
    case S_IFIFO: return "fifo";
    default: return "file";
    }
}

ErrnoOr<NodeFacts> BackedArea::facts(NodeId id)
{
    const BackedNode *node = m_nodes.find(id);
    if (!node)
        return Errno{ESTALE};
    return NodeFacts{m_nodes.pathOf(*node, m_name), kindWord(*node), Origin::Disk, true};
}

} // namespace cortexfs::fs
