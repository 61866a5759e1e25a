// tool/: installed tools. See backing/object_area.h.
#pragma once

#include "daemon/fs/tree/area_context.h"

namespace cortexfs::fs::nodes {

AreaDescriptor toolArea();

} // namespace cortexfs::fs::nodes
