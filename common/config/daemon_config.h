// <config>/cortexd.json: the optional settings of the daemon (decisions, section 1).
#pragma once

#include "common/base/result.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cortexfs::config {

struct DaemonConfig {
    std::vector<std::string> autostart = {"assistant", "coder", "reviewer"}; // agents whose socket listens after start
    std::string modelsDevUrl = "https://models.dev/api.json";
    bool allowOther = false; // a mount of root has it anyway
    std::optional<std::string> runner;
    std::optional<std::string> logLevel; // debug info warning error
    std::vector<std::string> warnings;   // unknown keys
};

// EINVAL with every fault and its JSON pointer. An absent file is the default; loadDaemonConfig then succeeds.
Result<DaemonConfig> parseDaemonConfig(std::string_view text);
Result<DaemonConfig> loadDaemonConfig(const std::string &path);

} // namespace cortexfs::config
