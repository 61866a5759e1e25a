// An attempt that is answered inside the daemon (debug/echo, debug/script): what the script says, when it says it.
#pragma once

#include "daemon/models/attempt.h"
#include "daemon/models/types/conversation.h"
#include "daemon/providers/wire/debug/script.h"

#include <QTimer>

namespace cortexfs::models {

class ScriptAttempt final : public Attempt {
    Q_OBJECT
public:
    ScriptAttempt(std::string_view model, const Conversation &conversation);

    void start() override;
    void cancel() override;
    void setPaused(bool paused) override;
    void fail(const Error &error) override;

private:
    void step();
    // False when the turn of the event loop is over: the script waits, or has ended.
    bool take(wire::debug::ScriptSource::Step step);
    void end(const AttemptOutcome &outcome);

    wire::debug::ScriptSource m_source;
    QTimer m_timer; // the next turn: at once, or after a wait
    bool m_paused = false;
    bool m_over = false;
};

} // namespace cortexfs::models
