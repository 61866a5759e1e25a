#include "daemon/models/candidate_run.h"

#include "common/base/limits.h"
#include "common/base/logging.h"
#include "daemon/models/http_attempt.h"
#include "daemon/models/run_log.h"
#include "daemon/models/script_attempt.h"

namespace cortexfs::models {

namespace {

// What a reader sees as an answer beginning; role chunks, pings and usage are not.
bool isOutput(const abi::Event &event)
{
    switch (event.type) {
    case abi::EventType::Delta:
    case abi::EventType::ReasoningDelta: return !event.text.empty();
    case abi::EventType::ToolCall: return true;
    default: return false;
    }
}

} // namespace

CandidateRun::CandidateRun(const ModelServices &services, RunRequest request, std::vector<Candidate> candidates)
    : m_services(services), m_request(std::move(request)), m_candidates(std::move(candidates))
{
    m_runTimer.setSingleShot(true);
    connect(&m_runTimer, &QTimer::timeout, this, &CandidateRun::handleRunTimeout);
}

CandidateRun::~CandidateRun()
{
    if (m_attempt)
        m_attempt->cancel();
}

void CandidateRun::start()
{
    if (m_state != State::New)
        return;
    m_state = State::Starting;
    m_startedMs = m_services.clock.monotonicMs();
    QMetaObject::invokeMethod(this, &CandidateRun::begin, Qt::QueuedConnection);
}

void CandidateRun::begin()
{
    m_state = State::Running;
    Q_EMIT eventReady(abi::events::start(m_request.run, m_request.model.text()));
    if (m_cancelled)
        endLater(abi::RunStatus::Cancelled);
    else if (m_candidates.empty())
        end(abi::RunStatus::Error, {}, errors::notFound("no model " + m_request.model.text()));
    else
        beginAttempt();
}

void CandidateRun::beginAttempt()
{
    const Candidate &candidate = m_candidates.front();
    m_report.model = candidate.name();
    const Result<const wire::WireFormat *> format = formatFor(*candidate.entry, m_request.purpose);
    if (!format) {
        end(abi::RunStatus::Error, {}, format.error());
        return;
    }
    const bool isBuiltIn = (*format)->descriptor().isBuiltIn;
    if (!isBuiltIn && !candidate.entry->provider) {
        end(abi::RunStatus::Error, {},
            errors::invalid(candidate.name() + " has no endpoint that driver " + (*format)->descriptor().driver
                            + " could speak to"));
        return;
    }
    m_attempt = makeAttempt(candidate, **format);
    connect(m_attempt.get(), &Attempt::produced, this, &CandidateRun::handleProduced);
    connect(m_attempt.get(), &Attempt::ended, this, &CandidateRun::handleEnded);
    m_runTimer.start(candidate.entry->provider ? candidate.entry->provider->timeouts.runMs : limits::kRunMs);
    m_attempt->setPaused(m_paused);
    m_attempt->start();
}

std::unique_ptr<Attempt> CandidateRun::makeAttempt(const Candidate &candidate, const wire::WireFormat &format)
{
    if (format.descriptor().isBuiltIn)
        return std::make_unique<ScriptAttempt>(candidate.entry->ref.model, m_request.conversation);
    return std::make_unique<HttpAttempt>(m_services, candidate, format, m_request);
}

void CandidateRun::handleProduced(abi::Event event)
{
    if (m_state != State::Running)
        return;
    event.run = m_request.run;
    if (event.type == abi::EventType::Message)
        event.model = m_report.model;
    if (event.type == abi::EventType::Usage)
        m_usage = event.usage;
    if (m_report.firstTokenMs < 0 && isOutput(event))
        m_report.firstTokenMs = m_services.clock.monotonicMs() - m_startedMs;
    Q_EMIT eventReady(event);
}

void CandidateRun::handleEnded(const AttemptOutcome &outcome)
{
    if (m_state != State::Running)
        return;
    if (outcome.failure)
        end(abi::RunStatus::Error, {}, outcome.failure->error);
    else
        end(abi::RunStatus::Ok, outcome.reason, {});
}

void CandidateRun::handleRunTimeout()
{
    if (m_state == State::Running && m_attempt)
        m_attempt->fail(errors::timedOut("the run took longer than " + std::to_string(m_runTimer.interval()) + " ms"));
}

void CandidateRun::cancel()
{
    if (m_cancelled || m_state == State::Over || m_state == State::Ending)
        return;
    m_cancelled = true;
    if (m_attempt)
        m_attempt->cancel();
    // Before begin() there is no start yet; it ends the run itself.
    if (m_state == State::Running)
        endLater(abi::RunStatus::Cancelled);
}

void CandidateRun::setPaused(bool paused)
{
    m_paused = paused;
    if (m_attempt)
        m_attempt->setPaused(paused);
}

// cancel() may be called from a receiver of an event: its done must not overtake that event at the other receivers.
void CandidateRun::endLater(abi::RunStatus status)
{
    m_state = State::Ending;
    QMetaObject::invokeMethod(
        this, [this, status] { end(status, {}, {}); }, Qt::QueuedConnection);
}

void CandidateRun::end(abi::RunStatus status, std::optional<abi::StopReason> reason, const std::optional<Error> &error)
{
    m_state = State::Over;
    m_runTimer.stop();
    takeFacts();
    m_report.totalMs = m_services.clock.monotonicMs() - m_startedMs;
    appendLog(status, error ? error->number() : 0);
    if (error)
        Q_EMIT eventReady(abi::events::error(m_request.run, *error));
    abi::Event done = abi::events::done(m_request.run, status, reason);
    if (status == abi::RunStatus::Ok || m_report.firstTokenMs >= 0)
        done.model = m_report.model;
    Q_EMIT eventReady(done);
    Q_EMIT finished();
}

void CandidateRun::takeFacts()
{
    if (!m_attempt)
        return;
    m_report.transport = m_attempt->facts().transport;
    m_report.slot = m_attempt->facts().slot;
    m_report.rule = m_attempt->facts().rule;
    m_report.httpStatus = m_attempt->facts().httpStatus;
}

void CandidateRun::appendLog(abi::RunStatus status, int errnoNumber)
{
    if (m_candidates.empty())
        return;
    const std::string line = logLine({.wallMs = m_services.clock.wallMs(),
                                      .run = m_request.run,
                                      .status = status,
                                      .usage = m_usage,
                                      .totalMs = m_report.totalMs,
                                      .errnoNumber = errnoNumber});
    const ModelEntry &entry = *m_candidates.front().entry;
    qCDebug(lcModel, "%s %s", entry.ref.text().c_str(), line.c_str());
    if (entry.activity)
        entry.activity->appendLog(line);
}

} // namespace cortexfs::models
