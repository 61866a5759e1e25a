// The driver word `debug`: answered by ScriptSource inside the daemon. Nothing is encoded and nothing decoded.
#pragma once

#include "daemon/providers/wire/wire_format.h"

namespace cortexfs::wire::debug {

const WireFormat &format();

} // namespace cortexfs::wire::debug
