#include "daemon/fs/tree/listed_directory.h"

#include <cerrno>

namespace cortexfs::fs {

bool addDots(DirectorySink &sink, NodeId self, NodeId parent, off_t &offset)
{
    for (; offset < kAfterDots; ++offset) {
        Entry entry;
        entry.attr.stat.st_ino = offset == 0 ? self : parent;
        entry.attr.stat.st_mode = S_IFDIR;
        if (!sink.add(offset == 0 ? "." : "..", entry, offset + 1))
            return false;
    }
    return true;
}

int ListedDirectory::list(const Caller &, off_t offset, DirectorySink &sink)
{
    if (offset < 0)
        return EINVAL;
    if (!addDots(sink, m_self, m_parent, offset))
        return 0;
    for (auto at = static_cast<std::size_t>(offset - kAfterDots); at < m_names.size(); ++at) {
        if (!sink.add(m_names[at].name, m_names[at].entry, static_cast<off_t>(at) + kAfterDots + 1))
            return 0;
    }
    return 0;
}

} // namespace cortexfs::fs
