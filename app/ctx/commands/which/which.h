// `ctx which`
#pragma once

#include "app/ctx/core/command.h"

namespace cortexfs::ctx::which_command {

const Command &command();

} // namespace cortexfs::ctx::which_command
