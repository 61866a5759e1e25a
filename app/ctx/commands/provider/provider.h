// `ctx provider`: list, show, key set, key remove, test. One file a subcommand.
#pragma once

#include "app/ctx/core/command.h"

namespace cortexfs::ctx::provider_command {

const Command &command();

// Where an unknown provider is the fault, which ones there are.
Error withProviderHint(const Error &error);

Command listCommand();
Command showCommand();
Command keyCommand();
Command testCommand();

} // namespace cortexfs::ctx::provider_command
