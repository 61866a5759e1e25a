// From the command line to the exit code.
#pragma once

#include "common/base/places.h"

#include <span>
#include <string_view>

namespace cortexfs::ctx {

// `arguments` without the program's name. Writes to the standard descriptors. Returns the exit code; a reader of standard
// output that went away ends the process with SIGPIPE, as with every Unix filter.
int runProgram(std::span<char *const> arguments, const Environment &environment);

// "ctx: <text>" on stderr, escaped, one line.
void printError(std::string_view text);

} // namespace cortexfs::ctx
