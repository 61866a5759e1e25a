#include "daemon/fs/bridge/operations.h"

#include <cerrno>

#include <sys/statvfs.h>

namespace cortexfs::fs {

namespace bridge {

fuse_entry_param entryParam(const Entry &entry)
{
    fuse_entry_param param = {};
    param.ino = entry.id;
    param.generation = 1;
    param.attr = entry.attr.stat;
    param.attr_timeout = entry.attr.seconds;
    param.entry_timeout = entry.seconds;
    return param;
}

void replyEntry(fuse_req_t request, Area &area, const ErrnoOr<Entry> &entry)
{
    if (!entry) {
        fuse_reply_err(request, entry.error());
        return;
    }
    const fuse_entry_param param = entryParam(*entry);
    // The kernel no longer waits and never heard of the lookup.
    if (fuse_reply_entry(request, &param) == -ENOENT)
        area.forget(entry->id, 1);
}

void describe(const OpenedFile &opened, fuse_file_info &info)
{
    info.direct_io = opened.directIo;
    info.keep_cache = opened.keepCache;
    info.noflush = !opened.needsFlush;
}

namespace {

void initialise(void *, fuse_conn_info *connection)
{
    const auto want = [&](unsigned capability) { connection->want |= connection->capable & capability; };
    want(FUSE_CAP_ATOMIC_O_TRUNC);
    want(FUSE_CAP_CACHE_SYMLINKS); // the target of a link node never changes
    want(FUSE_CAP_READDIRPLUS);
    // Always: `ls -l` reads the whole directory before it asks for the first file.
    connection->want &= ~static_cast<unsigned>(FUSE_CAP_READDIRPLUS_AUTO);
    connection->want &= ~static_cast<unsigned>(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE);
    connection->max_write = std::min(connection->max_write, 256U * 1024);
}

void lookup(fuse_req_t request, fuse_ino_t parent, const char *name)
{
    atNode(request, parent, [&](BridgeContext &, Area &area, const Caller &caller) {
        replyEntry(request, area, area.lookup(caller, parent, name));
    });
}

void forgetMany(fuse_req_t request, size_t count, fuse_forget_data *forgets)
{
    BridgeContext &context = contextOf(request);
    for (size_t i = 0; i < count; ++i) {
        if (Area *area = context.tree.areaOf(forgets[i].ino))
            area->forget(forgets[i].ino, forgets[i].nlookup);
    }
    fuse_reply_none(request);
}

void forget(fuse_req_t request, fuse_ino_t node, uint64_t count)
{
    fuse_forget_data one = {node, count};
    forgetMany(request, 1, &one);
}

void getAttributes(fuse_req_t request, fuse_ino_t node, fuse_file_info *info)
{
    atNode(request, node, [&](BridgeContext &context, Area &area, const Caller &caller) {
        OpenFile *file = info ? context.files.get(info->fh) : nullptr;
        const ErrnoOr<Attr> attr = area.attributes(caller, node, file);
        if (attr)
            fuse_reply_attr(request, &attr->stat, attr->seconds);
        else
            fuse_reply_err(request, attr.error());
    });
}

void readLink(fuse_req_t request, fuse_ino_t node)
{
    atNode(request, node, [&](BridgeContext &, Area &area, const Caller &caller) {
        const ErrnoOr<std::string> target = area.readLink(caller, node);
        if (target)
            fuse_reply_readlink(request, target->c_str());
        else
            fuse_reply_err(request, target.error());
    });
}

void openFile(fuse_req_t request, fuse_ino_t node, fuse_file_info *info)
{
    atNode(request, node, [&](BridgeContext &context, Area &area, const Caller &caller) {
        if (context.changes.defer(node, [request, node, later = *info]() mutable { openFile(request, node, &later); }))
            return;
        ErrnoOr<OpenedFile> opened = area.open(caller, node, info->flags);
        if (!opened) {
            fuse_reply_err(request, opened.error());
            return;
        }
        describe(*opened, *info);
        info->fh = context.files.add(std::move(opened->file));
        if (fuse_reply_open(request, info) == -ENOENT)
            context.files.remove(info->fh);
    });
}

void readFile(fuse_req_t request, fuse_ino_t, size_t size, off_t offset, fuse_file_info *info)
{
    guarded(request, [&](BridgeContext &context) {
        OpenFile *file = context.files.get(info->fh);
        if (!file) {
            fuse_reply_err(request, EBADF);
            return;
        }
        const ErrnoOr<std::string_view> data = file->read(context.scratch, size, offset);
        if (data)
            fuse_reply_buf(request, data->data(), data->size());
        else
            fuse_reply_err(request, data.error());
    });
}

void seekFile(fuse_req_t request, fuse_ino_t, off_t offset, int whence, fuse_file_info *info)
{
    guarded(request, [&](BridgeContext &context) {
        OpenFile *file = context.files.get(info->fh);
        const ErrnoOr<off_t> found = file ? file->seek(offset, whence) : Errno{EBADF};
        if (found)
            fuse_reply_lseek(request, *found);
        else
            fuse_reply_err(request, found.error());
    });
}

void openDirectory(fuse_req_t request, fuse_ino_t node, fuse_file_info *info)
{
    atNode(request, node, [&](BridgeContext &context, Area &area, const Caller &caller) {
        ErrnoOr<std::unique_ptr<OpenDirectory>> opened = area.openDirectory(caller, node);
        if (!opened) {
            fuse_reply_err(request, opened.error());
            return;
        }
        info->fh = context.directories.add(std::move(*opened));
        if (fuse_reply_open(request, info) == -ENOENT)
            context.directories.remove(info->fh);
    });
}

class FuseDirectorySink : public DirectorySink {
public:
    FuseDirectorySink(fuse_req_t request, char *buffer, size_t size, bool wantsEntries)
        : m_request(request), m_buffer(buffer), m_size(size), m_wantsEntries(wantsEntries)
    {}

