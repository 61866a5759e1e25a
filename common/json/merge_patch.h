// Editing JSON documents without losing what the editor does not know.
#pragma once

#include "common/json/json.h"

#include <string>

namespace cortexfs::json {

// RFC 7396: members of `patch` replace those of `target`, null removes. The order of the target's keys stays; new ones
// come last. Compact JSON text.
std::string mergePatch(const Value &target, const Value &patch);

// For files that people read: two blanks a level, LF at the end, short arrays of plain values on one line.
std::string prettyJson(const Value &value);

} // namespace cortexfs::json
