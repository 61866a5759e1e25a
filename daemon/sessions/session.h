// One session that somebody uses: its order, its live run, its readers. Lives on the Qt thread; the registry owns it and
// drops it when nobody has used it for a while.
//
// One run at a time, further sends wait in order. The user's message is on the disk before the run starts, the answer and
// done before done is told to anybody. A run goes on without readers, except in a temp session.
#pragma once

#include "common/abi/event.h"
#include "common/base/clock.h"
#include "daemon/models/model_run.h"
#include "daemon/sessions/session_files.h"
#include "daemon/sessions/session_reader.h"
#include "daemon/sessions/socket_request.h"
#include "daemon/sessions/strand.h"

#include <QObject>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cortexfs::sessions {

// What answers a turn: a model, later an agent.
struct Answerer {
    // Of a conversation whose last message is the user's. Never null: what cannot run is a run that ends with its error.
    std::function<std::unique_ptr<models::ModelRun>(const SessionKey &key, std::string run, models::Conversation,
                                                    const models::Caller &caller)>
        createRun;
    // Context limit of the object at this moment.
    std::function<std::optional<std::uint32_t>(const SessionKey &key)> limit;
};

struct SessionServices {
    SessionPlace place;
    Answerer answerer;
    QThreadPool &pool;
    const Clock &clock;
    std::function<void(const std::string &repair)> onRepair; // Qt thread
};

class Session : public QObject {
    Q_OBJECT
public:
    Session(const SessionServices &services, SessionKey key, SessionUser user, QObject *parent);
    ~Session() override;

    const SessionKey &key() const { return m_key; }
    bool isIdle() const;

    // Requests are served in their order once the session is open. A reader is told what goes wrong.
    void send(const SocketRequest &request, const models::Caller &caller, SessionReader *reader);
    void resume(const SocketRequest &request, SessionReader *reader);
    void cancel(const std::string &id, std::function<void(Result<std::string> run)> done);
    struct Status {
        std::string state, run;
        std::size_t waiting = 0;
    };
    void status(std::function<void(Result<Status>)> done);
    // Opens it, so that what a crash left is repaired.
    void open()
    {
        whenOpen(OpenMode::Existing, [](const Result<void> &) {});
    }
    // Ends the live run and drops what waits.
    void cancelAll();

    // For readers.
    struct EventBlock {
        std::string lines; // whole ones
        std::uint64_t next = 0;
    };
    void findEvent(std::uint64_t after, QObject *context, std::function<void(Result<std::uint64_t>)> done);
    void readEvents(std::uint64_t offset, QObject *context, std::function<void(Result<EventBlock>)> done);
    std::uint64_t storedBytes() const { return m_storedBytes; }
    const std::string &unstored() const { return m_unstored; }
    // The reader gets live events from now on; first the text so far as one delta. False when no run is live.
    bool attachLive(SessionReader *reader, std::uint64_t after, const std::string &run);
    std::uint64_t lastId() const { return m_lastId; }
    void attach(SessionReader *reader);
    void detach(SessionReader *reader);
    void updatePaused();

    bool hasLiveRun() const { return m_live != nullptr; }

Q_SIGNALS:
    // It may have become idle.
    void changed();

private:
    struct Turn;
    struct Live;

    void whenOpen(OpenMode mode, std::function<void(const Result<void> &)> job);
    void load();
    void handleLoaded(Result<std::unique_ptr<SessionFiles>> files);
    void accept(Turn turn);
    void sendRecorded(Turn turn, std::uint64_t offset);
    bool joinKnown(const Turn &turn);
    void enqueue(Turn turn);
    void startNext();
    void beginTurn();
    void startRun(Result<std::vector<models::Message>> history);
    void handleEvent(const abi::Event &event);
    void noteContent(const abi::Event &event);
    void cutRun();
    void store(const std::string &line);
    void flushEvents();
    void commit(abi::Event done);
    void handleCommitted(const Result<void> &outcome, const std::string &doneLine);
    void endLive();
    void broadcast(std::string_view line, bool isLast);
    void refuse(const Turn &turn, const Error &error);
    void closeFiles(const Error &why);
    std::string nextLine(abi::Event event);

    const SessionServices &m_services;
    const SessionKey m_key;
    const SessionUser m_user;
    std::shared_ptr<Strand> m_strand;
    std::shared_ptr<SessionFiles> m_files;
    enum class State { Closed, Opening, Open } m_state = State::Closed;
    OpenMode m_openMode = OpenMode::Existing;
    struct Waiting {
        OpenMode mode;
        std::function<void(const Result<void> &)> job;
    };
    std::vector<Waiting> m_whenOpen;

    std::uint64_t m_lastId = 0;
    std::uint64_t m_storedBytes = 0; // of events.jsonl, as far as they are in the file
    std::string m_unstored;          // event lines behind them
    std::size_t m_flushing = 0;      // how much of m_unstored is on its way
    std::unordered_map<std::uint64_t, std::uint64_t> m_requests;
    std::string m_lastState = "idle";
    std::deque<Turn> m_turns; // waiting
    std::unique_ptr<Live> m_live;
    int m_pendingLookups = 0;
    std::vector<SessionReader *> m_readers;
};

} // namespace cortexfs::sessions
