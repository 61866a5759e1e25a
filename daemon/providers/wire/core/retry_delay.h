// When a server wants to be asked again, in every form that is in use.
#pragma once

#include "daemon/providers/wire/wire_format.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace cortexfs::wire {

// "34.07s", "6m0s", "1h2m", "250ms" -> milliseconds.
std::optional<std::int64_t> delayFromDuration(std::string_view text);

// An HTTP date (all three forms of RFC 9110) or an RFC 3339 time -> milliseconds since the epoch.
std::optional<std::int64_t> timeFromText(std::string_view text);

// Milliseconds from `wallMs`, never negative: retry-after-ms, else Retry-After in seconds or as a date.
std::optional<std::int64_t> retryAfter(const std::vector<Header> &headers, std::int64_t wallMs);
// The same from the reset times of the rate-limit headers: of the limits that are used up, or of all when no header says
// which those are.
std::optional<std::int64_t> rateLimitReset(const std::vector<Header> &headers, std::int64_t wallMs);

// The first header of that name, case ignored.
std::optional<std::string_view> headerValue(const std::vector<Header> &headers, std::string_view name);

} // namespace cortexfs::wire
