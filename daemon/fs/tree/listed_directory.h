// A directory whose names were collected when it was opened.
#pragma once

#include "daemon/fs/tree/open_file.h"

#include <string>
#include <vector>

namespace cortexfs::fs {

// Adds "." and "..": false when the sink is full. `offset` moves on.
bool addDots(DirectorySink &sink, NodeId self, NodeId parent, off_t &offset);
inline constexpr off_t kAfterDots = 2;

class ListedDirectory : public OpenDirectory {
public:
    struct Name {
        std::string name;
        Entry entry;
    };
    ListedDirectory(NodeId self, NodeId parent, std::vector<Name> names)
        : m_self(self), m_parent(parent), m_names(std::move(names))
    {}

    int list(const Caller &caller, off_t offset, DirectorySink &sink) override;

private:
    const NodeId m_self; // inode numbers
    const NodeId m_parent;
    std::vector<Name> m_names;
};

} // namespace cortexfs::fs
