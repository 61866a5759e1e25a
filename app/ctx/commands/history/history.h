// `ctx history`
#pragma once

#include "app/ctx/core/command.h"

namespace cortexfs::ctx::history_command {

const Command &command();

} // namespace cortexfs::ctx::history_command
