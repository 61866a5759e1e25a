// `ctx resume`
#pragma once

#include "app/ctx/core/command.h"

namespace cortexfs::ctx::resume_command {

const Command &command();

} // namespace cortexfs::ctx::resume_command
