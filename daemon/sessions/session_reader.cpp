#include "daemon/sessions/session_reader.h"

#include "common/base/limits.h"
#include "common/json/json.h"
#include "daemon/sessions/message_line.h"
#include "daemon/sessions/session.h"
#include "daemon/sessions/socket_request.h"

namespace cortexfs::sessions {

SessionReader::SessionReader(Kind kind, std::string request, sockets::FrameSocket *socket, QObject *parent)
    : QObject(parent), m_kind(kind), m_request(std::move(request)), m_socket(socket)
{
    connect(socket, &sockets::FrameSocket::drained, this, &SessionReader::relieve);
}

SessionReader::~SessionReader()
{
    if (m_session)
        m_session->detach(this);
}

bool SessionReader::isClogged() const { return m_socket && m_socket->unsent() > limits::kUnsent; }

void SessionReader::write(std::string_view lines)
{
    if (m_socket)
        m_socket->send(lines);
}

void SessionReader::follow(Session &session, std::string run)
{
    m_session = &session;
    m_run = std::move(run);
    m_isLive = true;
    session.attach(this);
}

void SessionReader::replay(Session &session, std::string run, std::uint64_t from)
{
    m_run = std::move(run);
    beginReplay(session, from - 1);
}

void SessionReader::resume(Session &session, std::uint64_t after) { beginReplay(session, after); }

void SessionReader::beginReplay(Session &session, std::uint64_t after)
{
    m_session = &session;
    m_after = after;
    session.attach(this);
    m_isReading = true;
    session.findEvent(after, this, [this](Result<std::uint64_t> offset) {
        m_isReading = false;
        if (!offset)
            return fail(offset.error());
        m_offset = *offset;
        readBlock();
    });
}

void SessionReader::readBlock()
{
    if (m_isFinished || m_isReading || m_isLive || !m_session)
        return;
    if (m_offset >= m_session->storedBytes())
        return goLive();
    m_isReading = true;
    m_session->readEvents(m_offset, this, [this](Result<Session::EventBlock> block) {
        m_isReading = false;
        if (!block)
            return fail(block.error());
        m_offset = block->next;
        passLines(block->lines);
        if (!isClogged())
            readBlock();
    });
}

void SessionReader::passLines(std::string_view lines)
{
    while (!lines.empty() && !m_isFinished) {
        const std::size_t end = lines.find('\n');
        const std::string_view line = lines.substr(0, end);
        const std::string_view whole = lines.substr(0, end == std::string_view::npos ? end : end + 1);
        lines.remove_prefix(whole.size());
        const std::optional<std::uint64_t> id = idOfLine(line);
        if (!id || *id <= m_after || (!m_run.empty() && runOfLine(line) != m_run))
            continue;
        write(whole);
        if (!m_run.empty() && line.starts_with("{\"type\":\"done\""))
            finish();
    }
}

void SessionReader::goLive()
{
    passLines(m_session->unstored());
    if (m_isFinished)
        return;
    if (m_kind == Kind::Resume) {
        json::Writer writer;
        writer.beginObject().field("type", "resumed");
        if (!m_request.empty())
            writer.field("id", m_request);
        writer.field("session", m_session->key().name).field("last", eventId(m_session->lastId()));
        writer.field("live", m_session->hasLiveRun()).endObject();
        write(writer.take() + "\n");
    }
    if (!m_session->attachLive(this, m_after, m_run))
        finish();
}

void SessionReader::deliver(std::string_view line, std::string_view run, bool isLast)
{
    if (!m_isLive || run != m_run)
        return;
    write(line);
    if (isLast)
        finish();
}

void SessionReader::relieve()
{
    if (m_isLive && m_session)
        m_session->updatePaused();
    else if (m_session)
        readBlock();
}

void SessionReader::fail(const Error &error)
{
    write(errorLine(m_request, m_kind == Kind::Send, error));
    finish();
}

void SessionReader::finish()
{
    if (m_isFinished)
        return;
    m_isFinished = true;
    if (const QPointer<Session> session = std::exchange(m_session, nullptr))
        session->detach(this);
    Q_EMIT finished();
}

void SessionReader::abandon()
{
    m_socket = nullptr;
    finish();
}

} // namespace cortexfs::sessions
