#include "tests/support/loop_watch.h"

#include <algorithm>
#include <ctime>

namespace cortexfs::test {

namespace {

qint64 threadWorkMs()
{
    timespec now = {};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<qint64>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

} // namespace

LoopWatch::LoopWatch(QObject *parent) : QObject(parent), m_workAtTick(threadWorkMs())
{
    m_sinceTick.start();
    m_tick.setTimerType(Qt::PreciseTimer);
    connect(&m_tick, &QTimer::timeout, this, &LoopWatch::handleTick);
    m_tick.start(2);
}

void LoopWatch::handleTick()
{
    m_longestGap = longestGapMs();
    m_longestWork = longestWorkMs();
    m_sinceTick.start();
    m_workAtTick = threadWorkMs();
}

qint64 LoopWatch::longestGapMs() const { return std::max(m_longestGap, m_sinceTick.elapsed()); }

qint64 LoopWatch::longestWorkMs() const { return std::max(m_longestWork, threadWorkMs() - m_workAtTick); }

} // namespace cortexfs::test
