// agent/: installed agents and their sockets. See backing/object_area.h.
#pragma once

#include "daemon/fs/tree/area_context.h"

namespace cortexfs::fs::nodes {

AreaDescriptor agentArea();

} // namespace cortexfs::fs::nodes
