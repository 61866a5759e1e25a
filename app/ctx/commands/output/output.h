// `ctx output`
#pragma once

#include "app/ctx/core/command.h"

namespace cortexfs::ctx::output_command {

const Command &command();

} // namespace cortexfs::ctx::output_command
