// `ctx help`
#pragma once

#include "app/ctx/core/command.h"

namespace cortexfs::ctx::help_command {

const Command &command();

} // namespace cortexfs::ctx::help_command
