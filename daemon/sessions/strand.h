// Blocking work of sessions off the Qt thread: jobs of one strand run one after the other, those of different strands beside
// each other on a few threads.
#pragma once

#include <QCoreApplication>
#include <QObject>
#include <QPointer>
#include <QThreadPool>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>

namespace cortexfs::sessions {

class Strand : public std::enable_shared_from_this<Strand> {
public:
    explicit Strand(QThreadPool &pool) : m_pool(pool) {}

    // `job` runs on a worker thread and may hold anything that this strand owns alone.
    void run(std::function<void()> job);
    // `job` gives a value, and `done` gets it on the Qt thread unless `context` is gone by then.
    template<typename Job, typename Done>
    void run(QObject *context, Job job, Done done)
    {
        // A guarded pointer may be copied on any thread, but asked on its own only: the application's object carries the
        // answer over.
        run([guard = QPointer<QObject>(context), job = std::move(job), done = std::move(done)]() mutable {
            auto outcome = std::make_shared<decltype(job())>(job());
            QMetaObject::invokeMethod(
                QCoreApplication::instance(),
                [guard = std::move(guard), outcome, done = std::move(done)]() mutable {
                    if (guard)
                        done(std::move(*outcome));
                },
                Qt::QueuedConnection);
        });
    }

    // Nothing waits or runs, and what the jobs held is released.
    bool isIdle() const
    {
        const std::lock_guard lock(m_mutex);
        return !m_isRunning;
    }

private:
    void drain();

    QThreadPool &m_pool;
    mutable std::mutex m_mutex;
    std::deque<std::function<void()>> m_jobs;
    bool m_isRunning = false;
};

} // namespace cortexfs::sessions
