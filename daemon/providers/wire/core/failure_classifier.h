// HTTP status, error bodies, errors inside a stream and broken connections -> errno, retry, fallback. The one table of
// the border between model servers and the program (decisions, section 6).
#pragma once

#include "daemon/providers/wire/core/provider_fault.h"
#include "daemon/providers/wire/core/reply_failure.h"
#include "daemon/providers/wire/wire_format.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace cortexfs::wire {

// 400 and up; 3xx too, because no redirect is followed.
int errnoForStatus(int status);

// A reply whose status is no success. `body` in any form, also HTML or nothing; it is never shown itself.
ReplyFailure failureOfStatus(int status, const std::vector<Header> &headers, std::string_view body,
                             std::int64_t wallMs);

// An error inside a reply that began as a success: classified by what it says of itself, never by that status. EIO when
// it says nothing.
ReplyFailure failureOfFault(const ProviderFault &fault);

// The connection failed.
ReplyFailure failureOfTransport(const Error &error);

} // namespace cortexfs::wire
