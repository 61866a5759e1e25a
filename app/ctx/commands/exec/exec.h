// `ctx exec`
#pragma once

#include "app/ctx/core/command.h"

namespace cortexfs::ctx::exec_command {

const Command &command();

} // namespace cortexfs::ctx::exec_command
