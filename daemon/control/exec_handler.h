// `exec`: one execution of an object for a client of the control socket. Lives on the Qt thread, one a request.
#pragma once

#include "common/abi/event.h"
#include "common/control_client/protocol.h"
#include "daemon/control/request.h"
#include "daemon/models/model_run.h"
#include "daemon/models/model_service.h"
#include "daemon/snapshot/runtime_snapshot.h"
#include "daemon/snapshot/snapshot_cell.h"
#include "daemon/sockets/frame_socket.h"

#include <QObject>

#include <memory>
#include <string>

namespace cortexfs::control {

struct ExecServices {
    models::ModelService &models;
    const SnapshotCell<RuntimeSnapshot> &snapshot;
};

// The life of one exec: collect the input, start the run, write its events, answer with the exit code. The canonical
// sequence start ... done is written whatever goes wrong. Deletes itself after finished().
class Execution : public QObject {
    Q_OBJECT
public:
    Execution(const Request &request, const ExecServices &services, sockets::FrameSocket &client, QObject *parent);
    ~Execution() override;

    // Whether the fields of a request have the types that they must have. EINVAL naming the field.
    static Result<void> check(const json::Value &body);

    const std::string &idJson() const { return m_idJson; }
    bool hasRun() const { return m_run != nullptr; }
    // Called once after construction; may finish at once.
    void begin();
    // A frame {"op":"stdin",...}. EINVAL in it ends the execution.
    void addInput(const json::Value &body);
    void cancel();
    // The client is gone: nothing is written any more.
    void abandon();

Q_SIGNALS:
    void finished();

private:
    void appendInput(std::string_view data, bool isLast);
    void startRun();
    void handleEvent(const abi::Event &event);
    void writeEvent(const abi::Event &event);
    void cutStream();
    void fail(const Error &error);
    void finish(int exitCode, const std::string &diagnostic);
    void relieve();

    ExecServices m_services;
    sockets::FrameSocket *m_client; // null once abandoned
    std::string m_idJson;
    std::string m_object;
    std::string m_input;
    bool m_isTty = false;
    bool m_hasArgv = false;
    bool m_inputOpen = false;
    bool m_isFinished = false;
    bool m_isPaused = false;
    bool m_isCut = false; // an event did not fit into a frame: the run is being cancelled
    models::Caller m_caller;
    std::string m_prefix; // {"id":ID,
    std::unique_ptr<models::ModelRun> m_run;
    int m_errorNumber = 0;
    std::string m_errorText;
};

} // namespace cortexfs::control