    bool wantsEntries() const override { return m_wantsEntries; }
    bool add(std::string_view name, const Entry &entry, off_t next) override
    {
        m_name.assign(name);
        char *at = m_buffer + m_used;
        const size_t left = m_size - m_used;
        size_t needed = 0;
        if (m_wantsEntries) {
            const fuse_entry_param param = entryParam(entry);
            needed = fuse_add_direntry_plus(m_request, at, left, m_name.c_str(), &param, next);
        } else {
            needed = fuse_add_direntry(m_request, at, left, m_name.c_str(), &entry.attr.stat, next);
        }
        if (needed > left)
            return false;
        m_used += needed;
        return true;
    }
    size_t used() const { return m_used; }

private:
    fuse_req_t m_request;
    char *m_buffer;
    const size_t m_size;
    const bool m_wantsEntries;
    size_t m_used = 0;
    std::string m_name;
};

void listDirectory(fuse_req_t request, size_t size, off_t offset, fuse_file_info *info, bool wantsEntries)
{
    guarded(request, [&](BridgeContext &context) {
        OpenDirectory *directory = context.directories.get(info->fh);
        if (!directory) {
            fuse_reply_err(request, EBADF);
            return;
        }
        if (context.scratch.size() < size)
            context.scratch.resize(size);
        FuseDirectorySink sink(request, context.scratch.data(), size, wantsEntries);
        const int error = directory->list(FuseCaller(request), offset, sink);
        if (error && sink.used() == 0)
            fuse_reply_err(request, error);
        else
            fuse_reply_buf(request, context.scratch.data(), sink.used());
    });
}

void readDirectory(fuse_req_t request, fuse_ino_t, size_t size, off_t offset, fuse_file_info *info)
{
    listDirectory(request, size, offset, info, false);
}

void readDirectoryPlus(fuse_req_t request, fuse_ino_t, size_t size, off_t offset, fuse_file_info *info)
{
    listDirectory(request, size, offset, info, true);
}

void releaseDirectory(fuse_req_t request, fuse_ino_t, fuse_file_info *info)
{
    contextOf(request).directories.remove(info->fh);
    fuse_reply_err(request, 0);
}

void statFileSystem(fuse_req_t request, fuse_ino_t)
{
    struct statvfs info = {};
    if (::fstatvfs(contextOf(request).treeFd, &info) != 0)
        fuse_reply_err(request, errno);
    else
        fuse_reply_statfs(request, &info);
}

void checkAccess(fuse_req_t request, fuse_ino_t node, int mask)
{
    atNode(request, node, [&](BridgeContext &, Area &area, const Caller &caller) {
        fuse_reply_err(request, area.access(caller, node, mask));
    });
}

void replyXattr(fuse_req_t request, const ErrnoOr<std::string> &value, size_t size)
{
    if (!value)
        fuse_reply_err(request, value.error());
    else if (size == 0)
        fuse_reply_xattr(request, value->size());
    else if (value->size() > size)
        fuse_reply_err(request, ERANGE);
    else
        fuse_reply_buf(request, value->data(), value->size());
}

void getXattr(fuse_req_t request, fuse_ino_t node, const char *name, size_t size)
{
    guarded(request, [&](BridgeContext &context) {
        replyXattr(request, context.tree.xattr(FuseCaller(request), node, name), size);
    });
}

void listXattrs(fuse_req_t request, fuse_ino_t node, size_t size)
{
    guarded(request, [&](BridgeContext &context) {
        replyXattr(request, context.tree.xattrNames(FuseCaller(request), node), size);
    });
}

} // namespace

void addReadingOperations(fuse_lowlevel_ops &operations)
{
    operations.init = &initialise;
    operations.lookup = &lookup;
    operations.forget = &forget;
    operations.forget_multi = &forgetMany;
    operations.getattr = &getAttributes;
    operations.readlink = &readLink;
    operations.open = &openFile;
    operations.read = &readFile;
    operations.lseek = &seekFile;
    operations.opendir = &openDirectory;
    operations.readdir = &readDirectory;
    operations.readdirplus = &readDirectoryPlus;
    operations.releasedir = &releaseDirectory;
    operations.statfs = &statFileSystem;
    operations.access = &checkAccess;
    operations.getxattr = &getXattr;
    operations.listxattr = &listXattrs;
}

} // namespace bridge

fuse_lowlevel_ops bridgeOperations()
{
    fuse_lowlevel_ops operations = {};
    bridge::addReadingOperations(operations);
    bridge::addChangingOperations(operations);
    return operations;
}

} // namespace cortexfs::fs
