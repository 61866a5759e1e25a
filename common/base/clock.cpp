#include "common/base/clock.h"

#include <ctime>

namespace cortexfs {

namespace {

std::int64_t readMs(clockid_t id)
{
    timespec now = {};
    ::clock_gettime(id, &now);
    return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

class SystemClock final : public Clock {
public:
    std::int64_t monotonicMs() const override { return readMs(CLOCK_MONOTONIC); }
    std::int64_t wallMs() const override { return readMs(CLOCK_REALTIME); }
};

} // namespace

const Clock &systemClock()
{
    static const SystemClock clock;
    return clock;
}

} // namespace cortexfs
