// home/<uid>: a directory of 0700 for each user, made when that uid or root first looks it up. Whatever modes are set
// inside, nobody but the user and root gets below it.
#pragma once

#include "daemon/fs/tree/area_context.h"

#include <optional>
#include <string_view>

namespace cortexfs::fs::nodes {

AreaDescriptor homeArea();

// Canonical decimal, below the reserved (uid_t)-1.
std::optional<uid_t> parseUid(std::string_view name);

} // namespace cortexfs::fs::nodes
