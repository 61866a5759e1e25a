// Where programs are.
#pragma once

#include "common/base/places.h"

#include <optional>
#include <string>

namespace cortexfs::ctx {

// The first executable of that name in PATH.
std::optional<std::string> findProgram(const std::string &name, const Environment &environment);
// The directory of the running ctx.
std::string ownDirectory();
// What to type to run cortexd: its name when PATH has it, else the one beside this ctx.
std::string daemonCommand(const Environment &environment);

} // namespace cortexfs::ctx
