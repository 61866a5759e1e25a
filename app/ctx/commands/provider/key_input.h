// Reads a credential from a person or a pipe. It is in memory once, in a SecretString.
#pragma once

#include "common/base/result.h"
#include "common/base/secret_string.h"

#include <string>

namespace cortexfs::ctx::provider_command {

// From standard input when that is no terminal, else typed on /dev/tty without echo after `prompt`. Surrounding white
// space is cut off. EINVAL: empty, more than one line, or not text; EMSGSIZE: over 64 KiB; ECANCELED: interrupted, the
// terminal is as it was.
Result<SecretString> readKey(const std::string &prompt);

} // namespace cortexfs::ctx::provider_command
