// `ctx cat`
#pragma once

#include "app/ctx/core/command.h"

namespace cortexfs::ctx::cat_command {

const Command &command();

} // namespace cortexfs::ctx::cat_command
