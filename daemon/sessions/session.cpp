#include "daemon/sessions/session.h"

#include "common/base/limits.h"
#include "common/base/logging.h"
#include "daemon/models/run_id.h"
#include "daemon/sessions/session_turn.h"

#include <algorithm>
#include <utility>

namespace cortexfs::sessions {

namespace {

constexpr std::size_t kMostUnstored = limits::kMiB;

} // namespace

Session::Session(const SessionServices &services, SessionKey key, SessionUser user, QObject *parent)
    : QObject(parent), m_services(services), m_key(std::move(key)), m_user(user),
      m_strand(std::make_shared<Strand>(services.pool))
{}

Session::~Session() = default;

bool Session::isIdle() const
{
    return !m_live && m_turns.empty() && m_readers.empty() && m_whenOpen.empty() && m_pendingLookups == 0
           && m_state != State::Opening && m_strand->isIdle(); // a job holds the files, and with them the lock
}

// ---- opening ------------------------------------------------------------------------------------------------------

void Session::whenOpen(OpenMode mode, std::function<void(const Result<void> &)> job)
{
    // Somebody may have removed it while it was loaded: the next request begins a new one.
    if (m_state == State::Open && !m_live && !m_files->isThere())
        closeFiles(errors::stale("the session was removed"));
    if (m_state == State::Open)
        return job({});
    m_whenOpen.push_back({mode, std::move(job)});
    if (m_state == State::Closed)
        load();
}

void Session::load()
{
    m_state = State::Opening;
    const bool mayCreate = std::any_of(m_whenOpen.begin(), m_whenOpen.end(),
                                       [](const Waiting &waiting) { return waiting.mode == OpenMode::Create; });
    m_openMode = mayCreate ? OpenMode::Create : OpenMode::Existing;
    m_strand->run(
        this,
        [place = m_services.place, key = m_key, user = m_user, mode = m_openMode] {
            return SessionFiles::open(place, key, user, mode);
        },
        [this](Result<std::unique_ptr<SessionFiles>> files) { handleLoaded(std::move(files)); });
}

void Session::handleLoaded(Result<std::unique_ptr<SessionFiles>> files)
{
    m_state = State::Closed;
    if (files) {
        m_state = State::Open;
        m_files = std::move(*files);
        const SessionHistory &history = m_files->history();
        m_lastId = history.lastId;
        m_requests = history.requests;
        m_lastState = history.state == "active" ? "idle" : history.state;
        m_storedBytes = m_files->events().size();
        for (const std::string &repair : history.repairs)
            m_services.onRepair(m_key.object + ", session " + m_key.name + ": " + repair);
    }
    const Result<void> outcome = files ? Result<void>() : Result<void>(files.error());
    // A request that may make the session has come while it was looked for.
    const bool isForAll = outcome.isOk() || m_openMode == OpenMode::Create;
    std::vector<Waiting> served;
    for (Waiting &waiting : std::exchange(m_whenOpen, {})) {
        if (isForAll || waiting.mode == OpenMode::Existing)
            served.push_back(std::move(waiting));
        else
            m_whenOpen.push_back(std::move(waiting));
    }
    for (const Waiting &waiting : served)
        waiting.job(outcome);
    if (!m_whenOpen.empty() && m_state == State::Closed)
        load();
    Q_EMIT changed();
}

// Whoever comes next opens them anew, which puts them in order. A reader in the middle of them cannot go on.
void Session::closeFiles(const Error &why)
{
    m_state = State::Closed;
    m_files.reset();
    m_requests.clear();
    m_unstored.clear();
    for (SessionReader *reader : std::vector<SessionReader *>(m_readers))
        reader->fail(why);
}

// ---- requests -----------------------------------------------------------------------------------------------------

void Session::send(const SocketRequest &request, const models::Caller &caller, SessionReader *reader)
{
    Turn turn{request.id, request.input, request.cwd, caller, {}, {reader}};
    whenOpen(OpenMode::Create, [this, turn = std::move(turn)](const Result<void> &opened) {
        if (!opened)
            return refuse(turn, opened.error());
        accept(turn);
    });
}

void Session::accept(Turn turn)
{
    if (joinKnown(turn))
        return;
    const auto known = m_requests.find(requestHash(turn.request));
    if (known == m_requests.end())
        return enqueue(std::move(turn));
    sendRecorded(std::move(turn), known->second);
}

bool Session::joinKnown(const Turn &turn)
{
    const auto isSame = [&](const Turn &other) { return other.request == turn.request; };
    const bool isLive = m_live && isSame(m_live->turn);
    const auto waiting = std::find_if(m_turns.begin(), m_turns.end(), isSame);
    if (!isLive && waiting == m_turns.end())
        return false;
    Turn &first = isLive ? m_live->turn : *waiting;
    if (first.input.contentJson != turn.input.contentJson) {
        refuse(turn, errors::invalid("id: used for another input in this session"));
        return true;
    }
    for (const QPointer<SessionReader> &reader : turn.readers) {
        if (!isLive || !m_live->run)
            first.readers.push_back(reader);
        else if (reader)
            reader->replay(*this, first.run, m_live->startId);
    }
    return true;
}

void Session::sendRecorded(Turn turn, std::uint64_t offset)
{
    ++m_pendingLookups;
    m_strand->run(
        this,
        [files = m_files, offset]() -> Result<std::string> { return files->messages().read(offset, limits::kFrame); },
        [this, turn = std::move(turn)](Result<std::string> block) mutable {
            --m_pendingLookups;
            if (!block)
                return refuse(turn, block.error());
            const std::optional<StoredRequest> stored = readUserLine(block->substr(0, block->find('\n')));
            const std::optional<std::uint64_t> id = stored ? parseEventId(stored->id) : std::nullopt;
            if (!id || stored->request != turn.request) {
                if (!joinKnown(turn))
                    enqueue(std::move(turn));
            } else if (stored->contentJson != turn.input.contentJson) {
                refuse(turn, errors::invalid("id: used for another input in this session"));
            } else {
                for (const QPointer<SessionReader> &reader : turn.readers) {
                    if (reader)
                        reader->replay(*this, stored->run, *id);
                }
            }
            Q_EMIT changed();
        });
}

void Session::enqueue(Turn turn)
{
    if (m_turns.size() >= static_cast<std::size_t>(limits::kWaitingSends))
        return refuse(turn, errors::busy("16 messages wait in this session already"));
    turn.run = models::newRunId();
    m_turns.push_back(std::move(turn));
    if (!m_live)
        startNext();
}

void Session::refuse(const Turn &turn, const Error &error)
{
    for (const QPointer<SessionReader> &reader : turn.readers) {
        if (reader)
            reader->fail(error);
    }
}

void Session::resume(const SocketRequest &request, SessionReader *reader)
{
    whenOpen(OpenMode::Existing,
             [this, after = request.after, reader = QPointer<SessionReader>(reader)](const Result<void> &opened) {
                 if (!reader)
                     return;
                 if (!opened)
                     return reader->fail(opened.error());
                 const std::optional<std::uint64_t> id = after ? parseEventId(*after) : 0;
                 if (!id || *id > m_lastId)
                     return reader->fail(errors::notFound("after: no event of this session"));
                 reader->resume(*this, *id);
             });
}

void Session::cancel(const std::string &id, std::function<void(Result<std::string>)> done)
{
    whenOpen(OpenMode::Existing, [this, id, done = std::move(done)](const Result<void> &opened) {
        if (!opened)
            return done(opened.error());
        if (m_live && (m_live->turn.run == id || m_live->turn.request == id)) {
            done(m_live->turn.run);
            m_live->isCancelled = true;
            if (m_live->run)
                m_live->run->cancel();
            return;
        }
        const auto waiting = std::find_if(m_turns.begin(), m_turns.end(),
                                          [&](const Turn &turn) { return turn.run == id || turn.request == id; });
        if (waiting == m_turns.end())
            return done(errors::notFound("no run with this id is live or waits"));
        const Turn turn = std::move(*waiting);
        m_turns.erase(waiting);
        done(turn.run);
        abi::Event end = abi::events::done(turn.run, abi::RunStatus::Cancelled);
        end.request = turn.request;
        for (const QPointer<SessionReader> &reader : turn.readers) {
            if (!reader)
                continue;
            reader->write(errorLine(turn.request, true, errors::cancelled("cancelled before it began")) + lineOf(end));
            reader->finish();
        }
        Q_EMIT changed();
    });
}

void Session::status(std::function<void(Result<Status>)> done)
{
    whenOpen(OpenMode::Existing, [this, done = std::move(done)](const Result<void> &opened) {
        if (!opened)
            return done(opened.error());
        done(Status{m_live ? "active" : m_lastState, m_live ? m_live->turn.run : std::string(), m_turns.size()});
    });
}

void Session::cancelAll()
{
    for (const Turn &turn : std::exchange(m_turns, {}))
        refuse(turn, errors::cancelled("cancelled before it began"));
    if (!m_live)
        return;
    m_live->isCancelled = true;
    if (m_live->run)
        m_live->run->cancel();
}

// ---- the live run -------------------------------------------------------------------------------------------------

void Session::startNext()
{
    if (m_turns.empty()) {
        Q_EMIT changed();
        return;
    }
    // Open already, unless its files were let go of.
    whenOpen(OpenMode::Create, [this](const Result<void> &opened) {
        if (!opened) {
            for (const Turn &turn : std::exchange(m_turns, {}))
                refuse(turn, opened.error());
        } else if (!m_live && !m_turns.empty()) {
            beginTurn();
        }
    });
}

void Session::beginTurn()
{
    m_live = std::make_unique<Live>();
    m_live->turn = std::move(m_turns.front());
    m_turns.pop_front();
    m_live->startId = ++m_lastId;
    const Turn &turn = m_live->turn;
    const std::int64_t now = m_services.clock.wallMs();
    const std::string line = userLine(eventId(m_live->startId), turn.request, turn.run, turn.input.contentJson, now);
    if (line.size() > limits::kSessionLine) {
        const Turn refused = std::move(m_live->turn);
        m_live.reset();
        refuse(refused, errors::tooLarge("the message does not fit into a line of the history"));
        return startNext();
    }
    const std::size_t budget = historyBudget(m_services.answerer.limit(m_key));
    struct Begun {
        std::vector<models::Message> history;
        std::uint64_t offset = 0;
    };
    m_strand->run(
        this,
        [files = m_files, line, budget, now, cwd = turn.cwd]() -> Result<Begun> {
            Result<std::vector<models::Message>> history = readHistory(files->messages(), budget);
            if (!history)
                return history.error();
            const std::uint64_t offset = files->messages().size();
            if (Result<void> begun = files->beginRun(line, cwd, now); !begun)
                return begun.error();
            return Begun{std::move(*history), offset};
        },
        [this](Result<Begun> begun) {
            if (!begun)
                return startRun(begun.error());
            m_requests[requestHash(m_live->turn.request)] = begun->offset;
            startRun(std::move(begun->history));
        });
}

void Session::startRun(Result<std::vector<models::Message>> history)
{
    if (!history) {
        const Turn turn = std::move(m_live->turn);
        m_live.reset();
        refuse(turn, history.error());
        return startNext();
    }
    models::Conversation conversation;
    conversation.messages = std::move(*history);
    conversation.messages.push_back(std::move(m_live->turn.input.message));
    m_live->run = m_services.answerer.createRun(m_key, m_live->turn.run, std::move(conversation), m_live->turn.caller);
    for (const QPointer<SessionReader> &reader : m_live->turn.readers) {
        if (reader)
            reader->follow(*this, m_live->turn.run);
    }
    connect(m_live->run.get(), &models::ModelRun::eventReady, this, &Session::handleEvent);
    m_live->run->start();
    if (m_live->isCancelled)
        m_live->run->cancel();
}

std::string Session::nextLine(abi::Event event)
{
    event.id = eventId(event.type == abi::EventType::Start ? m_live->startId : ++m_lastId);
    if (event.type == abi::EventType::Start)
        event.request = m_live->turn.request;
    return lineOf(event);
}

void Session::handleEvent(const abi::Event &event)
{
    using Type = abi::EventType;
    if (event.type == Type::Done)
        return commit(event);
    if (m_live->cutBy)
        return;
    const std::string line = nextLine(event);
    if (line.size() > limits::kSessionLine) {
        m_live->cutBy = errors::tooLarge("an event of the run is longer than a frame of 1 MiB");
        return cutRun();
    }
    noteContent(event);
    if (event.type != Type::Delta && event.type != Type::ReasoningDelta)
        store(line);
    broadcast(line, false);
}

// What is kept for later: the text so far for those who come in between, and the answer for the history.
void Session::noteContent(const abi::Event &event)
{
    Live &live = *m_live;
    switch (event.type) {
    case abi::EventType::Delta:
        live.text += event.text;
        live.textId = m_lastId;
        break;
    case abi::EventType::ReasoningDelta:
        live.reasoning += event.text;
        live.reasoningId = m_lastId;
        break;
    case abi::EventType::ReasoningMessage: live.reasoning.clear(); break;
    case abi::EventType::Message:
        live.answer.id = eventId(m_lastId);
        live.answer.model = event.model;
        live.answer.content = event.content;
        live.answer.opaque = event.opaque;
        live.text.clear();
        live.reasoning.clear();
        break;
    case abi::EventType::ToolCall: live.answer.calls.push_back({event.callId, event.name, event.arguments}); break;
    default: break;
    }
}

// From a turn of its own: we are inside a signal of the run.
void Session::cutRun()
{
    if (m_live->run)
        QMetaObject::invokeMethod(
            m_live->run.get(), [run = m_live->run.get()] { run->cancel(); }, Qt::QueuedConnection);
}

void Session::store(const std::string &line)
{
    m_unstored += line;
    if (m_flushing == 0)
        flushEvents();
}

void Session::flushEvents()
{
    m_flushing = m_unstored.size();
    m_strand->run(
        this, [files = m_files, lines = m_unstored]() -> Result<void> { return files->appendEvents(lines); },
        [this](Result<void> stored) {
            const std::size_t count = std::exchange(m_flushing, 0);
            if (stored) {
                m_storedBytes += count;
                m_unstored.erase(0, count);
            } else if (m_live && !m_live->cutBy) {
                m_live->cutBy = stored.error(); // the commit tries once more to write what was not
                cutRun();
            }
            if (m_live && m_live->done)
                return commit(*std::exchange(m_live->done, std::nullopt));
            if (stored && !m_unstored.empty())
                flushEvents();
            updatePaused();
        });
}

void Session::commit(abi::Event done)
{
    if (m_flushing > 0) {
        m_live->done = std::move(done);
        return;
    }
    Live &live = *m_live;
    live.isCommitting = true;
    if (live.cutBy) {
        const std::string line = nextLine(abi::events::error(live.turn.run, *live.cutBy));
        m_unstored += line;
        broadcast(line, false);
        done.status = abi::RunStatus::Error;
        done.reason.reset();
    }
    Answer &answer = live.answer;
    answer.run = live.turn.run;
    if (answer.isEmpty() && !live.text.empty()) {
        // What a user has seen of an answer belongs to the conversation.
        answer.id = eventId(live.textId);
        answer.content = {{"text", live.text}};
        answer.status = abi::runStatusWord(done.status);
        answer.model = done.model;
    }
    if (answer.id.empty())
        answer.id = eventId(m_lastId);
    done.request = live.turn.request;
    const std::string doneLine = nextLine(done);
    SessionFiles::RunEnd end;
    if (!answer.isEmpty())
        end.assistantLine = assistantLine(answer);
    if (end.assistantLine.size() > limits::kSessionLine) {
        answer.opaque.clear();
        end.assistantLine = assistantLine(answer);
    }
    end.eventLines = m_unstored + doneLine;
    end.state = done.status == abi::RunStatus::Ok ? "done" : std::string(abi::runStatusWord(done.status));
    for (const abi::ContentPart &part : answer.content)
        end.latest += part.text;
    m_lastState = end.state;
    m_strand->run(
        this,
        [files = m_files, end = std::move(end), now = m_services.clock.wallMs()]() -> Result<void> {
            return files->endRun(end, now);
        },
        [this, doneLine](Result<void> outcome) { handleCommitted(outcome, doneLine); });
}

void Session::handleCommitted(const Result<void> &outcome, const std::string &doneLine)
{
    if (outcome) {
        m_storedBytes += m_unstored.size() + doneLine.size();
        m_unstored.clear();
        broadcast(doneLine, true);
        return endLive();
    }
    qCWarning(lcDaemon, "session %s of %s: %s", m_key.name.c_str(), m_key.object.c_str(),
              outcome.error().text().c_str());
    const std::string &run = m_live->turn.run;
    const std::string error = nextLine(abi::events::error(run, outcome.error()));
    broadcast(error, false);
    abi::Event done = abi::events::done(run, abi::RunStatus::Error);
    done.request = m_live->turn.request;
    broadcast(nextLine(done), true);
    closeFiles(outcome.error());
    endLive();
}

void Session::endLive()
{
    m_live->run->disconnect(this);
    m_live->run.release()->deleteLater();
    m_live.reset();
    startNext();
}

void Session::broadcast(std::string_view line, bool isLast)
{
    const std::string &run = m_live->turn.run;
    if (isLast) {
        for (SessionReader *reader : std::vector<SessionReader *>(m_readers))
            reader->deliver(line, run, true); // which ends it
        return;
    }
    bool isClogged = false;
    for (SessionReader *reader : m_readers) {
        reader->deliver(line, run, false);
        isClogged = isClogged || reader->isClogged();
    }
    if (isClogged || m_unstored.size() > kMostUnstored)
        updatePaused();
}

void Session::updatePaused()
{
    if (!m_live || !m_live->run || m_live->isCommitting)
        return;
    const bool isPaused = m_unstored.size() > kMostUnstored
                          || std::any_of(m_readers.begin(), m_readers.end(),
                                         [](const SessionReader *reader) { return reader->isClogged(); });
    if (isPaused == m_live->isPaused)
        return;
    m_live->isPaused = isPaused;
    m_live->run->setPaused(isPaused);
}

} // namespace cortexfs::sessions
