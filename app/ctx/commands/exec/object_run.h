// One execution of an object over the control socket: standard input to the daemon, its events to standard output as
// JSONL, SIGINT and SIGTERM to a cancel. The same behaviour as executing the object's file.
#pragma once

#include "app/ctx/core/session.h"
#include "common/base/unique_fd.h"
#include "common/control_client/client.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cortexfs::ctx::exec_command {

class ObjectRun {
public:
    ObjectRun(Session &session, std::string object, std::span<const std::string_view> arguments)
        : m_session(session), m_object(std::move(object)), m_arguments(arguments)
    {}

    // Until the daemon's result. The exit code of the object ABI; 128 + signal after a SIGINT or SIGTERM. A diagnostic of
    // the daemon is printed. Whatever goes wrong, standard output carries the whole sequence start ... error, done, as it
    // does when the file is executed; the Error is for the one line on stderr.
    // EPIPE: nobody reads standard output any more, the run was cancelled.
    Result<int> run();

private:
    Result<int> execute();
    Result<void> sendRequest();
    Result<int> follow();
    Result<void> forwardInput();
    Result<void> sendInput(std::string_view text, bool isLast);
    // Takes the frames that are there; true once the result came.
    Result<bool> takeFrames();
    Result<void> writeOut();
    Result<void> handleSignal();
    Result<void> cancel();
    void appendEvent(std::string_view frame, const json::Value &event);
    int finish(const json::Value &result);
    // What the stream lacks for being whole.
    void closeStream(const Error &error);
    control::Connection &connection() { return m_client->connection(); }

    Session &m_session;
    std::string m_object; // "model/debug/echo"
    std::span<const std::string_view> m_arguments;
    std::optional<control::Client> m_client;
    UniqueFd m_signals;
    std::string m_id;
    std::string m_prefix;  // {"id":"c1",
    std::string m_run;     // of the start event
    std::string m_output;  // lines not yet written
    std::string m_partial; // the begun character at the end of the last piece of input
    bool m_isInputOpen = false;
    bool m_hasStarted = false;
    bool m_isDone = false;
    int m_signal = 0; // the first one
    int m_exit = 0;
};

} // namespace cortexfs::ctx::exec_command
