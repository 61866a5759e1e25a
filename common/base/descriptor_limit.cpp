#include "common/base/descriptor_limit.h"

#include <algorithm>

#include <sys/resource.h>

namespace cortexfs {

namespace {
constexpr std::size_t kMostNodes = 1U << 17;
constexpr std::size_t kMostClients = 1U << 16;
} // namespace

void raiseDescriptorLimit()
{
    rlimit limit = {};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &limit);
    }
}

DescriptorShares descriptorShares()
{
    rlimit limit = {};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return {kMostNodes, kMostClients};
    const std::size_t count = limit.rlim_cur;
    return {std::min(count / 2, kMostNodes), std::min(count / 4, kMostClients)};
}

} // namespace cortexfs
