// A listening unix socket. Lives on the Qt thread.
//
// Why not QLocalServer: in Qt 6.4 it stops listening and unlinks its path for good when accept() hits EMFILE, and its
// backlog is 50. This one keeps listening: out of descriptors it rests until a client leaves or 100 ms went by.
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "daemon/sockets/frame_socket.h"

#include <QObject>
#include <QSocketNotifier>
#include <QTimer>

#include <memory>
#include <string>

#include <sys/types.h>

namespace cortexfs::sockets {

class UnixListener : public QObject {
    Q_OBJECT
public:
    // Clients at the same time; further ones wait in the backlog.
    explicit UnixListener(int maxClients = 4096, QObject *parent = nullptr);
    ~UnixListener() override;

    // Binds under a temporary name and renames it into place, so that the path never exists without a listener and a
    // dead socket left by a crash is replaced. EADDRINUSE when somebody listens there now; EEXIST when something that is
    // no socket is there; ENAMETOOLONG past 107 bytes.
    Result<void> listen(const std::string &path, mode_t mode);
    // Stops accepting and removes the path if it is still ours. Clients stay.
    void close();
    bool isListening() const { return m_fd.isValid(); }
    const std::string &path() const { return m_path; }
    int clientCount() const { return m_clients; }

Q_SIGNALS:
    // The receiver owns the client (take it with setParent or deleteLater on closed()).
    void clientConnected(cortexfs::sockets::FrameSocket *client);

private:
    void acceptClients();
    void rest();

    UniqueFd m_fd;
    std::string m_path;
    ino_t m_inode = 0;
    int m_maxClients;
    int m_clients = 0;
    bool m_isOutOfResources = false;
    std::shared_ptr<SendQueue> m_sendQueue; // made with the first client
    std::unique_ptr<QSocketNotifier> m_notifier;
    QTimer m_retry;
};

} // namespace cortexfs::sockets
