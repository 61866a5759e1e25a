// A point in time to wait until, on the monotonic clock, in the form poll(2) takes.
#pragma once

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>

namespace cortexfs::control {

class Deadline {
public:
    static Deadline never() { return Deadline(std::nullopt); }
    static Deadline after(std::chrono::milliseconds span) { return Deadline(Clock::now() + span); }

    // Milliseconds that are left, rounded up; 0 when it is past, -1 when it never comes.
    int pollTimeout() const
    {
        if (!m_when)
            return -1;
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(*m_when - Clock::now()).count();
        return static_cast<int>(std::clamp<decltype(left)>(left, 0, std::numeric_limits<int>::max()));
    }
    bool isPast() const { return m_when && Clock::now() >= *m_when; }

private:
    using Clock = std::chrono::steady_clock;
    explicit Deadline(std::optional<Clock::time_point> when) : m_when(when) {}

    std::optional<Clock::time_point> m_when;
};

} // namespace cortexfs::control
