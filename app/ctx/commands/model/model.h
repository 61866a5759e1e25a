// `ctx model`
#pragma once

#include "app/ctx/core/command.h"

namespace cortexfs::ctx::model_command {

const Command &command();

} // namespace cortexfs::ctx::model_command
