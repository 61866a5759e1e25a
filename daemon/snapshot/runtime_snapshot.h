// All that the tree shows of the running daemon, in one immutable value.
#pragma once

#include "daemon/models/types/model_catalog.h"

#include <memory>
#include <string>
#include <vector>

namespace cortexfs {

struct BinLink {
    std::string name;   // "ctx"
    std::string target; // absolute host path of the installed program
};

struct RuntimeSnapshot {
    std::string statusText; // "state=ready\n..."
    std::shared_ptr<const models::ModelCatalog> catalog;
    std::vector<BinLink> bin;
};

} // namespace cortexfs
