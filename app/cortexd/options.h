// The command line of cortexd.
#pragma once

#include "common/base/places.h"
#include "common/base/result.h"

#include <optional>
#include <string>
#include <vector>

namespace cortexfs {

struct CommandLine {
    PlaceOptions places;
    bool noFuse = false;
    bool showHelp = false;
    bool showVersion = false;
    std::optional<std::string> logLevel;
};

// `--name VALUE` and `--name=VALUE`. EINVAL: an unknown option, a missing value, an argument that is no option, or both
// modes.
Result<CommandLine> parseCommandLine(const std::vector<std::string> &arguments);
std::string helpText();

} // namespace cortexfs
