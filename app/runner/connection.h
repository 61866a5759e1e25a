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
    bool wantsToSend() const { return m_sent < m_out.size(); }
    // One send(2). False when the daemon is gone.
    bool sendSome();
    // One recv(2). False when the daemon is gone.
    bool receiveSome();

    // The next whole line without its LF; data is null when there is none. It holds until the next receiveSome().
    Text nextLine();

private:
    int m_fd = -1;
    Buffer m_out;
    size_t m_sent = 0;
    Buffer m_in;
    size_t m_given = 0;   // bytes of m_in that were given out
    size_t m_scanned = 0; // no LF before this one
};

} // namespace cortexfs::runner
