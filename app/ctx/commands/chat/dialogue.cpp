#include "app/ctx/commands/chat/dialogue.h"

#include "app/ctx/core/process.h"
#include "app/ctx/core/program.h"
#include "app/ctx/core/stored_messages.h"
#include "app/ctx/core/text.h"
#include "common/abi/names.h"

#include <array>
#include <csignal>
#include <ctime>

#include <unistd.h>

namespace cortexfs::ctx::chat_command {

namespace {

constexpr std::string_view kHelp = "/help          this list\n"
                                   "/history       what was said in this conversation\n"
                                   "/new [NAME]    another conversation; without a name it gets one by the time\n"
                                   "/quit          leave, as Ctrl-D does\n"
                                   "//TEXT         a message that begins with a slash\n"
                                   "Alt-Enter begins a new line. Ctrl-C cancels an answer, and leaves at the prompt.";

bool canEdit(const Environment &environment)
{
    const auto terminal = environment("TERM");
    return terminal && *terminal != "dumb";
}

std::string nameByTime()
{
    const std::time_t now = std::time(nullptr);
    std::tm parts = {};
    ::localtime_r(&now, &parts);
    std::array<char, 32> text;
    const std::size_t size = std::strftime(text.data(), text.size(), "chat-%Y%m%d-%H%M%S", &parts);
    return std::string(text.data(), size);
}

void tell(const Error &error) { printError(error.text() + " (" + std::string(error.name()) + ")"); }

} // namespace

Dialogue::Dialogue(Session &session, std::string object, std::string socket, object::Conversation conversation)
    : m_session(session), m_object(std::move(object)), m_socket(std::move(socket)),
      m_conversation(std::move(conversation)), m_history(inputHistoryFile(session.environment())),
      m_signals(catchSignals({SIGINT, SIGTERM, SIGWINCH}))
{
    begin();
}

void Dialogue::begin() { m_follower = std::make_unique<Follower>(m_session, m_socket, m_conversation, Show::Text); }

Result<int> Dialogue::run()
{
    if (!m_signals.isValid())
        return errors::fromErrno(errno, "signalfd");
    const std::string ping = m_follower->link().ping();
    const Result<void> answered = m_follower->follow(object::RequestKind::Ping, ping, control::kReplyTime);
    if (!answered)
        return answered.error();
    note(m_object + ", conversation " + m_conversation.session + "; /help lists commands, Ctrl-D leaves");

    LinePrompt prompt(STDOUT_FILENO, m_signals, canEdit(m_session.environment()));
    for (;;) {
        if (const Result<void> flushed = m_session.out().flush(); !flushed)
            return flushed.error();
        const Result<Typed> typed = prompt.read("> ", m_history.lines());
        if (!typed)
            return typed.error();
        if (typed->outcome == LineEditor::Outcome::EndOfInput)
            return kExitOk;
        if (typed->outcome == LineEditor::Outcome::Interrupted)
            return 128 + (typed->signal == 0 ? SIGINT : typed->signal);
        std::string text = typed->text;
        if (text.find_first_not_of(" \t\n") == std::string::npos)
            continue;
        m_history.add(text);
        if (text.starts_with('/') && !text.starts_with("//")) {
            if (!obey(text))
                return kExitOk;
            continue;
        }
        if (text.starts_with("//"))
            text.erase(0, 1);
        if (const Result<void> said = say(text); !said)
            return said.error();
        if (m_signal != 0)
            return 128 + m_signal;
    }
}

Result<void> Dialogue::say(const std::string &message)
{
    object::SendRequest request;
    request.id = object::randomId("chat");
    request.input = message;
    request.cwd = workingDirectory();
    if (const Result<void> sent = m_follower->link().send(request); !sent) {
        tell(sent.error());
        return {};
    }
    const Result<void> ended = m_follower->follow(object::RequestKind::Send, request.id);
    const int exit = m_follower->signalExit();
    m_follower->forgetSignal();
    if (exit == 128 + SIGINT)
        note("cancelled");
    else if (exit != 0)
        m_signal = exit - 128;
    else if (!ended && (ended.error().number() == EPIPE || ended.error().number() == EBADF))
        return ended; // the terminal is gone
    else if (!ended)
        tell(ended.error());
    return {};
}

bool Dialogue::obey(std::string_view line)
{
    const std::size_t space = line.find_first_of(" \t\n");
    const std::string_view word = line.substr(0, space);
    std::string_view rest = space == std::string_view::npos ? std::string_view() : line.substr(space + 1);
    while (!rest.empty() && std::string_view(" \t\n").find(rest.front()) != std::string_view::npos)
        rest.remove_prefix(1);
    while (!rest.empty() && std::string_view(" \t\n").find(rest.back()) != std::string_view::npos)
        rest.remove_suffix(1);
    if (word == "/quit")
        return false;
    if (word == "/help")
        m_session.out().line(kHelp);
    else if (word == "/history")
        showHistory();
    else if (word == "/new")
        startAnew(rest);
    else
        note("no such command: " + std::string(word) + "; /help lists them, // sends a slash");
    return true;
}

void Dialogue::showHistory()
{
    const Result<void> written = writeHistory(m_session, m_object, m_conversation, 0, false);
    if (!written && written.error().number() == ENOENT)
        note("nothing was said in this conversation yet");
    else if (!written)
        tell(written.error());
}

void Dialogue::startAnew(std::string_view name)
{
    const std::string wanted = name.empty() ? nameByTime() : std::string(name);
    if (const Result<void> checked = abi::checkObjectName(wanted); !checked)
        return tell(checked.error());
    m_conversation.session = wanted;
    begin();
    note("conversation " + wanted);
}

void Dialogue::note(std::string_view text)
{
    Output &out = m_session.out();
    out.line(out.styled(Style::Dim, escaped(text)));
}

} // namespace cortexfs::ctx::chat_command
