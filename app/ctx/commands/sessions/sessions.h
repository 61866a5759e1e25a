// `ctx sessions`
#pragma once

#include "app/ctx/core/command.h"

namespace cortexfs::ctx::sessions_command {

const Command &command();

} // namespace cortexfs::ctx::sessions_command
