#include "daemon/sessions/session_registry.h"

#include <algorithm>

namespace cortexfs::sessions {

namespace {

// A session stays open for one to two of these after its last use, so that a conversation does not open its files for
// every message.
constexpr int kSweepMs = 15'000;
// More are not kept for comfort: each has three descriptors.
constexpr std::size_t kMostIdle = 64;
constexpr int kThreads = 4; // they wait for the disk
constexpr std::size_t kMostRepairs = 32;

} // namespace

SessionRegistry::SessionRegistry(SessionPlace place, Answerer answerer, const Clock &clock, QObject *parent)
    : QObject(parent), m_services{std::move(place), std::move(answerer), m_pool, clock,
                                  [this](const std::string &repair) {
                                      if (m_repairs.size() == kMostRepairs)
                                          m_repairs.erase(m_repairs.begin());
                                      m_repairs.push_back(repair);
                                  }}
{
    m_pool.setMaxThreadCount(kThreads);
    m_sweep.setInterval(kSweepMs);
    connect(&m_sweep, &QTimer::timeout, this, &SessionRegistry::sweep);
    m_soon.setSingleShot(true);
    m_soon.setInterval(0);
    connect(&m_soon, &QTimer::timeout, this, &SessionRegistry::handleChanged);
}

SessionRegistry::~SessionRegistry()
{
    m_pool.waitForDone();
    m_sessions.clear();
}

Session &SessionRegistry::session(const SessionKey &key, const SessionUser &user)
{
    const auto found = m_sessions.find(key);
    if (found != m_sessions.end()) {
        found->second.wasIdle = false;
        return *found->second.session;
    }
    auto session = std::make_unique<Session>(m_services, key, user, nullptr);
    connect(session.get(), &Session::changed, this, [this] {
        if (!m_soon.isActive())
            m_soon.start();
    });
    if (!m_sweep.isActive())
        m_sweep.start();
    return *(m_sessions[key] = Entry{std::move(session)}).session;
}

Session *SessionRegistry::find(const SessionKey &key) const
{
    const auto found = m_sessions.find(key);
    return found == m_sessions.end() ? nullptr : found->second.session.get();
}

void SessionRegistry::dropConnection(std::uint64_t connection)
{
    for (auto &[key, entry] : m_sessions) {
        if (key.scope != Scope::Temp || key.connection != connection)
            continue;
        entry.isAbandoned = true;
        entry.session->cancelAll();
    }
    if (!m_soon.isActive())
        m_soon.start();
}

void SessionRegistry::repairUnfinished()
{
    for (const auto &[key, user] : unfinishedSessions(m_services.place))
        session(key, user).open();
}

int SessionRegistry::liveRuns() const
{
    return static_cast<int>(std::count_if(m_sessions.begin(), m_sessions.end(),
                                          [](const auto &entry) { return entry.second.session->hasLiveRun(); }));
}

void SessionRegistry::shutDown()
{
    m_isShuttingDown = true;
    for (const auto &[key, entry] : m_sessions)
        entry.session->cancelAll();
}

void SessionRegistry::handleChanged()
{
    const bool isCrowded = m_sessions.size() > kMostIdle;
    for (auto it = m_sessions.begin(); it != m_sessions.end();) {
        const Entry &entry = it->second;
        // A temp session that nobody uses is kept for its connection.
        const bool isUnwanted = entry.isAbandoned || (isCrowded && it->first.scope != Scope::Temp);
        it = isUnwanted && entry.session->isIdle() ? m_sessions.erase(it) : std::next(it);
    }
    if (m_isShuttingDown && liveRuns() == 0)
        Q_EMIT becameIdle();
}

void SessionRegistry::sweep()
{
    for (auto it = m_sessions.begin(); it != m_sessions.end();) {
        Entry &entry = it->second;
        const bool isIdle = entry.session->isIdle();
        if (isIdle && entry.wasIdle && it->first.scope != Scope::Temp) {
            it = m_sessions.erase(it);
            continue;
        }
        entry.wasIdle = isIdle;
        ++it;
    }
    if (m_sessions.empty())
        m_sweep.stop();
}

} // namespace cortexfs::sessions
