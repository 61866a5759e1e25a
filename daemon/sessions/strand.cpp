#include "daemon/sessions/strand.h"

namespace cortexfs::sessions {

void Strand::run(std::function<void()> job)
{
    const std::lock_guard lock(m_mutex);
    m_jobs.push_back(std::move(job));
    if (m_isRunning)
        return;
    m_isRunning = true;
    m_pool.start([self = shared_from_this()] { self->drain(); });
}

void Strand::drain()
{
    for (;;) {
        std::function<void()> job;
        {
            const std::lock_guard lock(m_mutex);
            if (m_jobs.empty()) {
                m_isRunning = false;
                return;
            }
            job = std::move(m_jobs.front());
            m_jobs.pop_front();
        }
        job();
    }
}

} // namespace cortexfs::sessions
