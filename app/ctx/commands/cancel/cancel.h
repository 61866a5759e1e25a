// `ctx cancel`
#pragma once

#include "app/ctx/core/command.h"

namespace cortexfs::ctx::cancel_command {

const Command &command();

} // namespace cortexfs::ctx::cancel_command
