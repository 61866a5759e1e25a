// Something that is wrong without stopping the daemon; shown by `ctx status`, `ctx doctor` and the journal.
#pragma once

#include "common/base/error.h"

#include <string>

namespace cortexfs {

struct Problem {
    std::string where; // "providers.d/x.json"
    Error error;
};

} // namespace cortexfs
