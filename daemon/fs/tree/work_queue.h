// One thread for what may take long: fsync, fallocate, copies inside the backing tree, the commit of a backed control
// file. It exists from the first job on. Jobs run in order.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace cortexfs::fs {

class WorkQueue {
public:
    // `name` is the thread's, at most 15 characters; `prepareThread` runs once in it before the first job.
    WorkQueue(const char *name, std::function<void()> prepareThread)
        : m_name(name), m_prepareThread(std::move(prepareThread))
    {}
    ~WorkQueue() { stop(); }

    // A job that never runs is destroyed, and with it the Reply it holds (EIO). Any thread.
    void post(std::function<void()> job);
    // Waits for the running job, drops the others; later jobs are dropped at once.
    void stop();

private:
    void run();

    const char *const m_name;
    std::function<void()> m_prepareThread;
    std::mutex m_mutex;
    std::condition_variable m_changed;
    std::deque<std::function<void()>> m_jobs;
    bool m_isStopping = false;
    std::thread m_thread;
};

} // namespace cortexfs::fs
