// Ids of runs.
#pragma once

#include <string>

namespace cortexfs::models {

// "r" and 16 characters of [a-z0-9]: nine of time, so that ids sort by age, and seven that are random. Unique over
// restarts. Thread-safe.
std::string newRunId();

} // namespace cortexfs::models
