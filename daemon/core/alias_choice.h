// Which model main, helper, fast, reason, code and vision point at (decisions, section 5).
#pragma once

#include "daemon/models/types/model_catalog.h"

#include <map>
#include <string>
#include <vector>

namespace cortexfs {

// A user's alias is kept where it points at one of `models` and its name is no provider's. `models` is sorted by provider, then model. Targets are
// absolute below `mount`.
std::vector<models::ModelAlias> chooseAliases(const std::vector<models::ModelEntry> &models,
                                              const std::map<std::string, abi::ModelRef> &userAliases,
                                              const std::string &mount);

} // namespace cortexfs
