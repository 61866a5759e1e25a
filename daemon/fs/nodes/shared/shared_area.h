// shared/: spaces for several users, under the ordinary rules of owner, group and mode.
#pragma once

#include "daemon/fs/tree/area_context.h"

namespace cortexfs::fs::nodes {

AreaDescriptor sharedArea();

} // namespace cortexfs::fs::nodes
