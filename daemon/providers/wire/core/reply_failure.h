// Why a reply is not an answer, and what may be done about it.
#pragma once

#include "common/base/error.h"

#include <cstdint>
#include <optional>

namespace cortexfs::wire {

struct ReplyFailure {
    Error error;
    bool retryable = false;                   // the same candidate may be asked again, if nothing was emitted
    bool mayFallBack = true;                  // the next candidate may be asked, if nothing was emitted
    std::optional<std::int64_t> retryAfterMs; // what the server asked for
};

// What the errno alone says: EAGAIN EHOSTDOWN ETIMEDOUT ECONNREFUSED ECONNRESET may be tried again, EINVAL and ECANCELED
// end the chain (decisions, section 6).
ReplyFailure failureFor(Error error);

} // namespace cortexfs::wire
