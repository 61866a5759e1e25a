// One mounted libfuse session: made, mounted, read from and unmounted. receive() and process() belong to the answering
// thread; the notifications to the notifier's thread.
#pragma once

#include "common/base/result.h"
#include "daemon/fs/bridge/fuse_api.h"
#include "daemon/fs/tree/invalidation.h"

#include <atomic>
#include <memory>
#include <string>

namespace cortexfs::fs {

class FuseMount {
public:
    // fuse_req_userdata() gives the operations this object; `context` is theirs.
    static Result<std::unique_ptr<FuseMount>> mount(const std::string &mountpoint, bool allowOther,
                                                    const fuse_lowlevel_ops &operations, void *context);
    ~FuseMount();
    FuseMount(const FuseMount &) = delete;
    FuseMount &operator=(const FuseMount &) = delete;

    void *context() const { return m_context; }
    int descriptor() const { return fuse_session_fd(m_session); }
    // Takes one request and answers it, or lets its answer come later. Does not wait: nothing there is no error.
    // ENODEV: the mount is gone. Another errno: the device failed.
    int serveOne();
    void invalidate(const Invalidation &what);
    // Lazily where somebody is inside, and aborts what waits for an answer. Idempotent.
    void unmount();

    std::uint64_t requests() const { return m_requests.load(std::memory_order_relaxed); }
    std::uint64_t lookups() const { return m_lookups.load(std::memory_order_relaxed); }

private:
    explicit FuseMount(void *context) : m_context(context) {}
    void abortConnection();
    void count(const fuse_buf &buffer);
    static ssize_t readDevice(int fd, void *buffer, size_t size, void *userdata);
    static ssize_t writeDevice(int fd, iovec *parts, int count, void *userdata);

    fuse_session *m_session = nullptr;
    void *m_context;
    std::string m_mountpoint;
    unsigned m_connection = 0; // its name in fusectl
    fuse_buf m_buffer = {};
    bool m_isMounted = false;
    bool m_isInitialised = false; // the answer to INIT has left
    std::atomic<std::uint64_t> m_requests{0};
    std::atomic<std::uint64_t> m_lookups{0};
};

} // namespace cortexfs::fs
