// A byte-level server, on loopback or on a unix socket, for tests of HTTP clients. Each connection runs a script in a thread of its own, so
// a script is straight code: read a request, send half a reply, wait for the test, reset.
#pragma once

#include "tests/support/wire_peer.h"

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <cstdint>

namespace cortexfs::test {

class WireServer {
public:
    using Script = std::function<void(WirePeer &)>;

    // Listens on 127.0.0.1 (`port` 0: a free one) at once. When the script returns, the connection is closed.
    explicit WireServer(Script script, std::uint16_t port = 0);
    // Listens on a unix socket of that path, at most 107 bytes long.
    WireServer(Script script, std::string socketPath);
    // Ends every script and joins its thread.
    ~WireServer();
    WireServer(const WireServer &) = delete;
    WireServer &operator=(const WireServer &) = delete;

    std::uint16_t port() const { return m_port; }
    const std::string &socketPath() const { return m_socketPath; } // empty: TCP
    // "http://127.0.0.1:PORT" + path, or "http://localhost" + path for a unix socket
    std::string url(std::string_view path = {}) const;

    std::vector<CapturedRequest> requests() const; // in the order they came
    int accepted() const;
    int openConnections() const;
    int mostOpenConnections() const; // at the same moment
    int closedByPeer() const;        // connections of which a script saw the end

    // Lets scripts pass waitFor(name), also those that come there later.
    void signal(const std::string &name);

private:
    friend class WirePeer;
    void listen(const void *address, unsigned length);
    void acceptLoop();
    void serve(UniqueFd fd, int index);
    void capture(const CapturedRequest &request);
    void notePeerClosed();
    bool waitForSignal(const std::string &name);

    Script m_script;
    UniqueFd m_listener;
    UniqueFd m_stop; // eventfd, readable once the server stops
    std::uint16_t m_port = 0;
    std::string m_socketPath;

    mutable std::mutex m_mutex;
    std::condition_variable m_signalled;
    std::map<std::string, bool> m_signals;
    std::vector<CapturedRequest> m_requests;
    int m_accepted = 0;
    int m_open = 0;
    int m_mostOpen = 0;
    int m_closedByPeer = 0;
    bool m_stopping = false;
    std::thread m_acceptor;
    std::map<int, std::thread> m_threads; // by connection; touched by the acceptor, joined by the destructor
    std::vector<int> m_finished;          // whose threads may be joined
};

} // namespace cortexfs::test
