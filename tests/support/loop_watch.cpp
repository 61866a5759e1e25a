#include "tests/support/loop_watch.h"

#include <algorithm>

namespace cortexfs::test {

LoopWatch::LoopWatch(QObject *parent) : QObject(parent)
{
    m_sinceTick.start();
    m_tick.setTimerType(Qt::PreciseTimer);
    connect(&m_tick, &QTimer::timeout, this, [this] { m_longest = std::max(m_longest, m_sinceTick.restart()); });
    m_tick.start(2);
}

qint64 LoopWatch::longestGapMs() const
{
    return std::max(m_longest, m_sinceTick.elapsed());
}

} // namespace cortexfs::test
