// JSON as people write it into files: two blanks a level, one member or element a line, keys in their order.
#pragma once

#include "common/json/json.h"

#include <string>

namespace cortexfs::json {

// Without a line end after the last bracket. A missing value is null.
std::string prettyText(const Value &value);

} // namespace cortexfs::json
