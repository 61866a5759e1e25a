// What a server says about an error, made fit to be shown: no key or part of one (servers echo them), one line, short.
#pragma once

#include <string>
#include <string_view>

namespace cortexfs::wire {

// Anything that looks like a key, a token or a masked piece of one becomes "[redacted]"; control characters become
// blanks; at most 500 bytes. Valid UTF-8 whatever comes in.
std::string presentable(std::string_view message);

} // namespace cortexfs::wire
