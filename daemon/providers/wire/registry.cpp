#include "daemon/providers/wire/wire_format.h"

#include "daemon/providers/wire/registry_includes.inc"

#include <algorithm>

namespace cortexfs::wire {

const std::vector<const WireFormat *> &registry()
{
#define X(entry) &entry(),
    static const std::vector<const WireFormat *> formats = {
#include "daemon/providers/wire/registry_entries.inc"
    };
#undef X
    return formats;
}

namespace {

template<typename Match>
const WireFormat *findWhere(Match match)
{
    const auto &formats = registry();
    const auto it = std::find_if(formats.begin(), formats.end(),
                                 [&](const WireFormat *format) { return match(format->descriptor()); });
    return it == formats.end() ? nullptr : *it;
}

} // namespace

const WireFormat *findByDriver(std::string_view driver)
{
    return findWhere([&](const WireDescriptor &descriptor) { return descriptor.driver == driver; });
}

const WireFormat *findByFormat(std::string_view name)
{
    return findWhere([&](const WireDescriptor &descriptor) { return descriptor.format == name; });
}

} // namespace cortexfs::wire
