// Where a request of a format goes below a provider's base URL (decisions, section 5).
#pragma once

#include "common/base/result.h"

#include <string>
#include <string_view>

namespace cortexfs::providers {

// Joins by hand, because resolving a relative reference drops the last path component: trailing slashes go, an empty
// path becomes /v1, the base's query is kept behind the joined path. `path` begins with '/'; its own "/v1" is not
// doubled where the base already ends in it. EINVAL: no http or https, no host, userinfo, fragment, control characters.
Result<std::string> endpointUrl(std::string_view baseUrl, std::string_view path);

} // namespace cortexfs::providers
