#include "daemon/fs/bridge/fuse_caller.h"

namespace cortexfs::fs {

std::vector<gid_t> FuseCaller::groups() const
{
    std::vector<gid_t> list(64);
    int count = fuse_req_getgroups(m_request, static_cast<int>(list.size()), list.data());
    if (count > static_cast<int>(list.size())) {
        list.resize(static_cast<std::size_t>(count));
        count = fuse_req_getgroups(m_request, count, list.data());
    }
    list.resize(count > 0 ? std::min(list.size(), static_cast<std::size_t>(count)) : 0);
    return list;
}

} // namespace cortexfs::fs
