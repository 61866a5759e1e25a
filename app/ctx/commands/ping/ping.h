// `ctx ping`
#pragma once

#include "app/ctx/core/command.h"

namespace cortexfs::ctx::ping_command {

const Command &command();

} // namespace cortexfs::ctx::ping_command
