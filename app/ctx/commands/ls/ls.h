// `ctx ls`
#pragma once

#include "app/ctx/core/command.h"

namespace cortexfs::ctx::ls_command {

const Command &command();

} // namespace cortexfs::ctx::ls_command
