// Time as the runtime sees it. Tests give a FakeClock; everything that waits takes a Clock.
#pragma once

#include <cstdint>

namespace cortexfs {

class Clock {
public:
    virtual ~Clock() = default;
    virtual std::int64_t monotonicMs() const = 0;
    virtual std::int64_t wallMs() const = 0; // since 1970-01-01T00:00:00Z
};

// CLOCK_MONOTONIC and CLOCK_REALTIME. One object for the program; it has no state.
const Clock &systemClock();

} // namespace cortexfs
