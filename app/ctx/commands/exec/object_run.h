// One execution of an object over the control socket: standard input to the daemon, its events to standard output as
// JSONL, SIGINT to a cancel. The same behaviour as executing the object's file.
#pragma once

#include "common/base/unique_fd.h"
#include "common/control_client/client.h"

#include <span>
#include <string>
#include <string_view>

namespace cortexfs::ctx::exec_command {

class ObjectRun {
public:
    explicit ObjectRun(control::Client client) : m_client(std::move(client)) {}

    // Until the daemon's result. The exit code of the object ABI; 130 after a second SIGINT. A diagnostic of the daemon
    // is printed. Errors: those of the connection before the first event; afterwards they are written as events too.
    // EPIPE: nobody reads standard output any more, the run was cancelled.
    Result<int> run(std::string_view object, std::span<const std::string_view> arguments);

private:
    Result<void> sendRequest(std::string_view object, std::span<const std::string_view> arguments);
    Result<int> follow();
    Result<void> forwardInput();
    Result<void> sendInput(std::string_view text, bool isLast);
    // Takes the frames that are there; true once the result came.
    Result<bool> takeFrames();
    Result<void> writeOut();
    Result<void> handleInterrupt();
    Result<void> cancel();
    void appendEvent(std::string_view frame, const json::Value &event);
    int finish(const json::Value &result);
    // What the stream lacks after `error` for being whole.
    void closeStream(const Error &error);

    control::Client m_client;
    UniqueFd m_signals;
    std::string m_id;
    std::string m_prefix;  // {"id":"c1",
    std::string m_run;     // of the start event
    std::string m_output;  // lines not yet written
    std::string m_partial; // the begun character at the end of the last piece of input
    bool m_isInputOpen = false;
    bool m_isStreamOpen = false; // start was seen, done was not
    bool m_wasInterrupted = false;
    int m_exit = 0;
};

} // namespace cortexfs::ctx::exec_command
