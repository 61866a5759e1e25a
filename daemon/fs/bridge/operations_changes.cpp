// The operations that change something.
#include "daemon/fs/bridge/operations.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cortexfs::fs::bridge {

namespace {

AttrChange changeOf(const struct stat &attr, int toSet)
{
    AttrChange change;
    if (toSet & FUSE_SET_ATTR_MODE)
        change.mode = attr.st_mode;
    if (toSet & FUSE_SET_ATTR_UID)
        change.uid = attr.st_uid;
    if (toSet & FUSE_SET_ATTR_GID)
        change.gid = attr.st_gid;
    if (toSet & FUSE_SET_ATTR_SIZE)
        change.size = attr.st_size;
    if (toSet & FUSE_SET_ATTR_ATIME)
        change.accessed = (toSet & FUSE_SET_ATTR_ATIME_NOW) ? timespec{0, UTIME_NOW} : attr.st_atim;
    if (toSet & FUSE_SET_ATTR_MTIME)
        change.modified = (toSet & FUSE_SET_ATTR_MTIME_NOW) ? timespec{0, UTIME_NOW} : attr.st_mtim;
    return change;
}

void setAttributes(fuse_req_t request, fuse_ino_t node, struct stat *attr, int toSet, fuse_file_info *info)
{
    atNode(request, node, [&](BridgeContext &context, Area &area, const Caller &caller) {
        OpenFile *file = info ? context.files.get(info->fh) : nullptr;
        area.setAttributes(caller, node, changeOf(*attr, toSet), file,
                           replyTo<Attr>(request, [](fuse_req_t to, const Attr &result) {
                               fuse_reply_attr(to, &result.stat, result.seconds);
                           }));
    });
}

void createFile(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode, fuse_file_info *info)
{
    atNode(request, parent, [&](BridgeContext &context, Area &area, const Caller &caller) {
        ErrnoOr<CreatedFile> created = area.create(caller, parent, name, mode, info->flags);
        if (!created) {
            fuse_reply_err(request, created.error());
            return;
        }
        describe(created->opened, *info);
        info->fh = context.files.add(std::move(created->opened.file));
        const fuse_entry_param param = entryParam(created->entry);
        if (fuse_reply_create(request, &param, info) == -ENOENT) {
            context.files.remove(info->fh);
            area.forget(created->entry.id, 1);
        }
    });
}

void makeNode(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode, dev_t device)
{
    atNode(request, parent, [&](BridgeContext &, Area &area, const Caller &caller) {
        replyEntry(request, area, area.makeNode(caller, parent, name, mode, device));
    });
}

void makeDirectory(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode)
{
    atNode(request, parent, [&](BridgeContext &, Area &area, const Caller &caller) {
        replyEntry(request, area, area.makeDirectory(caller, parent, name, mode));
    });
}

void makeSymlink(fuse_req_t request, const char *target, fuse_ino_t parent, const char *name)
{
    atNode(request, parent, [&](BridgeContext &, Area &area, const Caller &caller) {
        area.makeSymlink(
            caller, parent, name, target,
            replyTo<Entry>(request, [&area](fuse_req_t to, const Entry &entry) { replyEntry(to, area, entry); }));
    });
}

void hardLink(fuse_req_t request, fuse_ino_t node, fuse_ino_t parent, const char *name)
{
    atNode(request, parent, [&](BridgeContext &context, Area &area, const Caller &caller) {
        replyEntry(request, area, context.tree.hardLink(caller, node, parent, name));
    });
}

void unlinkFile(fuse_req_t request, fuse_ino_t parent, const char *name)
{
    atNode(request, parent, [&](BridgeContext &, Area &area, const Caller &caller) {
        area.unlink(caller, parent, name, ackTo(request));
    });
}

void removeDirectory(fuse_req_t request, fuse_ino_t parent, const char *name)
{
    atNode(request, parent, [&](BridgeContext &, Area &area, const Caller &caller) {
        fuse_reply_err(request, area.removeDirectory(caller, parent, name));
    });
}

void renameFile(fuse_req_t request, fuse_ino_t from, const char *name, fuse_ino_t to, const char *newName,
                unsigned flags)
{
    guarded(request, [&](BridgeContext &context) {
        context.tree.rename(FuseCaller(request), from, name, to, newName, flags, ackTo(request));
    });
}

void writeFile(fuse_req_t request, fuse_ino_t, const char *data, size_t size, off_t offset, fuse_file_info *info)
{
    guarded(request, [&](BridgeContext &context) {
        OpenFile *file = context.files.get(info->fh);
        if (!file) {
            fuse_reply_err(request, EBADF);
            return;
        }
        file->write(
            FuseCaller(request), {data, size}, offset, info->writepage,
            replyTo<std::size_t>(request, [](fuse_req_t to, std::size_t written) { fuse_reply_write(to, written); }));
    });
}

void flushFile(fuse_req_t request, fuse_ino_t, fuse_file_info *info)
{
    guarded(request, [&](BridgeContext &context) {
        if (OpenFile *file = context.files.get(info->fh))
            file->flush(FuseCaller(request), ackTo(request));
        else
            fuse_reply_err(request, EBADF);
    });
}

void syncFile(fuse_req_t request, fuse_ino_t, int dataOnly, fuse_file_info *info)
{
    guarded(request, [&](BridgeContext &context) {
        if (OpenFile *file = context.files.get(info->fh))
            file->sync(FuseCaller(request), dataOnly != 0, ackTo(request));
        else
            fuse_reply_err(request, EBADF);
    });
}

void releaseFile(fuse_req_t request, fuse_ino_t, fuse_file_info *info)
{
    guarded(request, [&](BridgeContext &context) {
        if (OpenFile *file = context.files.get(info->fh))
            file->release(FuseCaller(request));
        context.files.remove(info->fh);
        fuse_reply_err(request, 0);
    });
}

void syncDirectory(fuse_req_t request, fuse_ino_t, int, fuse_file_info *info)
{
    guarded(request, [&](BridgeContext &context) {
        if (OpenDirectory *directory = context.directories.get(info->fh))
            directory->sync(ackTo(request));
        else
            fuse_reply_err(request, EBADF);
    });
}

// Both are done in the work queue's thread: they may take as long as the disk needs. The kernel keeps the files open
// until it has the answer.
void allocate(fuse_req_t request, fuse_ino_t, int mode, off_t offset, off_t length, fuse_file_info *info)
{
    guarded(request, [&](BridgeContext &context) {
        OpenFile *file = context.files.get(info->fh);
        const int fd = file ? file->backingFd() : -1;
        if (fd < 0) {
            fuse_reply_err(request, EOPNOTSUPP);
            return;
        }
        context.work.post([fd, mode, offset, length, reply = shareReply(ackTo(request))] {
            reply->finish(::fallocate(fd, mode, offset, length) == 0 ? 0 : errno);
        });
    });
}

void copyRange(fuse_req_t request, fuse_ino_t, off_t fromOffset, fuse_file_info *from, fuse_ino_t, off_t toOffset,
               fuse_file_info *to, size_t length, int)
{
    guarded(request, [&](BridgeContext &context) {
        OpenFile *source = context.files.get(from->fh);
        OpenFile *target = context.files.get(to->fh);
        const int in = source ? source->backingFd() : -1;
        const int out = target ? target->backingFd() : -1;
        if (in < 0 || out < 0) {
            fuse_reply_err(request, EXDEV); // the kernel copies by reading and writing
            return;
        }
        auto reply = shareReply(replyTo<std::size_t>(
            request, [](fuse_req_t answered, std::size_t copied) { fuse_reply_write(answered, copied); }));
        context.work.post([=, fromAt = fromOffset, toAt = toOffset]() mutable {
            const ssize_t copied = ::copy_file_range(in, &fromAt, out, &toAt, length, 0);
            if (copied < 0)
                reply->fail(errno);
            else
                reply->ok(static_cast<std::size_t>(copied));
        });
    });
}

void setXattr(fuse_req_t request, fuse_ino_t node, const char *name, const char *value, size_t size, int flags)
{
    guarded(request, [&](BridgeContext &context) {
        fuse_reply_err(request, context.tree.setXattr(FuseCaller(request), node, name, {value, size}, flags));
    });
}

void removeXattr(fuse_req_t request, fuse_ino_t node, const char *name)
{
    guarded(request, [&](BridgeContext &context) {
        fuse_reply_err(request, context.tree.removeXattr(FuseCaller(request), node, name));
    });
}

} // namespace

void addChangingOperations(fuse_lowlevel_ops &operations)
{
    operations.setattr = &setAttributes;
    operations.create = &createFile;
    operations.mknod = &makeNode;
    operations.mkdir = &makeDirectory;
    operations.symlink = &makeSymlink;
    operations.link = &hardLink;
    operations.unlink = &unlinkFile;
    operations.rmdir = &removeDirectory;
    operations.rename = &renameFile;
    operations.write = &writeFile;
    operations.flush = &flushFile;
    operations.fsync = &syncFile;
    operations.release = &releaseFile;
    operations.fsyncdir = &syncDirectory;
    operations.fallocate = &allocate;
    operations.copy_file_range = &copyRange;
    operations.setxattr = &setXattr;
    operations.removexattr = &removeXattr;
}

} // namespace cortexfs::fs::bridge
