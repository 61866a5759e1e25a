#include "daemon/providers/core/egress.h"

#include "daemon/providers/core/secret_store.h"

namespace cortexfs::providers {

std::string_view transportWord(Transport transport)
{
    switch (transport) {
    case Transport::Direct: return "direct";
    case Transport::Http: return "http";
    case Transport::Unix: return "unix";
    }
    return "direct";
}

void DirectEgress::resolve(const EgressQuery &query, Done done)
{
    Egress egress;
    egress.baseUrl = query.provider.baseUrl;
    egress.slot = std::string(kDefaultSlot);
    egress.group = "direct";
    egress.rule = "fallback: direct";
    done(std::move(egress));
}

} // namespace cortexfs::providers
