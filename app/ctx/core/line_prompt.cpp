#include "app/ctx/core/line_editor.h"

#include "app/ctx/core/process.h"
#include "common/base/limits.h"
#include "common/json/json.h"

#include <array>
#include <csignal>

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace cortexfs::ctx {

namespace {

// Nobody types more than a frame holds.
constexpr std::size_t kMostAhead = limits::kFrame;

} // namespace

RawTerminal::RawTerminal(int in, int out) : m_in(in), m_out(out)
{
    if (::tcgetattr(in, &m_before) != 0)
        return;
    termios raw = m_before;
    raw.c_iflag &= ~static_cast<tcflag_t>(BRKINT | ICRNL | INPCK | ISTRIP | IXON);
    raw.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON | IEXTEN | ISIG);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    m_isRaw = ::tcsetattr(in, TCSADRAIN, &raw) == 0;
    if (m_isRaw)
        (void)writeFully(m_out, "\x1b[?2004h");
}

RawTerminal::~RawTerminal()
{
    if (!m_isRaw)
        return;
    (void)writeFully(m_out, "\x1b[?2004l");
    ::tcsetattr(m_in, TCSADRAIN, &m_before);
}

std::size_t terminalWidth(int fd)
{
    winsize size = {};
    return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

Result<Typed> LinePrompt::read(const std::string &prompt, const std::vector<std::string> &history)
{
    return m_canEdit ? readEdited(prompt, history) : readPlain(prompt);
}

Result<Typed> LinePrompt::readEdited(const std::string &prompt, const std::vector<std::string> &history)
{
    const RawTerminal terminal(STDIN_FILENO, m_out);
    if (!terminal.isRaw())
        return readPlain(prompt);
    LineEditor editor(prompt, history);
    Typed typed;
    for (;;) {
        typed.outcome = editor.feed(m_ahead);
        if (typed.outcome != LineEditor::Outcome::More)
            break;
        if (const Result<void> drawn = writeFully(m_out, editor.draw(terminalWidth(m_out))); !drawn)
            return drawn.error();
        const Result<bool> hasInput = wait(typed.signal);
        if (!hasInput)
            return hasInput.error();
        if (!*hasInput && typed.signal == SIGWINCH)
            continue;
        const bool isOver = *hasInput && !readMore();
        if (*hasInput && !isOver)
            continue;
        typed.outcome = isOver ? LineEditor::Outcome::EndOfInput : LineEditor::Outcome::Interrupted;
        break;
    }
    if (const Result<void> drawn = writeFully(m_out, editor.finish(terminalWidth(m_out))); !drawn)
        return drawn.error();
    typed.text = editor.text();
    return typed;
}

Result<Typed> LinePrompt::readPlain(const std::string &prompt)
{
    if (const Result<void> shown = writeFully(m_out, prompt); !shown)
        return shown.error();
    Typed typed;
    for (;;) {
        if (const std::size_t end = m_ahead.find('\n'); end != std::string::npos) {
            typed.outcome = LineEditor::Outcome::Line;
            typed.text = json::toValidUtf8(m_ahead.substr(0, end));
            m_ahead.erase(0, end + 1);
            return typed;
        }
        const Result<bool> hasInput = wait(typed.signal);
        if (!hasInput)
            return hasInput.error();
        if (*hasInput && !readMore())
            return typed;
        if (!*hasInput && typed.signal != SIGWINCH) {
            typed.outcome = LineEditor::Outcome::Interrupted;
            return typed;
        }
    }
}

Result<bool> LinePrompt::wait(int &signal)
{
    signal = 0;
    for (;;) {
        std::array<pollfd, 2> wanted = {pollfd{STDIN_FILENO, POLLIN, 0}, pollfd{m_signals.get(), POLLIN, 0}};
        if (::poll(wanted.data(), wanted.size(), -1) < 0 && errno != EINTR)
            return errors::fromErrno(errno, "poll");
        if (wanted[1].revents)
            signal = takeSignal(m_signals);
        if (signal != 0)
            return false;
        if (wanted[0].revents)
            return true;
    }
}

bool LinePrompt::readMore()
{
    std::array<char, 4096> piece;
    const ssize_t count = ::read(STDIN_FILENO, piece.data(), piece.size());
    if (count < 0)
        return errno == EINTR || errno == EAGAIN;
    if (m_ahead.size() < kMostAhead)
        m_ahead.append(piece.data(), static_cast<std::size_t>(count));
    return count > 0;
}

} // namespace cortexfs::ctx
