// The socket of one object: accepts clients and serves their requests. Lives on the Qt thread.
#pragma once

#include "daemon/sessions/session_registry.h"
#include "daemon/sockets/unix_listener.h"

#include <QObject>

#include <string>

namespace cortexfs::sessions {

class ObjectSocket : public QObject {
    Q_OBJECT
public:
    // `object`: "model/P/M".
    ObjectSocket(std::string object, SessionRegistry &registry, sockets::SharedSockets shared,
                 QObject *parent = nullptr);
    ~ObjectSocket() override;

    // Errors as UnixListener::listen.
    Result<void> listen(const std::string &path, mode_t mode);
    // Clients that are there stay until they go.
    void close() { m_listener.close(); }
    const std::string &object() const { return m_object; }

private:
    class Connection;

    std::string m_object;
    SessionRegistry &m_registry;
    sockets::UnixListener m_listener;
};

} // namespace cortexfs::sessions
