// Sockets with text that is not sent yet. They send it when the event loop is about to wait, so that what one turn writes to
// one client leaves in one system call and wakes that client once. Lives on the thread of its sockets.
#pragma once

#include <QObject>
#include <QPointer>

#include <vector>

namespace cortexfs::sockets {

class FrameSocket;

class SendQueue : public QObject {
    Q_OBJECT
public:
    // Of the calling thread's event loop, which must have a dispatcher (a QCoreApplication, or a running QThread).
    SendQueue();

    // Until the next wait; a socket is added once per wait.
    void add(FrameSocket *socket) { m_sockets.emplace_back(socket); }

private:
    void sendAll();

    std::vector<QPointer<FrameSocket>> m_sockets;
    std::vector<QPointer<FrameSocket>> m_sending; // kept for its memory
};

} // namespace cortexfs::sockets
