// What an open file or directory can do. Used on the answering thread; an object lives from open to release.
#pragma once

#include "daemon/fs/tree/entry.h"
#include "daemon/fs/tree/errno_or.h"
#include "daemon/fs/tree/reply.h"
#include "daemon/identity/caller.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sys/types.h>

namespace cortexfs::fs {

class OpenFile {
public:
    virtual ~OpenFile() = default;

    // The view is valid until the next call on any file (backed files fill `scratch`).
    virtual ErrnoOr<std::string_view> read(std::vector<char> &scratch, std::size_t size, off_t offset) = 0;
    // `fromPageCache`: pages written back later, without a caller and at their own offset.
    virtual void write(const Caller &, std::string_view, off_t, bool fromPageCache, Reply<std::size_t> reply)
    {
        static_cast<void>(fromPageCache);
        reply.fail(EBADF);
    }
    virtual void truncate(const Caller &, off_t, Reply<Ack> reply) { reply.fail(EINVAL); }
    // close(2) of one descriptor; there may be more of them.
    virtual void flush(const Caller &, Reply<Ack> reply) { reply.ok(); }
    virtual void sync(const Caller &, bool, Reply<Ack> reply) { reply.ok(); }
    // The last descriptor is gone.
    virtual void release(const Caller &) {}

    // SEEK_DATA and SEEK_HOLE.
    virtual ErrnoOr<off_t> seek(off_t, int) { return Errno{EINVAL}; }
    // The descriptor behind it, or -1.
    virtual int backingFd() const { return -1; }
};

// How an area wants the kernel to treat what it opened.
struct OpenedFile {
    std::unique_ptr<OpenFile> file;
    bool directIo = false;   // every read and write comes to us
    bool keepCache = false;  // pages of earlier opens stay valid
    bool needsFlush = false; // close(2) has to be able to fail
};

struct CreatedFile {
    Entry entry;
    OpenedFile opened;
};

// Takes the names of a directory until it is full.
class DirectorySink {
public:
    virtual ~DirectorySink() = default;
    // True where whole entries are wanted; else the inode number and the type in `entry.attr.stat` are enough.
    virtual bool wantsEntries() const = 0;
    // False: no room, the name was not taken. `next` is the offset that goes on behind it.
    virtual bool add(std::string_view name, const Entry &entry, off_t next) = 0;
};

class OpenDirectory {
public:
    virtual ~OpenDirectory() = default;
    // From `offset` (0 at first, then what add() was told) on; an errno or 0.
    virtual int list(const Caller &caller, off_t offset, DirectorySink &sink) = 0;
    virtual void sync(Reply<Ack> reply) { reply.ok(); }
};

} // namespace cortexfs::fs
