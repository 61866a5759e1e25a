#include "daemon/fs/nodes/registry.h"

#include "daemon/fs/nodes/registry_includes.inc"

#include <algorithm>

namespace cortexfs::fs::nodes {

const std::vector<AreaDescriptor> &registry()
{
    static const std::vector<AreaDescriptor> members = [] {
        std::vector<AreaDescriptor> all;
#define X(entry) all.push_back(entry());
#include "daemon/fs/nodes/registry_entries.inc"
#undef X
        std::sort(all.begin(), all.end(),
                  [](const AreaDescriptor &a, const AreaDescriptor &b) { return a.order < b.order; });
        return all;
    }();
    return members;
}

} // namespace cortexfs::fs::nodes
