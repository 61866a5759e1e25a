#include "app/ctx/core/follower.h"

#include "app/ctx/core/output.h"
#include "app/ctx/core/process.h"
#include "app/ctx/core/program.h"
#include "app/ctx/core/text.h"
#include "common/base/limits.h"

#include <algorithm>
#include <array>
#include <csignal>

#include <poll.h>
#include <unistd.h>

namespace cortexfs::ctx {

using object::EventType;
using object::LinkNews;
using object::ObjectEvent;
using object::RequestKind;

namespace {

// A pipe that polls writable takes this much without blocking.
constexpr std::size_t kPipePiece = 4096;
constexpr std::size_t kToolText = 160;

bool isOfAssistant(const ObjectEvent &event) { return event.role.empty() || event.role == "assistant"; }

} // namespace

Follower::Follower(Session &session, std::string socket, object::Conversation conversation, Show show)
    : m_session(session), m_link({.path = std::move(socket), .conversation = std::move(conversation)}), m_show(show),
      m_isTerminal(::isatty(STDOUT_FILENO) == 1), m_isWatched(::isatty(STDERR_FILENO) == 1)
{}

Result<void> Follower::follow(RequestKind kind, const std::string &id, std::optional<std::chrono::milliseconds> silence)
{
    m_kind = kind;
    m_id = id;
    m_hasEnded = false;
    m_error.reset();
    if (!m_signals.isValid())
        m_signals = catchSignals({SIGINT, SIGTERM});
    if (!m_signals.isValid())
        return errors::fromErrno(errno, "signalfd");
    Clock::time_point heard = Clock::now();
    while (!isOver()) {
        m_link.setPaused(m_output.size() > limits::kUnsent);
        const std::vector<LinkNews> allNews = m_link.advance();
        for (const LinkNews &news : allNews)
            take(news);
        if (!allNews.empty())
            heard = Clock::now();
        if (isOver())
            break;
        const short socketEvents = static_cast<short>((m_link.wantsRead() ? POLLIN : 0)
                                                      | (m_link.wantsWrite() ? POLLOUT : 0));
        const short outputEvents = m_output.empty() ? 0 : POLLOUT;
        std::array<pollfd, 3> wanted = {pollfd{socketEvents != 0 ? m_link.fd() : -1, socketEvents, 0},
                                        pollfd{m_signals.get(), POLLIN, 0},
                                        pollfd{m_show == Show::Nothing ? -1 : STDOUT_FILENO, outputEvents, 0}};
        int wait = m_link.waitMs();
        if (silence) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(heard + *silence - Clock::now()).count();
            if (left <= 0)
                return errors::timedOut("the object does not answer; cortexd may be stopped or stuck: see its log");
            wait = wait < 0 ? static_cast<int>(left) : std::min(wait, static_cast<int>(left));
        }
        if (::poll(wanted.data(), wanted.size(), wait) < 0 && errno != EINTR)
            return errors::fromErrno(errno, "poll");
        if (wanted[1].revents)
            handleSignal();
        if (wanted[2].revents) {
            const Result<void> written = m_output.empty() ? checkReader(wanted[2].revents) : writePiece();
            if (!written) {
                cancelRun();
                (void)m_link.advance();
                return written;
            }
        }
    }
    if (m_error)
        return explained(*m_error);
    return {};
}

Result<int> Follower::ended(const Result<void> &followed) const
{
    if (!followed && followed.error().number() == EPIPE)
        return followed.error();
    if (signalExit() != 0)
        return signalExit();
    if (!followed)
        return followed.error();
    return kExitOk;
}

bool Follower::isOver() const { return m_hasEnded && m_output.empty(); }

void Follower::take(const LinkNews &news)
{
    switch (news.kind) {
    case LinkNews::Kind::Connected: m_wasConnected = true; break;
    case LinkNews::Kind::Lost:
        if (m_isWatched && !m_link.isIdle())
            printError("the connection is lost; trying to find it again (" + std::string(news.error->name()) + ")");
        break;
    case LinkNews::Kind::Event: show(news.event); break;
    case LinkNews::Kind::Ended:
        if (news.request != m_kind || news.id != m_id)
            break;
        m_hasEnded = true;
        m_error = news.error;
        if (m_show == Show::Text)
            endLine();
        break;
    }
}

void Follower::show(const ObjectEvent &event)
{
    if (!event.run.empty())
        m_run = event.run;
    if (event.run.empty() || event.type == EventType::Accepted || event.type == EventType::Status)
        m_reply = event;
    if (m_show == Show::Lines) {
        m_output += m_isTerminal ? escapedLines(event.line) : event.line;
        m_output += '\n';
    }
    if (m_show != Show::Text)
        return;
    const bool isText = event.type == EventType::Delta || (event.type == EventType::Message && isOfAssistant(event));
    if (isText && !event.appended.empty()) {
        m_output += m_isTerminal ? escapedLines(event.appended) : event.appended;
        m_isInLine = !event.appended.ends_with('\n');
    }
    if (event.type == EventType::Message)
        endLine();
    if (!m_isWatched)
        return;
    if (event.type == EventType::Error && event.isRecoverable)
        printError(event.error().text() + " (" + std::string(errnoName(event.code)) + "); trying again");
    if (event.type == EventType::ToolCall) {
        const std::string text = "tool " + event.name + " " + event.arguments;
        printError(json::toValidUtf8(std::string_view(text).substr(0, kToolText)));
    }
}

void Follower::endLine()
{
    if (m_isInLine)
        m_output += '\n';
    m_isInLine = false;
}

// In pieces that cannot block, so that an interrupt is noticed while a slow reader keeps us waiting.
Result<void> Follower::writePiece()
{
    const std::string_view piece = std::string_view(m_output).substr(0, kPipePiece);
    const Result<void> written = writeFully(STDOUT_FILENO, piece);
    m_output.erase(0, piece.size());
    return written;
}

// The first signal asks for the end of the run, which is waited for; the second one ends the program.
void Follower::handleSignal()
{
    const int signal = takeSignal(m_signals);
    if (signal == 0)
        return;
    const bool canCancel = m_wasConnected
                           && (m_kind == RequestKind::Send || (m_kind == RequestKind::Resume && !m_run.empty()));
    if (m_signal != 0 || !canCancel)
        ::_exit(128 + signal);
    m_signal = signal;
    cancelRun();
}

void Follower::cancelRun()
{
    if (m_kind == RequestKind::Send)
        m_link.cancel(m_id);
    else if (m_kind == RequestKind::Resume && !m_run.empty())
        m_link.cancel(m_run);
}

// A socket without a program behind it is, nearly always, a daemon that is not running.
Error Follower::explained(const Error &error) const
{
    if (m_wasConnected || (error.number() != ECONNREFUSED && error.number() != ENOENT))
        return error;
    const Result<control::Client> daemon = m_session.connect();
    return daemon ? error : daemon.error();
}

} // namespace cortexfs::ctx
