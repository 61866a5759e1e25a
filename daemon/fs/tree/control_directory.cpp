#include "daemon/fs/tree/control_directory.h"

#include <cerrno>

#include <stdio.h>

namespace cortexfs::fs {

ErrnoOr<CreatedFile> ControlDirectory::create(const Caller &caller, NodeId directory, std::string_view name,
                                              mode_t mode, int flags)
{
    StagedFiles::FilePtr file = m_staged.find(caller, directory, name);
    if (file && (flags & O_EXCL))
        return Errno{EEXIST};
    if (!file) {
        ErrnoOr<StagedFiles::FilePtr> created = m_staged.create(caller, directory, name, mode,
                                                                m_storage.stagedBytes(directory));
        if (!created)
            return Errno{created.error()};
        file = *created;
    }
    CreatedFile result;
    result.opened = StagedFiles::open(file, flags);
    result.entry = StagedFiles::entryOf(*file);
    return result;
}

void ControlDirectory::unlink(const Caller &caller, NodeId directory, std::string_view name, Reply<Ack> reply)
{
    const StagedFiles::FilePtr file = m_staged.find(caller, directory, name);
    if (!file)
        return reply.fail(m_storage.controlNamed(directory, name) ? EROFS : ENOENT);
    m_staged.remove(file);
    reply.ok();
}

void ControlDirectory::rename(const Caller &caller, NodeId directory, std::string_view name, std::string_view newName,
                              unsigned flags, Reply<Ack> reply)
{
    const StagedFiles::FilePtr file = m_staged.find(caller, directory, name);
    if (!file)
        return reply.fail(m_storage.controlNamed(directory, name) ? EROFS : ENOENT);
    if (flags & ~static_cast<unsigned>(RENAME_NOREPLACE))
        return reply.fail(EINVAL);
    const std::optional<ControlRef> target = m_storage.controlNamed(directory, newName);
    if (!target) {
        if ((flags & RENAME_NOREPLACE) && m_staged.find(caller, directory, newName))
            return reply.fail(EEXIST);
        m_staged.rename(file, newName);
        return reply.ok();
    }
    if (!target->isWritable)
        return reply.fail(EROFS);
    if (flags & RENAME_NOREPLACE)
        return reply.fail(EEXIST);
    if (const int error = m_storage.mayChangeControl(caller, *target))
        return reply.fail(error);
    if (const int error = m_storage.checkControl(*target, file->text))
        return reply.fail(error);
    m_storage.commitControl(caller, *target, file->text,
                            [this, file, shared = shareReply(std::move(reply))](int error) {
                                if (!error)
                                    m_staged.remove(file);
                                shared->finish(error);
                            });
}

} // namespace cortexfs::fs
