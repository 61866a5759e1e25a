// `ctx env`
#pragma once

#include "app/ctx/core/command.h"

namespace cortexfs::ctx::env_command {

const Command &command();

} // namespace cortexfs::ctx::env_command
