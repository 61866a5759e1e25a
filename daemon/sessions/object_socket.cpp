#include "daemon/sessions/object_socket.h"

#include "common/base/limits.h"
#include "daemon/sessions/session_tree.h"
#include "daemon/sockets/program_names.h"

#include <QPointer>

#include <list>

namespace cortexfs::sessions {

namespace {

constexpr std::size_t kRequestsPerClient = 256; // at once

std::uint64_t nextConnection()
{
    static std::uint64_t last = 0; // Qt thread only
    return ++last;
}

} // namespace

// One client: its readers, its temp sessions. Dies with its socket.
class ObjectSocket::Connection : public QObject {
public:
    Connection(ObjectSocket &owner, sockets::FrameSocket *socket)
        : QObject(&owner), m_object(owner.m_object), m_registry(owner.m_registry), m_socket(socket),
          m_number(nextConnection())
    {
        socket->setParent(this);
        socket->setStallLimit(limits::kStalledReaderMs);
        m_caller.uid = socket->peer().uid;
        m_caller.gid = socket->peer().gid;
        m_caller.pid = socket->peer().pid;
        m_caller.programNames = sockets::programNamesOf(socket->peer().pid);
        connect(socket, &sockets::FrameSocket::frameReceived, this, [this](std::string_view frame) { handle(frame); });
        connect(socket, &sockets::FrameSocket::frameTooLarge, this, [this] {
            m_socket->send(errorLine({}, false, errors::tooLarge("a frame has at most 1 MiB with its line feed")));
            m_socket->closeAfterSending();
        });
        connect(socket, &sockets::FrameSocket::readingEnded, this, [this] {
            m_hasReadAll = true;
            closeWhenDone();
        });
        connect(socket, &sockets::FrameSocket::closed, this, [this] {
            m_isGone = true;
            m_registry.dropConnection(m_number);
            for (SessionReader *reader : std::list<SessionReader *>(m_readers))
                reader->abandon();
            deleteLater();
        });
    }

private:
    void handle(std::string_view frame)
    {
        std::variant<SocketRequest, RequestFault> read = readRequest(frame);
        if (const RequestFault *fault = std::get_if<RequestFault>(&read))
            return m_socket->send(errorLine(fault->id, fault->isSend, fault->error));
        SocketRequest &request = std::get<SocketRequest>(read);
        if (request.op == SocketRequest::Op::Ping)
            return m_socket->send(replyLine("pong", request.id));
        if (request.op == SocketRequest::Op::Approve)
            return m_socket->send(errorLine(request.id, false, errors::notFound("no approval is waited for")));
        if (m_open >= kRequestsPerClient) {
            return m_socket->send(errorLine(request.id, request.op == SocketRequest::Op::Send,
                                            errors::busy("at most 256 requests at once on one connection")));
        }
        ++m_open;
        SessionKey key{m_object, scopeOf(request), m_caller.uid, {}, 0, request.session};
        const SessionUser caller{m_caller.uid, m_caller.gid};
        if (key.scope == Scope::Temp)
            key.connection = m_number;
        if (key.scope != Scope::Shared)
            return serve(std::move(request), key, caller);
        key.space = request.space;
        key.uid = 0;
        if (!m_strand)
            m_strand = std::make_shared<Strand>(m_registry.pool());
        m_strand->run(
            this,
            [place = m_registry.place(), space = key.space, caller] { return keeperOfSpace(place, space, caller); },
            [this, request = std::move(request), key](Result<SessionUser> keeper) mutable {
                if (!keeper)
                    return answer(errorLine(request.id, request.op == SocketRequest::Op::Send, keeper.error()));
                serve(std::move(request), key, *keeper);
            });
    }

    // Without a scope a send is private; what asks for a session means the temp one of this connection where there is one.
    Scope scopeOf(const SocketRequest &request) const
    {
        if (request.scope)
            return *request.scope;
        if (request.op == SocketRequest::Op::Send)
            return Scope::Private;
        const SessionKey temp{m_object, Scope::Temp, m_caller.uid, {}, m_number, request.session};
        return m_registry.find(temp) ? Scope::Temp : Scope::Private;
    }

