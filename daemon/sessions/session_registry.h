// The sessions that are in use. Lives on the Qt thread; one for the daemon.
#pragma once

#include "daemon/sessions/session.h"

#include <QObject>
#include <QThreadPool>
#include <QTimer>

#include <map>
#include <memory>
#include <vector>

namespace cortexfs::sessions {

class SessionRegistry : public QObject {
    Q_OBJECT
public:
    SessionRegistry(SessionPlace place, Answerer answerer, const Clock &clock, QObject *parent = nullptr);
    // Waits for the file work that is under way.
    ~SessionRegistry() override;

    // The one session of that key. `user` is who it belongs to, for the kernel.
    Session &session(const SessionKey &key, const SessionUser &user);
    // The session if it is in use.
    Session *find(const SessionKey &key) const;
    // Ends the temp sessions of a connection that is gone.
    void dropConnection(std::uint64_t connection);
    // Opens what had a run when the daemon ended, which closes those runs.
    void repairUnfinished();

    // Cancels every run; becameIdle() when the last has ended.
    void shutDown();
    int liveRuns() const;
    std::size_t loadedCount() const { return m_sessions.size(); }

    const SessionPlace &place() const { return m_services.place; }
    QThreadPool &pool() { return m_pool; }
    // What was mended since the start, newest last, at most 32.
    const std::vector<std::string> &repairs() const { return m_repairs; }

Q_SIGNALS:
    void becameIdle();

private:
    void handleChanged();
    void sweep();

    QThreadPool m_pool;
    SessionServices m_services;
    struct Entry {
        std::unique_ptr<Session> session;
        bool wasIdle = false;     // at the sweep before
        bool isAbandoned = false; // temp, and its connection is gone
    };
    std::map<SessionKey, Entry> m_sessions;
    std::vector<std::string> m_repairs;
    QTimer m_sweep; // runs while there is a session
    QTimer m_soon;  // a change is looked at from a turn of its own
    bool m_isShuttingDown = false;
};

} // namespace cortexfs::sessions
