#include "daemon/fs/tree/staged_files.h"

#include "daemon/fs/tree/area.h"
#include "daemon/fs/tree/text_file.h"

#include <algorithm>

#include <time.h>

namespace cortexfs::fs {

namespace {

timespec now()
{
    timespec time = {};
    ::clock_gettime(CLOCK_REALTIME, &time);
    return time;
}

int resize(StagedFiles::File &file, off_t size)
{
    if (size < 0)
        return EINVAL;
    if (static_cast<std::size_t>(size) > file.maxBytes)
        return EMSGSIZE;
    file.text.resize(static_cast<std::size_t>(size));
    file.modified = now();
    return 0;
}

class StagedFile : public OpenFile {
public:
    StagedFile(StagedFiles::FilePtr file, int flags) : m_file(std::move(file)), m_isAppending((flags & O_APPEND) != 0)
    {
        ++m_file->opens;
    }
    ~StagedFile() override { --m_file->opens; }

    ErrnoOr<std::string_view> read(std::vector<char> &, std::size_t size, off_t offset) override
    {
        return slice(m_file->text, size, offset);
    }
    void write(const Caller &, std::string_view data, off_t offset, bool, Reply<std::size_t> reply) override
    {
        const std::size_t from = m_isAppending ? m_file->text.size() : static_cast<std::size_t>(offset);
        if (offset < 0 || from > m_file->maxBytes || data.size() > m_file->maxBytes - from)
            return reply.fail(EMSGSIZE);
        if (m_file->text.size() < from + data.size())
            m_file->text.resize(from + data.size());
        m_file->text.replace(from, data.size(), data);
        m_file->modified = now();
        reply.ok(data.size());
    }
    void truncate(const Caller &, off_t size, Reply<Ack> reply) override { reply.finish(resize(*m_file, size)); }
    ErrnoOr<off_t> seek(off_t offset, int whence) override { return seekInText(m_file->text.size(), offset, whence); }

private:
    StagedFiles::FilePtr m_file;
    const bool m_isAppending;
};

} // namespace

bool StagedFiles::makeRoom(NodeId directory)
{
    const auto first = m_files.lower_bound(std::pair(directory, std::string()));
    const auto last = m_files.lower_bound(std::pair(directory + 1, std::string()));
    const bool isLocal = static_cast<std::size_t>(std::distance(first, last)) >= kPerDirectory;
    if (!isLocal && m_files.size() < kTotal)
        return true;
    // The oldest that nobody has open.
    FilePtr oldest;
    for (auto it = isLocal ? first : m_files.begin(); it != (isLocal ? last : m_files.end()); ++it) {
        if (it->second->opens == 0 && (!oldest || it->second->id < oldest->id))
            oldest = it->second;
    }
    if (!oldest)
        return false;
    remove(oldest);
    return true;
}

ErrnoOr<StagedFiles::FilePtr> StagedFiles::create(const Caller &caller, NodeId directory, std::string_view name,
                                                  mode_t mode, std::size_t maxBytes)
{
    if (name.size() > 255)
        return Errno{ENAMETOOLONG};
    if (m_files.contains(std::pair(directory, std::string(name))))
        return Errno{EEXIST};
    if (!makeRoom(directory))
        return Errno{ENOSPC};
    auto file = std::make_shared<File>();
    file->id = projectedId(m_areaTag, ++m_lastSerial, m_kind);
    file->directory = directory;
    file->name = name;
    file->uid = caller.uid;
    file->gid = caller.gid;
    file->mode = mode & 0777;
    file->maxBytes = maxBytes;
    file->modified = now();
    std::erase_if(m_byId, [](const auto &item) { return item.second.expired(); });
    m_byId.emplace(file->id, file);
    m_files.emplace(std::pair(directory, file->name), file);
    return file;
}

StagedFiles::FilePtr StagedFiles::find(const Caller &caller, NodeId directory, std::string_view name) const
{
    if (m_files.empty())
        return nullptr;
    const auto found = m_files.find(std::pair(directory, std::string(name)));
    if (found == m_files.end() || (caller.uid != 0 && caller.uid != found->second->uid))
        return nullptr;
    return found->second;
}

StagedFiles::FilePtr StagedFiles::byId(NodeId id) const
{
    const auto found = m_byId.find(id);
    return found == m_byId.end() ? nullptr : found->second.lock();
}

void StagedFiles::remove(const FilePtr &file)
{
    if (!file->isLinked)
        return;
    file->isLinked = false;
    m_files.erase(std::pair(file->directory, file->name));
}

void StagedFiles::rename(const FilePtr &file, std::string_view name)
{
    const FilePtr kept = file;
    const auto target = m_files.find(std::pair(kept->directory, std::string(name)));
    if (target != m_files.end()) {
        if (target->second == kept)
            return;
        target->second->isLinked = false;
        m_files.erase(target);
    }
    m_files.erase(std::pair(kept->directory, kept->name));
    kept->name = name;
    m_files.emplace(std::pair(kept->directory, kept->name), kept);
}

std::vector<StagedFiles::FilePtr> StagedFiles::list(const Caller &caller, NodeId directory) const
{
    std::vector<FilePtr> files;
    for (auto it = m_files.lower_bound(std::pair(directory, std::string()));
         it != m_files.end() && it->first.first == directory; ++it) {
        if (caller.uid == 0 || caller.uid == it->second->uid)
            files.push_back(it->second);
    }
    return files;
}

Entry StagedFiles::entryOf(const File &file)
{
    const ProjectedOwner owner{file.uid, file.gid, {}};
    Entry entry = projectedEntry(
        projectedAttr(owner, file.id, S_IFREG | file.mode, file.text.size(), file.isLinked ? 1 : 0, file.modified));
    // The name is about to be renamed over another one.
    entry.seconds = kUncachedSeconds;
    entry.attr.seconds = kUncachedSeconds;
    return entry;
}

OpenedFile StagedFiles::open(const FilePtr &file, int flags)
{
    if (flags & O_TRUNC)
        resize(*file, 0);
    return OpenedFile{std::make_unique<StagedFile>(file, flags), true, false, false};
}

int StagedFiles::change(const Caller &caller, File &file, const AttrChange &change)
{
    if (change.size) {
        if (const int error = resize(file, *change.size))
            return error;
    }
    if ((change.uid && *change.uid != file.uid) || (change.gid && *change.gid != file.gid)) {
        if (caller.uid != 0)
            return EPERM;
        file.uid = change.uid.value_or(file.uid);
        file.gid = change.gid.value_or(file.gid);
    }
    if (change.mode)
        file.mode = *change.mode & 0777;
    if (change.modified)
        file.modified = change.modified->tv_nsec == UTIME_NOW ? now() : *change.modified;
    return 0;
}

} // namespace cortexfs::fs
