// `ctx set`
#pragma once

#include "app/ctx/core/command.h"

namespace cortexfs::ctx::set_command {

const Command &command();

} // namespace cortexfs::ctx::set_command
