// Open files and directories of the durable areas: a descriptor of the backing tree.
#pragma once

#include "common/base/unique_fd.h"
#include "daemon/fs/tree/open_file.h"
#include "daemon/fs/tree/work_queue.h"
#include "daemon/identity/credentials.h"

#include <functional>
#include <string_view>
#include <vector>

namespace cortexfs::fs {

class BackedFile : public OpenFile {
public:
    // `fd` was opened with the caller's rights and without O_APPEND; `isAppending` says that the caller gave it.
    BackedFile(UniqueFd fd, bool isAppending, FsCredentials &credentials, WorkQueue &work)
        : m_fd(std::move(fd)), m_isAppending(isAppending), m_credentials(credentials), m_work(work)
    {}

    ErrnoOr<std::string_view> read(std::vector<char> &scratch, std::size_t size, off_t offset) override;
    void write(const Caller &caller, std::string_view data, off_t offset, bool fromPageCache,
               Reply<std::size_t> reply) override;
    void truncate(const Caller &caller, off_t size, Reply<Ack> reply) override;
    void sync(const Caller &, bool dataOnly, Reply<Ack> reply) override;
    ErrnoOr<off_t> seek(off_t offset, int whence) override;
    int backingFd() const override { return m_fd.get(); }

private:
    UniqueFd m_fd;
    const bool m_isAppending;
    FsCredentials &m_credentials;
    WorkQueue &m_work;
};

class BackedDirectory : public OpenDirectory {
public:
    // Decides which names are seen by whom.
    using Filter = std::function<bool(const Caller &, std::string_view name)>;
    // Translates inode numbers: 0 asks for the parent's (the entry "..").
    using InodeMap = std::function<ino_t(ino_t)>;

    BackedDirectory(UniqueFd fd, Filter filter, InodeMap inodes, WorkQueue &work)
        : m_fd(std::move(fd)), m_filter(std::move(filter)), m_inodes(std::move(inodes)), m_work(work)
    {}

    int list(const Caller &caller, off_t offset, DirectorySink &sink) override;
    void sync(Reply<Ack> reply) override;

private:
    int refill();

    UniqueFd m_fd;
    Filter m_filter;
    InodeMap m_inodes;
    WorkQueue &m_work;
    std::vector<char> m_buffer;
    std::size_t m_filled = 0;
    std::size_t m_at = 0;
    off_t m_offset = 0; // of the entry at m_at
};

} // namespace cortexfs::fs
