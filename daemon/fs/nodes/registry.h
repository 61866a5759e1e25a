// The areas of this build, in the order of the root's listing. Members are the folders beside this file.
#pragma once

#include "daemon/fs/tree/area_context.h"

#include <vector>

namespace cortexfs::fs::nodes {

const std::vector<AreaDescriptor> &registry();

} // namespace cortexfs::fs::nodes
