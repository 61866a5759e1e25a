// Changes to a JSON text that leave everything else as it stands: unknown members, and the order of all of them. What is
// new comes last. The results are compact JSON text.
#pragma once

#include "common/json/json.h"

#include <string>
#include <string_view>

namespace cortexfs::json {

// RFC 7396. A null of the patch removes the member, an object is merged, anything else replaces. Where the target has a
// key twice both are changed alike; where the patch has, the last one counts.
std::string mergePatch(const Value &target, const Value &patch);

// The value at an RFC 6901 pointer replaced or added: objects on the way there are made, "-" and the size of an array
// append to it. EINVAL: no pointer, an index that is none or out of range, a scalar on the way.
Result<std::string> withValueAt(const Value &root, std::string_view pointer, std::string_view valueJson);
// The member or element at the pointer taken out. ENOENT when there is none; EINVAL for the whole document.
Result<std::string> withoutValueAt(const Value &root, std::string_view pointer);

} // namespace cortexfs::json
