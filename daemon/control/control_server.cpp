#include "daemon/control/control_server.h"

#include "common/base/logging.h"
#include "daemon/control/authority.h"

#include <QPointer>

#include <list>

namespace cortexfs::control {

namespace {

constexpr std::size_t kExecutionsPerClient = 256;
// Every frame of a stream repeats it.
constexpr std::size_t kIdBytes = 256;

// The id of a request as JSON text. A string is the rule; a number is accepted and given back as it came.
std::optional<std::string> idOf(const json::Value &frame)
{
    const json::Value id = frame["id"];
    if (!id.isString() && !id.isNumber())
        return std::nullopt;
    std::string text = id.toJson();
    if (text.size() > kIdBytes)
        return std::nullopt;
    return text;
}

} // namespace

// One client. Owns its socket and its executions; dies with the socket.
class ControlServer::Connection : public QObject {
public:
    Connection(ControlServer &server, sockets::FrameSocket *socket)
        : QObject(&server), m_server(server), m_socket(socket)
    {
        socket->setParent(this);
        connect(socket, &sockets::FrameSocket::frameReceived, this, [this](std::string_view frame) { handle(frame); });
        connect(socket, &sockets::FrameSocket::frameTooLarge, this, [this] {
            m_socket->send(errorLine("null", errors::tooLarge("a frame has at most 1 MiB with its line feed")));
            m_socket->closeAfterSending();
        });
        connect(socket, &sockets::FrameSocket::readingEnded, this, [this] {
            m_hasReadAll = true;
            closeWhenDone();
        });
        connect(socket, &sockets::FrameSocket::closed, this, [this] {
            m_isGone = true;
            abandonAll();
            leaveWhenDone();
        });
    }

    ~Connection() override
    {
        // The signals of the executions would reach a half-destroyed object.
        for (Execution *execution : m_executions)
            execution->disconnect(this);
        abandonAll();
    }

    void cancelAll()
    {
        const std::list<Execution *> executions = m_executions;
        for (Execution *execution : executions)
            execution->cancel();
    }

private:
    void handle(std::string_view frame)
    {
        const Result<json::Document> document = json::parse(frame);
        if (!document)
            return m_socket->send(errorLine("null", document.error()));
        const json::Value body = document->root();
        const auto id = idOf(body);
        const auto op = body["op"].asString();
        if (!body.isObject() || !op || !id) {
            const char *reason = !body.isObject() ? "a frame is a JSON object"
                                 : !op            ? "op: missing or not a string"
                                                  : "id: missing, not a string or longer than 256 bytes";
            return m_socket->send(errorLine(id.value_or("null"), errors::invalid(reason)));
        }
        Request request{std::string(*op), *id, m_socket->peer(), body};
        if (request.op == "exec")
            return beginExecution(request);
        if (request.op == "stdin" || request.op == "cancel")
            return feedExecution(request);
        dispatch(request);
    }

    void dispatch(const Request &request)
    {
        ++m_openRequests;
        // A Responder may outlive this connection and be answered late, but once: its result or error ends the request.
        const Responder responder(request.idJson,
                                  [connection = QPointer<Connection>(this)](std::string_view line, bool isLast) {
                                      if (connection)
                                          connection->answer(line, isLast);
                                  });
        const auto it = m_server.m_operations.find(request.op);
        if (it == m_server.m_operations.end()) {
            return responder.error(errors::invalid("unknown op: " + logging::escapeControl(request.op.substr(0, 64))));
        }
        if (it->second.authority == Authority::Administrator) {
            if (const Result<void> allowed = requireAdministrator(request.peer, m_server.m_daemonUid); !allowed)
                return responder.error(allowed.error());
        }
        it->second.handler(request, responder);
    }

    void answer(std::string_view line, bool isLast)
    {
        m_socket->send(line);
        if (!isLast)
            return;
        --m_openRequests;
        closeWhenDone();
    }

    Execution *find(const std::string &idJson) const
    {
        for (Execution *execution : m_executions) {
            if (execution->idJson() == idJson)
                return execution;
        }
        return nullptr;
    }

    void beginExecution(const Request &request)
    {
        if (find(request.idJson))
            return m_socket->send(errorLine(request.idJson, errors::invalid("id: an exec with this id is running")));
        if (m_executions.size() >= kExecutionsPerClient) {
            return m_socket->send(
                errorLine(request.idJson, errors::busy("at most 256 executions at once on one connection")));
        }
        if (m_server.m_isShuttingDown)
            return m_socket->send(errorLine(request.idJson, errors::hostDown("cortexd is stopping")));
        if (const Result<void> checked = Execution::check(request.body); !checked)
            return m_socket->send(errorLine(request.idJson, checked.error()));
        auto *execution = new Execution(request, m_server.m_exec, *m_socket, this);
        m_executions.push_back(execution);
        ++m_server.m_liveExecutions;
        ++m_server.m_totalExecutions;
        connect(execution, &Execution::finished, this, [this, execution] {
            m_executions.remove(execution);
            m_server.m_totalRuns += execution->hasRun() ? 1 : 0;
            execution->deleteLater();
            if (--m_server.m_liveExecutions == 0)
                Q_EMIT m_server.becameIdle();
            closeWhenDone();
            leaveWhenDone();
        });
        execution->begin();
    }

    void feedExecution(const Request &request)
    {
        Execution *execution = find(request.idJson);
        if (!execution) {
            // It may have ended while this frame was on its way: nothing to say about input, but a cancel that hits
            // nothing is worth an answer.
            if (request.op == "cancel")
                m_socket->send(errorLine(request.idJson, errors::notFound("no exec with this id is running")));
            return;
        }
        if (request.op == "cancel")
            return execution->cancel();
        execution->addInput(request.body);
    }

    void abandonAll()
    {
        // An execution that ends takes itself out of the list.
        const std::list<Execution *> executions = m_executions;
        for (Execution *execution : executions)
            execution->abandon();
    }

    void leaveWhenDone()
    {
        if (m_isGone && m_executions.empty())
            deleteLater();
    }

    void closeWhenDone()
    {
        if (m_hasReadAll && m_executions.empty() && m_openRequests == 0)
            m_socket->closeAfterSending();
    }

    ControlServer &m_server;
    sockets::FrameSocket *m_socket;
    std::list<Execution *> m_executions;
    int m_openRequests = 0; // that are no executions
    bool m_hasReadAll = false;
    bool m_isGone = false;
};

ControlServer::ControlServer(const ExecServices &exec, uid_t daemonUid, QObject *parent, sockets::SharedSockets shared)
    : QObject(parent), m_exec(exec), m_daemonUid(daemonUid),
      m_listener(sockets::UnixListener::kMaxClients, nullptr, std::move(shared))
{
    connect(&m_listener, &sockets::UnixListener::clientConnected, this,
            [this](sockets::FrameSocket *socket) { new Connection(*this, socket); });
}

ControlServer::~ControlServer()
{
    // Connections use our members; they must go before those do.
    const QList<QObject *> children = this->children();
    for (QObject *child : children) {
        if (dynamic_cast<Connection *>(child))
            delete child;
    }
}

void ControlServer::addHandler(const std::string &op, Authority authority, Handler handler)
{
    m_operations[op] = Operation{authority, std::move(handler)};
}

Result<void> ControlServer::listen(const std::string &path) { return m_listener.listen(path, 0666); }

void ControlServer::shutDown()
{
    m_isShuttingDown = true;
    m_listener.close();
    for (QObject *child : this->children()) {
        if (auto *connection = dynamic_cast<Connection *>(child))
            connection->cancelAll();
    }
}

} // namespace cortexfs::control
