// Provider files that come with the program (packaging/presets), ready to be installed into providers.d/.
#pragma once

#include <string_view>
#include <vector>

namespace cortexfs::config {

struct Preset {
    std::string_view name; // the provider's name and the file's
    std::string_view json; // the file's text
};

// By name.
std::vector<Preset> presets();
// By name or by one of its other names ("codex"); null when there is none.
const Preset *findPreset(std::string_view name);
// The other names of a preset.
std::vector<std::string_view> presetAliases(std::string_view name);

} // namespace cortexfs::config
