// The running process: its signals, directory and input, as several commands need them.
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"

#include <cstddef>
#include <initializer_list>
#include <string>

namespace cortexfs::ctx {

// These signals as something to poll, from now on: they must end a run, not this program. Ignored ones (of a background
// job) stay ignored. Invalid with errno when the kernel gives no descriptor.
UniqueFd catchSignals(std::initializer_list<int> signals);
// The next caught signal; 0 when there is none.
int takeSignal(const UniqueFd &signals);

// Valid UTF-8; "/" when the directory is gone.
std::string workingDirectory();

// All of standard input. EMSGSIZE over `most` bytes; one that cannot be read (closed, a directory) is empty.
Result<std::string> readInput(std::size_t most);

} // namespace cortexfs::ctx
