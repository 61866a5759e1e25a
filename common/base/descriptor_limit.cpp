#include "common/base/descriptor_limit.h"

#include <algorithm>

#include <sys/resource.h>

namespace cortexfs {

namespace {
constexpr std::size_t kMostNodes = 1U << 17;
constexpr std::size_t kMostClients = 1U << 15; // of each kind
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
        return {kMostNodes, kMostClients, kMostClients};
    const std::size_t count = limit.rlim_cur;
    const std::size_t clients = std::min(count / 8, kMostClients);
    return {std::min(count / 2, kMostNodes), clients, clients};
}

} // namespace cortexfs
