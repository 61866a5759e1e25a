// The control socket: framing, authority, dispatch. What an operation does is in the handlers that are registered.
#pragma once

#include "daemon/control/exec_handler.h"
#include "daemon/control/request.h"
#include "daemon/sockets/unix_listener.h"

#include <QObject>

#include <map>
#include <memory>
#include <string>

namespace cortexfs::control {

enum class Authority { Anyone, Administrator };

class ControlServer : public QObject {
    Q_OBJECT
public:
    // `shared` as that of UnixListener.
    ControlServer(const ExecServices &exec, uid_t daemonUid, QObject *parent = nullptr,
                  sockets::SharedSockets shared = {});
    ~ControlServer() override;

    void addHandler(const std::string &op, Authority authority, Handler handler);
    // Mode 0666: the directory and SO_PEERCRED decide. Errors as UnixListener::listen.
    Result<void> listen(const std::string &path);
    // Stops accepting clients and executions (EHOSTDOWN); live executions are cancelled and their clients get the end of
    // the stream.
    void shutDown();

    int liveExecutions() const { return m_liveExecutions; }
    std::uint64_t totalExecutions() const { return m_totalExecutions; }
    // Executions that ended after they had become a run.
    std::uint64_t totalRuns() const { return m_totalRuns; }

Q_SIGNALS:
    // The last live execution ended.
    void becameIdle();

private:
    class Connection;
    friend class Connection;

    struct Operation {
        Authority authority;
        Handler handler;
    };

    ExecServices m_exec;
    uid_t m_daemonUid;
    sockets::UnixListener m_listener;
    std::map<std::string, Operation, std::less<>> m_operations;
    int m_liveExecutions = 0;
    std::uint64_t m_totalExecutions = 0;
    std::uint64_t m_totalRuns = 0;
    bool m_isShuttingDown = false;
};

} // namespace cortexfs::control
