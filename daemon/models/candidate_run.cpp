#include "daemon/models/candidate_run.h"

#include "common/base/limits.h"
#include "common/base/logging.h"
#include "common/base/utc_time.h"
#include "daemon/models/http_attempt.h"
#include "daemon/models/run_log.h"
#include "daemon/models/script_attempt.h"

#include <QRandomGenerator>

#include <algorithm>
#include <utility>

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

Error withMore(const Error &error, const std::string &more)
{
    return more.empty() ? error : makeError(error.number(), error.message() + "; " + more, error.detail());
}

} // namespace

CandidateRun::CandidateRun(const ModelServices &services, RunRequest request, std::vector<Candidate> candidates)
    : m_services(services), m_request(std::move(request)), m_chain(std::move(candidates), m_request.isProbe)
{
    m_runTimer.setSingleShot(true);
    connect(&m_runTimer, &QTimer::timeout, this, &CandidateRun::handleRunTimeout);
    m_nextAttempt.setSingleShot(true);
    m_nextAttempt.setTimerType(Qt::PreciseTimer); // a coarse one may come before the time that the server asked for
    connect(&m_nextAttempt, &QTimer::timeout, this, &CandidateRun::beginAttempt);
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
    // A receiver may have cancelled just now, too.
    if (m_state != State::Running)
        return;
    if (m_cancelled)
        return endLater(abi::RunStatus::Cancelled);
    if (m_chain.isEmpty())
        return end(abi::RunStatus::Error, {}, errors::notFound("no model " + m_request.model.text()));
    const auto &provider = m_chain.first().entry->provider;
    m_runTimer.start(provider ? provider->timeouts.runMs : limits::kRunMs);
    moveOn({});
}

void CandidateRun::moveOn(const std::optional<Error> &why)
{
    const std::int64_t nowMs = m_services.clock.wallMs();
    std::vector<PassedOver> passed;
    const Candidate *next = m_chain.next(nowMs, passed);
    if (next && why && !announce(m_candidate->name(), *why))
        return;
    for (const PassedOver &candidate : passed) {
        if (!announce(candidate.model, candidate.why))
            return;
    }
    if (!next)
        return end(abi::RunStatus::Error, {}, errorAtTheEnd(why, nowMs));
    if (why)
        appendLog(*m_candidate, abi::RunStatus::Error, why->number());
    takeCandidate(*next);
}

void CandidateRun::takeCandidate(const Candidate &candidate)
{
    m_candidate = &candidate;
    m_report.model = candidate.name();
    m_retries = 0;
    m_format = 0;
    m_formats.clear();
    Result<std::vector<const wire::WireFormat *>> formats = formatsFor(*candidate.entry, m_request.purpose);
    if (!formats)
        return moveOn(formats.error());
    m_formats = std::move(*formats);
    m_nextAttempt.start(0);
}

void CandidateRun::beginAttempt()
{
    const wire::WireFormat &format = *m_formats.at(m_format);
    if (!isBuiltIn() && !m_candidate->entry->provider)
        return handleFailure(wire::failureFor(errors::unsupported(m_candidate->name() + " has no endpoint that driver "
                                                                  + format.descriptor().driver + " could speak to")));
    m_attempt = makeAttempt(format);
    connect(m_attempt.get(), &Attempt::produced, this, &CandidateRun::handleProduced);
    connect(m_attempt.get(), &Attempt::ended, this, &CandidateRun::handleEnded);
    m_attempt->setPaused(m_paused);
    m_attempt->start();
}

std::unique_ptr<Attempt> CandidateRun::makeAttempt(const wire::WireFormat &format)
{
    if (format.descriptor().isBuiltIn)
        return std::make_unique<ScriptAttempt>(m_candidate->entry->ref.model, m_request.conversation);
    return std::make_unique<HttpAttempt>(m_services, *m_candidate, format, m_request,
                                         limits::kRunBytes - m_receivedBytes);
}

void CandidateRun::dropAttempt()
{
    m_held.clear();
    if (!m_attempt)
        return;
    takeFacts();
    m_receivedBytes = std::min(m_receivedBytes + m_attempt->facts().receivedBytes, limits::kRunBytes);
    m_attempt->disconnect(this);
    m_attempt->cancel();
    m_attempt.release()->deleteLater(); // we may be inside its signal
}

void CandidateRun::handleProduced(abi::Event event)
{
    if (m_state != State::Running)
        return;
    if (!m_hasOutput && !isOutput(event)) {
        m_held.push_back(std::move(event));
        return;
    }
    if (!m_hasOutput) {
        m_hasOutput = true;
        m_report.firstTokenMs = m_services.clock.monotonicMs() - m_startedMs;
        for (abi::Event &held : std::exchange(m_held, {}))
            pass(std::move(held));
    }
    pass(std::move(event));
}

void CandidateRun::pass(abi::Event event)
{
    if (m_state != State::Running)
        return;
    event.run = m_request.run;
    if (event.type == abi::EventType::Message)
        event.model = m_report.model;
    if (event.type == abi::EventType::Usage)
        m_usage = event.usage;
    Q_EMIT eventReady(event);
}

void CandidateRun::handleEnded(const AttemptOutcome &outcome)
{
    if (m_state != State::Running)
        return;
    if (outcome.failure)
        handleFailure(*outcome.failure);
    else
        succeed(outcome.reason.value_or(abi::StopReason::Stop));
}

