#include "daemon/fs/tree/work_queue.h"

#include <pthread.h>
#include <signal.h>

namespace cortexfs::fs {

void WorkQueue::post(std::function<void()> job)
{
    const std::lock_guard lock(m_mutex);
    if (m_isStopping)
        return;
    m_jobs.push_back(std::move(job));
    if (!m_thread.joinable()) {
        // Signals are the composer's; a new thread inherits the mask.
        sigset_t all;
        sigset_t before;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before);
        m_thread = std::thread([this] { run(); });
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }
    m_changed.notify_one();
}

void WorkQueue::stop()
{
    std::deque<std::function<void()>> dropped;
    {
        const std::lock_guard lock(m_mutex);
        m_isStopping = true;
        dropped.swap(m_jobs);
        m_changed.notify_all();
    }
    dropped.clear();
    if (m_thread.joinable())
        m_thread.join();
}

void WorkQueue::run()
{
    ::pthread_setname_np(::pthread_self(), m_name);
    m_prepareThread();
    for (;;) {
        std::function<void()> job;
        {
            std::unique_lock lock(m_mutex);
            m_changed.wait(lock, [this] { return m_isStopping || !m_jobs.empty(); });
            if (m_jobs.empty())
                return;
            job = std::move(m_jobs.front());
            m_jobs.pop_front();
        }
        job();
    }
}

} // namespace cortexfs::fs
