#include "daemon/models/retry_policy.h"

#include <algorithm>
#include <cmath>

namespace cortexfs::models {

namespace {

std::int64_t waitFor(const wire::ReplyFailure &failure, int retries, const RetryTiming &timing, double chance)
{
    // "At once" from a server that has just refused is no advice.
    if (const std::int64_t wish = failure.retryAfterMs.value_or(0); wish > 0)
        return wish + std::llround(static_cast<double>(wish) * 0.1 * chance);
    const double wait = std::ldexp(static_cast<double>(timing.firstWaitMs), retries);
    return std::llround(wait * (0.75 + 0.5 * chance));
}

} // namespace

NextStep nextStep(const wire::ReplyFailure &failure, const AttemptHistory &history, const RetryTiming &timing,
                  double chance)
{
    NextStep step;
    const std::int64_t wish = failure.retryAfterMs.value_or(0);
    if (wish > timing.longestWaitMs)
        step.cooldownMs = std::min(wish, timing.longestCooldownMs);
    if (history.hasOutput || history.isProbe || history.isRunOver)
        return step;
    // A server may ask not to be asked again; that it asks for more tries does not make another error worth one.
    const bool isRetryable = failure.retryable && wire::failureFor(failure.error).retryable;
    if (isRetryable && !step.cooldownMs && !history.isBuiltIn && history.retries < timing.mostRetries) {
        step.kind = NextStep::Kind::Retry;
        step.waitMs = waitFor(failure, history.retries, timing, chance);
    } else if (failure.mayFallBack) {
        step.kind = NextStep::Kind::MoveOn;
    }
    return step;
}

bool isDriverUnsupported(const Error &error, int httpStatus)
{
    const bool isRedirect = httpStatus >= 300 && httpStatus <= 399;
    return (error.number() == ENOTSUP && !isRedirect) || (error.number() == ENOENT && httpStatus == 404);
}

} // namespace cortexfs::models
