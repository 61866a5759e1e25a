// `ctx provider`: list, show, key set, key remove, test. One file a subcommand.
#pragma once

#include "app/ctx/core/command.h"

namespace cortexfs::ctx::provider_command {

const Command &command();

Command listCommand();
Command showCommand();
Command keyCommand();
Command testCommand();

} // namespace cortexfs::ctx::provider_command
