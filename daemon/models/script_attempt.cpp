#include "daemon/models/script_attempt.h"

namespace cortexfs::models {

namespace {

// A turn is short enough for other runs and long enough to be worth a turn.
constexpr int kEventsPerTurn = 64;
constexpr std::size_t kBytesPerTurn = 16 * 1024;

} // namespace

ScriptAttempt::ScriptAttempt(std::string_view model, const Conversation &conversation) : m_source(model, conversation)
{
    m_facts.transport = "builtin";
    m_timer.setSingleShot(true);
    m_timer.setTimerType(Qt::PreciseTimer);
    connect(&m_timer, &QTimer::timeout, this, &ScriptAttempt::step);
}

void ScriptAttempt::start() { m_timer.start(0); }

void ScriptAttempt::cancel()
{
    m_over = true;
    m_timer.stop();
}

void ScriptAttempt::setPaused(bool paused)
{
    if (m_paused == paused)
        return;
    m_paused = paused;
    // A wait that goes on is left alone; one that ended while we were paused left no timer behind.
    if (!m_paused && !m_over && !m_timer.isActive())
        m_timer.start(0);
}

void ScriptAttempt::fail(const Error &error)
{
    if (!m_over)
        end({{}, wire::failureFor(error)});
}

void ScriptAttempt::step()
{
    std::size_t bytes = 0;
    for (int i = 0; i < kEventsPerTurn && bytes < kBytesPerTurn; ++i) {
        if (m_paused || m_over)
            return;
        wire::debug::ScriptSource::Step next = m_source.next();
        bytes += next.event.text.size();
        if (!take(std::move(next)))
            return;
    }
    if (!m_paused && !m_over)
        m_timer.start(0);
}

bool ScriptAttempt::take(wire::debug::ScriptSource::Step step)
{
    using Kind = wire::debug::ScriptSource::Step::Kind;
    switch (step.kind) {
    case Kind::Emit: Q_EMIT produced(step.event); return true;
    case Kind::Wait: m_timer.start(step.waitMs); return false;
    case Kind::Fail: end({{}, step.failure}); return false;
    case Kind::End: end({step.reason, {}}); return false;
    }
    return false;
}

void ScriptAttempt::end(const AttemptOutcome &outcome)
{
    cancel();
    Q_EMIT ended(outcome);
}

} // namespace cortexfs::models
