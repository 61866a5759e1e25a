// The changing half of ObjectArea: control files get new texts.
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/unique_fd.h"
#include "daemon/fs/backing/object_area.h"

#include <atomic>
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cortexfs::fs {

namespace {

// As files::replaceAt, but the new file belongs to whom the old one did.
int replaceKeepingOwner(int tree, const std::string &path, const std::string &text)
{
    const std::size_t slash = path.rfind('/');
    const std::string name = path.substr(slash + 1);
    const UniqueFd directory(
        ::openat(tree, path.substr(0, slash).c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat old = {};
    if (!directory.isValid() || ::fstatat(directory.get(), name.c_str(), &old, AT_SYMLINK_NOFOLLOW) != 0)
        return errno;
    if (!S_ISREG(old.st_mode))
        return EROFS;
    static std::atomic<unsigned> counter{0};
    const std::string temporary = ".cortexfs-tmp-" + std::to_string(::getpid()) + "-fs"
                                  + std::to_string(counter.fetch_add(1));
    UniqueFd file(
        ::openat(directory.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file.isValid())
        return errno;
    const bool isOwned = (old.st_uid == ::geteuid() && old.st_gid == ::getegid())
                         || ::fchown(file.get(), old.st_uid, old.st_gid) == 0 || ::geteuid() != 0;
    int error = 0;
    if (!isOwned || ::fchmod(file.get(), old.st_mode & 07777) != 0)
        error = errno;
    else if (const Result<void> written = files::writeAll(file.get(), text); !written)
        error = written.error().number();
    else if (::fsync(file.get()) != 0
             || ::renameat(directory.get(), temporary.c_str(), directory.get(), name.c_str()) != 0)
        error = errno;
    if (error) {
        ::unlinkat(directory.get(), temporary.c_str(), 0);
        return error;
    }
    return ::fsync(directory.get()) == 0 ? 0 : errno;
}

} // namespace

std::optional<ControlRef> ObjectArea::controlNamed(NodeId directory, std::string_view name)
{
    BackedNode *controls = backed(directory, Controls);
    if (!controls || name.starts_with(".cortexfs-") || name.starts_with(".ctx-"))
        return std::nullopt;
    const std::string path = m_nodes.pathOf(*controls, m_name) + "/" + std::string(name);
    m_credentials.assumeDaemon();
    struct stat info = {};
    if (::fstatat(m_context.treeFd, path.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
        return std::nullopt;
    BackedNode probe;
    probe.role = Control;
    probe.name = name;
    std::optional<ControlRef> control = controlOf(probe);
    control->path = path;
    control->isWritable &= S_ISREG(info.st_mode);
    return control;
}

int ObjectArea::mayChangeControl(const Caller &caller, const ControlRef &control)
{
    if (!m_credentials.assume(caller))
        return EACCES;
    const std::size_t slash = control.path.rfind('/');
    m_credentials.assumeDaemon();
    const UniqueFd directory(::openat(m_context.treeFd, control.path.substr(0, slash).c_str(),
                                      O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!directory.isValid())
        return errno;
    m_credentials.assume(caller);
    const auto open = [&] {
        return ::openat(directory.get(), control.path.c_str() + slash + 1,
                        O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    };
    const UniqueFd file(m_credentials.withGroups(caller, open));
    return file.isValid() ? 0 : errno;
}

int ObjectArea::checkControl(const ControlRef &control, std::string_view text) const
{
    const Result<void> checked = m_context.handler.checkControl(control.path, text);
    return checked ? 0 : checked.error().number();
}

NodeId ObjectArea::knownNode(const std::string &path)
{
    struct stat info = {};
    m_credentials.assumeDaemon();
    if (::fstatat(m_context.treeFd, path.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
        return 0;
    const BackedNode *node = m_nodes.byIdentity({info.st_dev, info.st_ino, saltOf(path)});
    return node ? node->id : 0;
}

// The control is another inode now. Its node goes on, so that whoever has it in a cache sees the new text.
void ObjectArea::afterReplace(NodeId id, const std::string &path)
{
    BackedNode *node = m_nodes.find(id);
    if (!node)
        return;
    m_credentials.assumeDaemon();
    UniqueFd fd(::openat(m_context.treeFd, path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    const ErrnoOr<BackedStat> stat = fd.isValid() ? statDescriptor(fd.get()) : Errno{errno};
    if (stat && S_ISREG(stat->stat.st_mode))
        m_nodes.adopt(*node, std::move(fd), *stat);
    m_context.forget({id, {}});
}

// The work queue's thread acts as the daemon; the caller's right was asked for before.
void ObjectArea::commitControl(const Caller &, const ControlRef &control, std::string text,
                               std::function<void(int)> done)
{
    m_context.changes.run(
        [tree = m_context.treeFd, path = control.path, text = std::move(text)] {
            return replaceKeepingOwner(tree, path, text);
        },
        [this, node = knownNode(control.path), path = control.path, done = std::move(done)](int error) {
            if (!error && node)
                afterReplace(node, path);
            done(error);
        });
}

void ObjectArea::settleControl(const Caller &caller, const ControlRef &control, std::string text)
{
    commitControl(caller, control, std::move(text), m_context.changes.settling(control.node));
}

void ObjectArea::setAttributes(const Caller &caller, NodeId id, const AttrChange &change, OpenFile *file,
                               Reply<Attr> reply)
{
    const auto answer = [this, id](Reply<Attr> &to) {
        const ErrnoOr<Attr> attr = attributes(Caller{}, id, nullptr);
        if (attr)
            to.ok(*attr);
        else
            to.fail(attr.error());
    };
    if (isProjected(id)) {
        const StagedFiles::FilePtr staged = fs::kindOf(id) == Staged ? m_staged.byId(id) : nullptr;
        if (!staged)
            return reply.fail(EROFS);
        if (caller.uid != 0 && caller.uid != staged->uid)
            return reply.fail(EACCES);
        if (const int error = StagedFiles::change(caller, *staged, change))
            return reply.fail(error);
        return answer(reply);
    }
    const BackedNode *node = m_nodes.find(id);
    const std::optional<ControlRef> control = node ? controlOf(*node) : std::nullopt;
    if (!control || !control->isWritable)
        return reply.fail(EROFS);
    if (const int error = mayChangeControl(caller, *control))
        return reply.fail(error);
    const ErrnoOr<Attr> current = attributes(caller, id, nullptr);
    if (!current)
        return reply.fail(current.error());
    if (const int error = acceptHarmlessChange(change, current->stat))
        return reply.fail(error);
    if (!change.size)
        return answer(reply);
    auto shared = shareReply(std::move(reply));
    Reply<Ack> resized = replyThen([answer, shared](int error) {
        if (error)
            shared->fail(error);
        else
            answer(*shared);
    });
    if (file)
        return file->truncate(caller, *change.size, std::move(resized));
    truncateControl(*this, caller, *control, static_cast<std::size_t>(current->stat.st_size), *change.size,
                    std::move(resized));
}

// Room in memory beside the controls is for those who could write beside them on the disk.
int ObjectArea::mayStage(const Caller &caller, NodeId directory)
{
    if (isProjected(directory) || !backed(directory, Controls))
        return EROFS;
    return BackedArea::access(caller, directory, W_OK | X_OK);
}

ErrnoOr<CreatedFile> ObjectArea::create(const Caller &caller, NodeId parent, std::string_view name, mode_t mode,
                                        int flags)
{
    if (const int error = mayStage(caller, parent))
        return Errno{error};
    if (name.starts_with(".cortexfs-") || name.starts_with(".ctx-"))
        return Errno{EROFS};
    if (controlNamed(parent, name))
        return Errno{flags & O_EXCL ? EEXIST : ESTALE}; // made meanwhile; the kernel looks again
    return m_controls.create(caller, parent, name, mode, flags);
}

void ObjectArea::unlink(const Caller &caller, NodeId parent, std::string_view name, Reply<Ack> reply)
{
    if (isProjected(parent) || !backed(parent, Controls))
        return reply.fail(EROFS);
    m_controls.unlink(caller, parent, name, std::move(reply));
}

void ObjectArea::rename(const Caller &caller, NodeId from, std::string_view name, NodeId to, std::string_view newName,
                        unsigned flags, Reply<Ack> reply)
{
    if (isProjected(from) || !backed(from, Controls))
        return reply.fail(EROFS);
    if (from != to)
        return reply.fail(backed(to, Controls) ? EXDEV : EROFS);
    m_controls.rename(caller, from, name, newName, flags, std::move(reply));
}

ErrnoOr<std::string> ObjectArea::storedXattrNames(const Caller &, NodeId) { return std::string(); }

ErrnoOr<std::string> ObjectArea::storedXattr(const Caller &, NodeId, const std::string &) { return Errno{ENODATA}; }

std::optional<NodeId> ObjectArea::projectedParent(std::string_view path) const
{
    return path.find('/') == std::string_view::npos ? std::optional(m_root) : std::nullopt;
}

} // namespace cortexfs::fs
