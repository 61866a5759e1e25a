// Watches that the Qt event loop is never away for long. A timer ticks every few milliseconds; what lies between two
// ticks is the time the loop was away.
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>

namespace cortexfs::test {

class LoopWatch final : public QObject {
    Q_OBJECT
public:
    explicit LoopWatch(QObject *parent = nullptr);

    // Milliseconds of the wall clock, counting the gap that is open now. Sees work and waiting alike, and also that other
    // programs had the processor.
    qint64 longestGapMs() const;
    // Milliseconds of this thread's own work between two ticks: the same on a busy machine, blind for waiting.
    qint64 longestWorkMs() const;

private:
    void handleTick();

    QTimer m_tick;
    QElapsedTimer m_sinceTick;
    qint64 m_workAtTick = 0;
    qint64 m_longestGap = 0;
    qint64 m_longestWork = 0;
};

} // namespace cortexfs::test
