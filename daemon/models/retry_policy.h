// What follows a failed attempt: the same candidate again, the next one, or the end of the run (decisions, section 6).
// Pure: time, chance and what happened before come as arguments.
#pragma once

#include "daemon/providers/wire/core/reply_failure.h"

#include <cstdint>
#include <optional>

namespace cortexfs::models {

struct RetryTiming {
    int firstWaitMs = 500; // doubles with every retry; chance takes or adds up to a quarter
    int mostRetries = 2;   // of one candidate in one run
    // A server that asks for more is not waited for.
    std::int64_t longestWaitMs = 10'000;
    // A date of next year is a mistake: the candidate is asked again after a day.
    std::int64_t longestCooldownMs = 24 * 3'600'000;
};

struct AttemptHistory {
    int retries = 0;        // of this candidate so far
    bool hasOutput = false; // the reader has seen a part of the answer
    bool isBuiltIn = false; // it would say the same again
    bool isProbe = false;   // one request and no more
    bool isRunOver = false; // its time or its bytes are used up
};

struct NextStep {
    enum class Kind { Retry, MoveOn, Fail };
    Kind kind = Kind::Fail;
    std::int64_t waitMs = 0;                // Retry
    std::optional<std::int64_t> cooldownMs; // the candidate is not to be asked for so long; never with Retry
};

// `chance`: 0 to 1. A wait that the server asks for is never shortened; a tenth of it at most is added.
NextStep nextStep(const wire::ReplyFailure &failure, const AttemptHistory &history, const RetryTiming &timing,
                  double chance);

// The endpoint does not know the way the format speaks (ENOTSUP, or the path is not there), so another driver of the
// same candidate may do. A redirect is about the base URL and no such case. `httpStatus` 0: there was no reply.
bool isDriverUnsupported(const Error &error, int httpStatus);

} // namespace cortexfs::models
