// Requests to an object's socket, followed to their end in the foreground: answers to standard output, SIGINT and SIGTERM
// to a cancel, a lost daemon waited for and found again.
#pragma once

#include "app/ctx/core/session.h"
#include "common/base/unique_fd.h"
#include "common/object_client/object_link.h"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace cortexfs::ctx {

enum class Show {
    Text,   // of assistant messages; made harmless on a terminal, as it is in a pipe
    Lines,  // every frame as it came
    Nothing // the caller looks at reply()
};

class Follower {
public:
    // `object` and `socket` as conversingObject() and objectSocket() give them.
    Follower(Session &session, std::string socket, object::Conversation conversation, Show show);

    object::ObjectLink &link() { return m_link; }

    // Until that request is over and its output is written. An error of the request is the result's, one of standard output
    // too (EPIPE: the run was cancelled). With `silence`, ETIMEDOUT when nothing comes for so long.
    Result<void> follow(object::RequestKind kind, const std::string &id,
                        std::optional<std::chrono::milliseconds> silence = std::nullopt);
    // 128 + N after a signal N that ended the run; 0 without one. A second signal leaves at once.
    int signalExit() const { return m_signal == 0 ? 0 : 128 + m_signal; }
    // What follow() gave, as the end of a command: the exit code after a signal; else the error, or 0.
    Result<int> ended(const Result<void> &followed) const;
    // The next follow() waits for a signal of its own.
    void forgetSignal() { m_signal = 0; }
    // The last reply: pong, accepted, status.
    const object::ObjectEvent &reply() const { return m_reply; }

private:
    using Clock = std::chrono::steady_clock;

    void take(const object::LinkNews &news);
    void show(const object::ObjectEvent &event);
    void endLine();
    Result<void> writePiece();
    void handleSignal();
    void cancelRun();
    bool isOver() const;
    Error explained(const Error &error) const;

    Session &m_session;
    object::ObjectLink m_link;
    const Show m_show;
    const bool m_isTerminal; // standard output
    const bool m_isWatched;  // somebody reads stderr as it comes
    UniqueFd m_signals;
    object::RequestKind m_kind = object::RequestKind::Send;
    std::string m_id;  // of the request that is followed
    std::string m_run; // of the last event
    object::ObjectEvent m_reply;
    std::string m_output; // not yet written
    bool m_isInLine = false;
    bool m_hasEnded = false;
    bool m_wasConnected = false;
    std::optional<Error> m_error;
    int m_signal = 0;
};

} // namespace cortexfs::ctx
