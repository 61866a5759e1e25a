// The manual page ctx(1), made from the descriptors.
#pragma once

#include <string>

namespace cortexfs::ctx {

// mdoc source that `mandoc -Tlint` accepts.
std::string manualPage();

} // namespace cortexfs::ctx
