// Watches that the Qt event loop is never blocked for long. A timer ticks every few milliseconds; the longest gap
// between two ticks is the longest time the loop was away.
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>

namespace cortexfs::test {

class LoopWatch final : public QObject {
    Q_OBJECT
public:
    explicit LoopWatch(QObject *parent = nullptr);

    // Milliseconds, counting the gap that is open now.
    qint64 longestGapMs() const;

private:
    QTimer m_tick;
    QElapsedTimer m_sinceTick;
    qint64 m_longest = 0;
};

} // namespace cortexfs::test
