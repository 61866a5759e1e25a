// The command line of ctx, read by the descriptors of the commands.
#pragma once

#include "app/ctx/core/invocation.h"

#include <span>
#include <string_view>
#include <vector>

namespace cortexfs::ctx {

// Accepted before and after the command: --root --runtime --system --user --help --version.
const std::vector<Option> &globalOptions();
// --json, for commands that have it.
const Option &jsonOption(const Command &command);

// `arguments` without the program's name; the texts must outlive the result. EINVAL says what is wrong and which help to
// read. Counts of words are checked unless help is wanted. An argument that may be a secret is never quoted, and its
// bytes are overwritten, so that it leaves the process list.
Result<Invocation> parseArguments(std::span<char *const> arguments);

} // namespace cortexfs::ctx
