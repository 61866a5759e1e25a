// A conversation by hand: a prompt, the answer as it comes, a prompt again. Commands begin with a slash.
#pragma once

#include "app/ctx/core/follower.h"
#include "app/ctx/core/input_history.h"
#include "app/ctx/core/line_editor.h"
#include "app/ctx/core/session.h"
#include "common/object_client/object_request.h"

#include <memory>
#include <string>
#include <string_view>

namespace cortexfs::ctx::chat_command {

class Dialogue {
public:
    Dialogue(Session &session, std::string object, std::string socket, object::Conversation conversation);

    // Until the user leaves: 0, or 128 + N after a signal (130 for Ctrl-C at the prompt). An object that does not answer at
    // the beginning is an error; later ones are told and the prompt comes again.
    Result<int> run();

private:
    void begin();
    Result<void> say(const std::string &message);
    // False: leave.
    bool obey(std::string_view line);
    void showHistory();
    void startAnew(std::string_view name);
    void note(std::string_view text);

    Session &m_session;
    const std::string m_object;
    const std::string m_socket;
    object::Conversation m_conversation;
    InputHistory m_history;
    UniqueFd m_signals;
    std::unique_ptr<Follower> m_follower; // of the current conversation
    int m_signal = 0;
};

} // namespace cortexfs::ctx::chat_command
