// Replacing control files by "write a temporary file, then rename": the names of a `.d` directory that are no controls.
// Stateless beside the staged files; the area has decided that the directory is one.
#pragma once

#include "daemon/fs/tree/control_file.h"
#include "daemon/fs/tree/staged_files.h"

namespace cortexfs::fs {

class ControlDirectory {
public:
    ControlDirectory(StagedFiles &staged, ControlStorage &storage) : m_staged(staged), m_storage(storage) {}

    // A temporary file; the name is no control's.
    ErrnoOr<CreatedFile> create(const Caller &caller, NodeId directory, std::string_view name, mode_t mode, int flags);
    void unlink(const Caller &caller, NodeId directory, std::string_view name, Reply<Ack> reply);
    // Within one directory. Over a control: the commit of the temporary file's text.
    void rename(const Caller &caller, NodeId directory, std::string_view name, std::string_view newName, unsigned flags,
                Reply<Ack> reply);

private:
    StagedFiles &m_staged;
    ControlStorage &m_storage;
};

} // namespace cortexfs::fs
