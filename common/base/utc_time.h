// Times as they are shown: UTC, whole seconds.
#pragma once

#include <cstdint>
#include <string>

namespace cortexfs {

// Milliseconds since 1970-01-01T00:00:00Z -> "2026-12-01T10:11:12Z". A part of a second is dropped.
std::string utcTimestamp(std::int64_t wallMs);

} // namespace cortexfs
