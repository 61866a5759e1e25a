// The caller of a request. Lives on the stack of the operation.
#pragma once

#include "daemon/fs/bridge/fuse_api.h"
#include "daemon/identity/caller.h"

namespace cortexfs::fs {

class FuseCaller : private GroupSource {
public:
    explicit FuseCaller(fuse_req_t request)
    {
        const fuse_ctx *context = fuse_req_ctx(request);
        m_caller = {context->uid, context->gid, context->pid, this};
    }
    FuseCaller(const FuseCaller &) = delete;
    FuseCaller &operator=(const FuseCaller &) = delete;
    operator const Caller &() const { return m_caller; }

private:
    std::vector<gid_t> groups() const override;

    Caller m_caller;
};

} // namespace cortexfs::fs
