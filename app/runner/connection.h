// The control socket of the daemon, non-blocking once connected.
#pragma once

#include "app/runner/buffer.h"

namespace cortexfs::runner {

class Connection {
public:
    ~Connection();
    // False with errno set: ENOENT and ECONNREFUSED mean that no daemon is there.
    bool open(const char *path);
    int descriptor() const { return m_fd; }

    Buffer &outgoing() { return m_out; }
    bool wantsToSend() const { return m_canSend && m_out.size() > 0; }
    // Nothing is sent any more once the daemon does not take it; what it said before can still be received.
    bool canSend() const { return m_canSend; }
    // One send(2).
    void sendSome();
    // One recv(2). False when the daemon is gone or sends a line that is no frame (over kLongestLine).
    bool receiveSome();

    // The next whole line without its LF; data is null when there is none. It holds until the next receiveSome().
    Text nextLine();

    // The daemon's frames have at most 1 MiB.
    static constexpr size_t kLongestLine = 2 * 1024 * 1024;

private:
    int m_fd = -1;
    bool m_canSend = true;
    char m_outStorage[4 * 1024];
    char m_inStorage[24 * 1024];
    Buffer m_out{m_outStorage, sizeof m_outStorage};
    Buffer m_in{m_inStorage, sizeof m_inStorage};
    size_t m_given = 0;   // bytes of m_in that were given out
    size_t m_scanned = 0; // no LF before this one
};

} // namespace cortexfs::runner
