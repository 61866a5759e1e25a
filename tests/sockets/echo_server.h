// A listener that answers, and what its tests ask of the process they run in.
#pragma once

#include "daemon/sockets/unix_listener.h"
#include "tests/sockets/raw_client.h"

#include <QTest>

#include <memory>
#include <string>

#include <sys/resource.h>

namespace cortexfs::test {

// Answers every frame with the same frame and lets clients go when they close.
class EchoServer {
public:
    explicit EchoServer(int maxClients = 4096, sockets::SharedSockets shared = {})
        : listener(maxClients, nullptr, std::move(shared))
    {
        QObject::connect(
            &listener, &sockets::UnixListener::clientConnected, &listener, [this](sockets::FrameSocket *socket) {
                ++accepted;
                lastPeer = socket->peer();
                QObject::connect(socket, &sockets::FrameSocket::frameReceived, socket,
                                 [socket](std::string_view frame) { socket->send(std::string(frame) + "\n"); });
                QObject::connect(socket, &sockets::FrameSocket::closed, socket, &QObject::deleteLater);
            });
    }
    sockets::UnixListener listener;
    int accepted = 0;
    sockets::Peer lastPeer;
};

inline bool answers(RawClient &client)
{
    client.take();
    if (!client.send("ping\n"))
        return false;
    return QTest::qWaitFor([&] { return client.received() == "ping\n"; }, 5000);
}

// Puts the soft limit of descriptors back.
class DescriptorLimit {
public:
    DescriptorLimit() { ::getrlimit(RLIMIT_NOFILE, &m_before); }
    ~DescriptorLimit() { ::setrlimit(RLIMIT_NOFILE, &m_before); }
    DescriptorLimit(const DescriptorLimit &) = delete;
    DescriptorLimit &operator=(const DescriptorLimit &) = delete;
    void lower(rlim_t to)
    {
        rlimit limit = m_before;
        limit.rlim_cur = to;
        ::setrlimit(RLIMIT_NOFILE, &limit);
    }
    void restore() { ::setrlimit(RLIMIT_NOFILE, &m_before); }

private:
    rlimit m_before = {};
};

} // namespace cortexfs::test
