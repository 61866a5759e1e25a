// `ctx send`
#pragma once

#include "app/ctx/core/command.h"

namespace cortexfs::ctx::send_command {

const Command &command();

} // namespace cortexfs::ctx::send_command
