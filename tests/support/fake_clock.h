// A clock that stands until a test moves it.
#pragma once

#include "common/base/clock.h"

namespace cortexfs::test {

class FakeClock final : public Clock {
public:
    explicit FakeClock(std::int64_t wallMs = 1'800'000'000'000) : m_wallMs(wallMs) {}

    std::int64_t monotonicMs() const override { return m_monotonicMs; }
    std::int64_t wallMs() const override { return m_wallMs; }

    void advance(std::int64_t ms)
    {
        m_monotonicMs += ms;
        m_wallMs += ms;
    }

private:
    std::int64_t m_monotonicMs = 1000;
    std::int64_t m_wallMs;
};

} // namespace cortexfs::test
