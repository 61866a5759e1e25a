#include "daemon/sockets/send_queue.h"

#include "daemon/sockets/frame_socket.h"

#include <QAbstractEventDispatcher>

namespace cortexfs::sockets {

SendQueue::SendQueue()
{
    // Before the wait comes what posted events wrote, at the next turn what was written after it; a loop that never waits
    // has the second alone.
    const QAbstractEventDispatcher *dispatcher = QAbstractEventDispatcher::instance();
    connect(dispatcher, &QAbstractEventDispatcher::aboutToBlock, this, &SendQueue::sendAll);
    connect(dispatcher, &QAbstractEventDispatcher::awake, this, &SendQueue::sendAll);
}

void SendQueue::sendAll()
{
    if (m_sockets.empty())
        return;
    m_sending.swap(m_sockets);
    for (const QPointer<FrameSocket> &socket : m_sending) {
        if (socket)
            socket->sendQueued();
    }
    m_sending.clear();
}

} // namespace cortexfs::sockets
