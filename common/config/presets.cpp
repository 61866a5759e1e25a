#include "common/config/presets.h"

#include <algorithm>

namespace cortexfs::config {

namespace {

constexpr Preset kPresets[] = {
#include "common/config/presets.inc"
};

struct Alias {
    std::string_view alias;
    std::string_view name;
};

constexpr Alias kAliases[] = {
#include "common/config/preset_aliases.inc"
};

} // namespace

std::vector<Preset> presets() { return {std::begin(kPresets), std::end(kPresets)}; }

const Preset *findPreset(std::string_view name)
{
    for (const Alias &alias : kAliases) {
        if (alias.alias == name)
            name = alias.name;
    }
    const auto it = std::find_if(std::begin(kPresets), std::end(kPresets),
                                 [&](const Preset &preset) { return preset.name == name; });
    return it == std::end(kPresets) ? nullptr : it;
}

std::vector<std::string_view> presetAliases(std::string_view name)
{
    std::vector<std::string_view> out;
    for (const Alias &alias : kAliases) {
        if (alias.name == name)
            out.push_back(alias.alias);
    }
    return out;
}

} // namespace cortexfs::config
