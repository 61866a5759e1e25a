// The daemon put together: lock, state, tree, control socket, in the order they come up and in reverse down. One object
// on the Qt thread.
#pragma once

#include "common/base/places.h"
#include "daemon/control/control_server.h"
#include "daemon/core/instance_lock.h"
#include "daemon/core/operations.h"
#include "daemon/core/runner_path.h"
#include "daemon/core/runtime.h"
#include "daemon/fs/session.h"
#include "daemon/models/model_service.h"
#include "daemon/providers/route/route_egress.h"
#include "daemon/sessions/model_sockets.h"
#include "daemon/sessions/session_registry.h"

#include <QObject>
#include <QTimer>

#include <memory>
#include <optional>
#include <string>

namespace cortexfs {

struct DaemonOptions {
    Places places;
    bool withFuse = true;
    std::string executable;              // absolute path of cortexd itself
    std::optional<std::string> logLevel; // of the command line; wins over cortexd.json
};

class Daemon : public QObject {
    Q_OBJECT
public:
    // Brings everything up. EBUSY: another daemon has the state directory; the errors of the mount and of the sockets.
    // What came up before a failure is taken down again.
    static Result<std::unique_ptr<Daemon>> start(DaemonOptions options);
    ~Daemon() override;

    // {"type":"ready","version":V,"mount":DIR,"control":SOCKET} without LF
    std::string readyLine() const;
    void refresh() { m_runtime->refresh(); }
    // Refuses new work, cancels what runs, waits for it up to a bound, unmounts; then stopped(). Once.
    void stop();

Q_SIGNALS:
    void stopped();
    // Somebody unmounted the tree behind our back; the daemon cannot serve any more and stops.
    void lostMount();

private:
    explicit Daemon(DaemonOptions options);
    Result<void> bringUp();
    Result<void> prepareDirectories();
    Result<void> mount();
    void openSessions();
    SessionFacts sessionFacts() const;
    bool isBusy() const { return m_control->liveExecutions() > 0 || m_sessions->liveRuns() > 0; }
    void takeDownWhenIdle();
    void takeDown();

    DaemonOptions m_options;
    std::int64_t m_startedAtMs;
    std::optional<InstanceLock> m_lock;
    std::optional<RunnerPath> m_runner;
    sockets::SharedSockets m_objectSockets; // what the sockets of all objects share
    std::unique_ptr<Runtime> m_runtime;
    std::unique_ptr<providers::RouteEgress> m_egress;
    std::unique_ptr<providers::HttpTransport> m_http;
    std::unique_ptr<models::ModelService> m_models;
    std::unique_ptr<sessions::SessionRegistry> m_sessions;
    std::unique_ptr<control::ControlServer> m_control;
    std::unique_ptr<fs::FsSession> m_fs;
    std::unique_ptr<sessions::ModelSockets> m_modelSockets;
    QTimer m_stopDeadline;
    bool m_isStopping = false;
};

} // namespace cortexfs
