// `ctx status`
#pragma once

#include "app/ctx/core/command.h"

namespace cortexfs::ctx::status_command {

const Command &command();

} // namespace cortexfs::ctx::status_command
