// One request that is given events: the send that began a run, a retry of it, or a resume. Lives on the Qt thread; owned by
// its connection; the session it reads from outlives it or ends it.
#pragma once

#include "daemon/sessions/session_files.h"
#include "daemon/sockets/frame_socket.h"

#include <QObject>
#include <QPointer>

#include <string>
#include <string_view>

namespace cortexfs::sessions {

class Session;

// Stored events are read in blocks, each when the one before has been taken; then come the events that are not on the disk
// yet and the text of the live run so far, and from there on events as they happen. Between the two nothing can be lost:
// the change happens within one call on the Qt thread.
class SessionReader : public QObject {
    Q_OBJECT
public:
    enum class Kind { Send, Resume };
    SessionReader(Kind kind, std::string request, sockets::FrameSocket *socket, QObject *parent);
    ~SessionReader() override;

    const std::string &request() const { return m_request; }
    bool isClogged() const;

    // Events of this run only, as they happen.
    void follow(Session &session, std::string run);
    // The stored events of this run from `from` on, then the live ones.
    void replay(Session &session, std::string run, std::uint64_t from);
    // Everything after `after`, then `resumed`, then the live run.
    void resume(Session &session, std::uint64_t after);

    // From the session: one event line of `run`; `isLast` when it is its done.
    void deliver(std::string_view line, std::string_view run, bool isLast);
    void write(std::string_view lines);
    // Nothing more comes: an error line and the end.
    void fail(const Error &error);
    void finish();
    // The connection is gone: nothing is written any more.
    void abandon();

Q_SIGNALS:
    void finished();

private:
    void beginReplay(Session &session, std::uint64_t after);
    void readBlock();
    void passLines(std::string_view lines);
    void goLive();
    void relieve();

    const Kind m_kind;
    const std::string m_request;
    QPointer<sockets::FrameSocket> m_socket;
    QPointer<Session> m_session;
    std::string m_run; // only events of this run; empty: of all
    std::uint64_t m_after = 0;
    std::uint64_t m_offset = 0; // in events.jsonl, of what is still to be read
    bool m_isLive = false;
    bool m_isReading = false;
    bool m_isFinished = false;
};

} // namespace cortexfs::sessions