    void serve(SocketRequest request, const SessionKey &key, const SessionUser &user)
    {
        Session &session = m_registry.session(key, user);
        switch (request.op) {
        case SocketRequest::Op::Send:
            return session.send(request, m_caller, newReader(SessionReader::Kind::Send, request.id));
        case SocketRequest::Op::Resume:
            return session.resume(request, newReader(SessionReader::Kind::Resume, request.id));
        case SocketRequest::Op::Cancel:
            return session.cancel(
                request.id, [self = QPointer<Connection>(this), id = request.id](Result<std::string> run) {
                    if (self)
                        self->answer(run ? acceptedLine(id, *run) : errorLine(id, false, run.error()));
                });
        case SocketRequest::Op::Status:
            return session.status([self = QPointer<Connection>(this), request](Result<Session::Status> status) {
                if (self)
                    self->answer(status ? statusLine(request, *status) : errorLine(request.id, false, status.error()));
            });
        case SocketRequest::Op::Ping:
        case SocketRequest::Op::Approve: return;
        }
    }

    SessionReader *newReader(SessionReader::Kind kind, const std::string &request)
    {
        auto *reader = new SessionReader(kind, request, m_socket, this);
        m_readers.push_back(reader);
        connect(reader, &SessionReader::finished, this, [this, reader] {
            m_readers.remove(reader);
            reader->deleteLater();
            --m_open;
            closeWhenDone();
        });
        return reader;
    }

    static std::string replyLine(const char *type, const std::string &id)
    {
        json::Writer writer;
        writer.beginObject().field("type", type);
        if (!id.empty())
            writer.field("id", id);
        writer.endObject();
        return writer.take() + "\n";
    }

    static std::string acceptedLine(const std::string &id, const std::string &run)
    {
        json::Writer writer;
        writer.beginObject()
            .field("type", "accepted")
            .field("op", "cancel")
            .field("id", id)
            .field("run", run)
            .endObject();
        return writer.take() + "\n";
    }

    static std::string statusLine(const SocketRequest &request, const Session::Status &status)
    {
        json::Writer writer;
        writer.beginObject().field("type", "status");
        if (!request.id.empty())
            writer.field("id", request.id);
        writer.field("session", request.session).field("state", status.state).key("run");
        if (status.run.empty())
            writer.null();
        else
            writer.string(status.run);
        writer.field("waiting", static_cast<std::int64_t>(status.waiting)).endObject();
        return writer.take() + "\n";
    }

    void answer(const std::string &line)
    {
        m_socket->send(line);
        --m_open;
        closeWhenDone();
    }

    void closeWhenDone()
    {
        if (m_hasReadAll && m_open == 0 && !m_isGone)
            m_socket->closeAfterSending();
    }

    const std::string m_object;
    SessionRegistry &m_registry;
    sockets::FrameSocket *m_socket;
    const std::uint64_t m_number;
    models::Caller m_caller;
    std::shared_ptr<Strand> m_strand; // checks of shared spaces, in the order of the requests
    std::list<SessionReader *> m_readers;
    std::size_t m_open = 0;
    bool m_hasReadAll = false;
    bool m_isGone = false;
};

ObjectSocket::ObjectSocket(std::string object, SessionRegistry &registry, sockets::SharedSockets shared,
                           QObject *parent)
    : QObject(parent), m_object(std::move(object)), m_registry(registry),
      m_listener(sockets::UnixListener::kMaxClients, nullptr, std::move(shared))
{
    connect(&m_listener, &sockets::UnixListener::clientConnected, this,
            [this](sockets::FrameSocket *socket) { new Connection(*this, socket); });
}

ObjectSocket::~ObjectSocket()
{
    // Connections use the listener's clients; they must go before it does.
    const QList<QObject *> children = this->children();
    for (QObject *child : children) {
        if (dynamic_cast<Connection *>(child))
            delete child;
    }
}

Result<void> ObjectSocket::listen(const std::string &path, mode_t mode) { return m_listener.listen(path, mode); }

} // namespace cortexfs::sessions