void CandidateRun::succeed(abi::StopReason reason)
{
    // An answer may be empty.
    for (abi::Event &held : std::exchange(m_held, {}))
        pass(std::move(held));
    if (m_state != State::Running)
        return;
    if (m_candidate->entry->activity)
        m_candidate->entry->activity->endCooldown();
    end(abi::RunStatus::Ok, reason, {});
}

void CandidateRun::handleFailure(const wire::ReplyFailure &failure)
{
    const int httpStatus = m_attempt ? m_attempt->facts().httpStatus : 0;
    dropAttempt();
    if (m_timeout)
        return end(abi::RunStatus::Error, {}, *m_timeout);
    const AttemptHistory history{.retries = m_retries,
                                 .hasOutput = m_hasOutput,
                                 .isBuiltIn = isBuiltIn(),
                                 .isProbe = m_request.isProbe,
                                 .isRunOver = m_receivedBytes >= limits::kRunBytes};
    const NextStep step = nextStep(failure, history, m_services.retry, chance());
    if (step.cooldownMs && m_candidate->entry->activity)
        m_candidate->entry->activity->startCooldown({.untilMs = m_services.clock.wallMs() + *step.cooldownMs,
                                                     .errnoNumber = failure.error.number(),
                                                     .reason = failure.error.text()});
    switch (step.kind) {
    case NextStep::Kind::Retry: return retryLater(failure.error, step.waitMs);
    case NextStep::Kind::Fail: return end(abi::RunStatus::Error, {}, failure.error);
    case NextStep::Kind::MoveOn: break;
    }
    if (isDriverUnsupported(failure.error, httpStatus) && m_format + 1 < m_formats.size())
        return tryNextDriver(failure.error);
    if (failure.error.number() == EMSGSIZE)
        m_chain.requireMoreThan(*m_candidate);
    moveOn(failure.error);
}

void CandidateRun::tryNextDriver(const Error &why)
{
    const std::string driver = m_formats.at(++m_format)->descriptor().driver;
    if (announce(m_candidate->name(), why, "driver " + driver + " is tried"))
        m_nextAttempt.start(0);
}

void CandidateRun::retryLater(const Error &why, std::int64_t waitMs)
{
    ++m_retries;
    if (announce(m_candidate->name(), why, "asked again in " + std::to_string(waitMs) + " ms"))
        m_nextAttempt.start(static_cast<int>(waitMs));
}

bool CandidateRun::announce(const std::string &model, const Error &why, const std::string &what)
{
    abi::Event event = abi::events::error(m_request.run, withMore(why, what));
    event.recoverable = true;
    event.model = model;
    qCDebug(lcModel, "%s %s: %s", m_request.run.c_str(), model.c_str(), event.errorMessage.c_str());
    Q_EMIT eventReady(event);
    return m_state == State::Running;
}

// The failure of the last candidate that was asked, and when it is worth trying again.
Error CandidateRun::errorAtTheEnd(const std::optional<Error> &why, std::int64_t nowMs) const
{
    const std::optional<std::int64_t> earliest = m_chain.earliestEnd(nowMs);
    const std::string when = earliest ? "not to be asked again before " + utcTimestamp(*earliest + 999) : std::string();
    if (why)
        return withMore(*why, when);
    return errors::tryAgain("every model that could answer is in cooldown; " + when);
}

void CandidateRun::handleRunTimeout()
{
    if (m_state != State::Running)
        return;
    m_timeout = errors::timedOut("the run took longer than " + std::to_string(m_runTimer.interval()) + " ms");
    if (m_attempt)
        m_attempt->fail(*m_timeout); // what came already may be the whole answer
    else
        end(abi::RunStatus::Error, {}, m_timeout);
}

void CandidateRun::cancel()
{
    if (m_cancelled || m_state == State::Over || m_state == State::Ending)
        return;
    m_cancelled = true;
    m_nextAttempt.stop();
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

double CandidateRun::chance() const
{
    return m_services.chance ? m_services.chance() : QRandomGenerator::global()->generateDouble();
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
    m_nextAttempt.stop();
    takeFacts();
    m_report.totalMs = m_services.clock.monotonicMs() - m_startedMs;
    // A run that asked nobody shows in the log of the model that was wanted.
    if (!m_chain.isEmpty())
        appendLog(m_candidate ? *m_candidate : m_chain.first(), status, error ? error->number() : 0);
    if (error)
        Q_EMIT eventReady(abi::events::error(m_request.run, *error));
    abi::Event done = abi::events::done(m_request.run, status, reason);
    if (status == abi::RunStatus::Ok || m_hasOutput)
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

void CandidateRun::appendLog(const Candidate &candidate, abi::RunStatus status, int errnoNumber)
{
    const std::string line = logLine({.wallMs = m_services.clock.wallMs(),
                                      .run = m_request.run,
                                      .status = status,
                                      .usage = m_usage,
                                      .totalMs = m_services.clock.monotonicMs() - m_startedMs,
                                      .errnoNumber = errnoNumber});
    qCDebug(lcModel, "%s %s", candidate.name().c_str(), line.c_str());
    if (candidate.entry->activity)
        candidate.entry->activity->appendLog(line);
}

} // namespace cortexfs::models
