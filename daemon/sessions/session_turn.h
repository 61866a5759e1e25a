// What a session knows of a message that waits or is being answered. Private to the session.
#pragma once

#include "daemon/sessions/session.h"

namespace cortexfs::sessions {

inline std::string lineOf(const abi::Event &event)
{
    std::string line;
    event.appendJson(line);
    line += '\n';
    return line;
}

struct Session::Turn {
    std::string request;
    UserInput input;
    std::string cwd;
    models::Caller caller;
    std::string run;
    std::vector<QPointer<SessionReader>> readers;
};

struct Session::Live {
    Turn turn;
    std::uint64_t startId = 0;
    std::unique_ptr<models::ModelRun> run; // once the user's message is stored
    std::string text, reasoning;           // of the message that is being written
    std::uint64_t textId = 0, reasoningId = 0;
    Answer answer;
    std::optional<Error> cutBy; // why we ended it ourselves
    std::optional<abi::Event> done;
    bool isCancelled = false;
    bool isPaused = false;
    bool isCommitting = false;
};

} // namespace cortexfs::sessions
