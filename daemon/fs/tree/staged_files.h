// Private files beside control files, for programs that write a temporary file and rename it over the old one. They live
// in memory, are seen by the uid that made them (and root), and end by unlink or by the rename that commits them. What
// is left behind by a program that died is thrown away when its room is needed.
#pragma once

#include "common/base/limits.h"
#include "daemon/fs/tree/open_file.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cortexfs::fs {

class StagedFiles {
public:
    static constexpr std::size_t kPerDirectory = 16;
    static constexpr std::size_t kTotal = 256;

    struct File {
        NodeId id = 0;
        NodeId directory = 0;
        std::string name;
        uid_t uid = 0;
        gid_t gid = 0;
        mode_t mode = 0600;
        std::string text;
        std::size_t maxBytes = 0;
        timespec modified = {};
        unsigned opens = 0;
        bool isLinked = true;
    };
    using FilePtr = std::shared_ptr<File>;

    // Ids are made from the area's tag and `kind`.
    StagedFiles(unsigned areaTag, unsigned kind) : m_areaTag(areaTag), m_kind(kind) {}

    // EEXIST, ENOSPC when the directory holds its share of open ones.
    ErrnoOr<FilePtr> create(const Caller &caller, NodeId directory, std::string_view name, mode_t mode,
                            std::size_t maxBytes = limits::kControlFile);
    // Null for an unknown name and for one of somebody else.
    FilePtr find(const Caller &caller, NodeId directory, std::string_view name) const;
    // Also an unlinked one that is still open.
    FilePtr byId(NodeId id) const;
    void remove(const FilePtr &file);
    // Replaces what has the new name.
    void rename(const FilePtr &file, std::string_view name);
    std::vector<FilePtr> list(const Caller &caller, NodeId directory) const;

    static Entry entryOf(const File &file);
    static OpenedFile open(const FilePtr &file, int flags);
    // Mode, owner (root) and times are kept, size works within the limit.
    static int change(const Caller &caller, File &file, const struct AttrChange &change);

private:
    bool makeRoom(NodeId directory);

    const unsigned m_areaTag;
    const unsigned m_kind;
    std::uint64_t m_lastSerial = 0;
    std::map<std::pair<NodeId, std::string>, FilePtr, std::less<>> m_files;
    mutable std::unordered_map<NodeId, std::weak_ptr<File>> m_byId;
};

} // namespace cortexfs::fs
