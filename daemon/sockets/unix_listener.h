// A listening unix socket. Lives on the Qt thread.
//
// Why not QLocalServer: in Qt 6.4 it stops listening and unlinks its path for good when accept() hits EMFILE, and its
// backlog is 50. This one keeps listening: out of descriptors it rests until a client leaves or 100 ms went by.
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "daemon/sockets/frame_socket.h"
#include "daemon/sockets/shared_sockets.h"

#include <QBasicTimer>
#include <QObject>

#include <memory>
#include <string>

#include <sys/types.h>

namespace cortexfs::sockets {

class UnixListener : public QObject, private SocketHandler, private ClientBudget::Waiter {
    Q_OBJECT
public:
    static constexpr int kMaxClients = 4096;

    // `maxClients` at the same time; further ones wait in the backlog, as those for whom the shared budget has no seat. A
    // process with many listeners gives all of them the same `shared`.
    explicit UnixListener(int maxClients = kMaxClients, QObject *parent = nullptr, SharedSockets shared = {});
    ~UnixListener() override;

    // Binds under a temporary name and renames it into place, so that the path never exists without a listener and a
    // dead socket left by a crash is replaced. EADDRINUSE when somebody listens there now; EEXIST when something that is
    // no socket is there; ENAMETOOLONG past 107 bytes; EMFILE and the like.
    Result<void> listen(const std::string &path, mode_t mode);
    // Stops accepting and removes the path if it is still ours. Clients stay.
    void close();
    bool isListening() const { return m_fd.isValid(); }
    const std::string &path() const { return m_path; }
    int clientCount() const { return m_clients; }

Q_SIGNALS:
    // The receiver owns the client (take it with setParent or deleteLater on closed()).
    void clientConnected(cortexfs::sockets::FrameSocket *client);

protected:
    void timerEvent(QTimerEvent *event) override;

private:
    void socketReadable() override { acceptClients(); }
    void socketWritable() override {}
    void socketHungUp() override {} // a listening socket does not
    void sendQueued() override {}
    void deadlineReached() override {}
    void seatsFreed() override;
    void acceptClients();
    void setAccepting(bool isAccepting);
    void rest();

    SharedSockets m_shared;
    SocketLoop::Key m_key = SocketLoop::kNoKey;
    UniqueFd m_fd;
    std::string m_path;
    ino_t m_inode = 0;
    int m_maxClients;
    int m_clients = 0;
    bool m_isOutOfResources = false;
    bool m_wasServed = false; // by the budget, since it last told us to go on
    QBasicTimer m_retry;
};

} // namespace cortexfs::sockets
