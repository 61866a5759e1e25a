// `ctx chat`
#pragma once

#include "app/ctx/core/command.h"

namespace cortexfs::ctx::chat_command {

const Command &command();

} // namespace cortexfs::ctx::chat_command
