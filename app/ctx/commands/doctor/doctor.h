// `ctx doctor`
#pragma once

#include "app/ctx/core/command.h"

namespace cortexfs::ctx::doctor_command {

const Command &command();

} // namespace cortexfs::ctx::doctor_command
