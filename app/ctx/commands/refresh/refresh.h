// `ctx refresh`
#pragma once

#include "app/ctx/core/command.h"

namespace cortexfs::ctx::refresh_command {

const Command &command();

} // namespace cortexfs::ctx::refresh_command
