// `ctx completion`
#pragma once

#include "app/ctx/core/command.h"

namespace cortexfs::ctx::completion_command {

const Command &command();

} // namespace cortexfs::ctx::completion_command
