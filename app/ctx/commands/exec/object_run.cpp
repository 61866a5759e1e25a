#include "app/ctx/commands/exec/object_run.h"

#include "app/ctx/core/output.h"
#include "app/ctx/core/process.h"
#include "app/ctx/core/program.h"
#include "app/ctx/core/text.h"
#include "common/abi/event.h"
#include "common/base/limits.h"

#include <algorithm>
#include <array>
#include <csignal>

#include <poll.h>
#include <unistd.h>

namespace cortexfs::ctx::exec_command {

namespace {

// Escaped as JSON it is at most six times as long, which still fits a frame.
constexpr std::size_t kInputPiece = 128 * limits::kKiB;
// A pipe that polls writable takes this much without blocking.
constexpr std::size_t kPipePiece = 4096;

// Bytes at the end that begin a character without ending it: at most 3.
std::size_t begunCharacter(std::string_view text)
{
    for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
        const auto byte = static_cast<unsigned char>(text[text.size() - back]);
        if ((byte & 0xc0) == 0x80)
            continue;
        const std::size_t length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
        return length > back ? back : 0;
    }
    return 0;
}

} // namespace

Result<int> ObjectRun::run()
{
    Result<int> ended = execute();
    if (!ended && ended.error().number() != EPIPE) {
        closeStream(ended.error());
        if (const Result<void> written = writeFully(STDOUT_FILENO, m_output); !written)
            return written.error();
    }
    return m_signal != 0 ? Result<int>(128 + m_signal) : ended;
}

Result<int> ObjectRun::execute()
{
    m_signals = catchSignals({SIGINT, SIGTERM});
    if (!m_signals.isValid())
        return errors::fromErrno(errno, "signalfd");
    if (!json::isValidUtf8(m_object))
        return errors::invalid("the object's name is not valid UTF-8");
    Result<control::Client> client = m_session.connect();
    if (!client)
        return client.error();
    m_client = std::move(*client);
    if (const Result<void> sent = sendRequest(); !sent)
        return sent.error();
    return follow();
}

Result<void> ObjectRun::sendRequest()
{
    const bool isTerminal = ::isatty(STDIN_FILENO) == 1;
    m_isInputOpen = m_arguments.empty() && !isTerminal;
    m_id = m_client->nextId();
    m_prefix = "{\"id\":\"" + m_id + "\",";
    json::Writer writer;
    writer.beginObject().field("object", m_object).key("argv").beginArray();
    for (const std::string_view argument : m_arguments) {
        if (!json::isValidUtf8(argument))
            return errors::invalid("an argument is not valid UTF-8");
        writer.string(argument);
    }
    writer.endArray();
    if (m_isInputOpen)
        writer.field("stdin", "").field("stdin_open", true);
    else
        writer.key("stdin").null();
    writer.field("cwd", workingDirectory()).field("tty", isTerminal).endObject();
    return m_client->send(control::requestFrame("exec", m_id, membersOf(writer.text())));
}

Result<int> ObjectRun::follow()
{
    for (;;) {
        const Result<bool> isOver = takeFrames();
        if (!isOver)
            return isOver.error();
        if (const Result<void> written = writeOut(); !written) {
            (void)cancel();
            return written.error();
        }
        if (*isOver)
            return m_exit;
        std::array<pollfd, 4> wanted = {pollfd{connection().fd(), POLLIN, 0}, pollfd{m_signals.get(), POLLIN, 0},
                                        pollfd{m_isInputOpen ? STDIN_FILENO : -1, POLLIN, 0},
                                        pollfd{STDOUT_FILENO, 0, 0}};
        if (::poll(wanted.data(), wanted.size(), -1) < 0 && errno != EINTR)
            return errors::fromErrno(errno, "poll");
        if (wanted[1].revents) {
            if (const Result<void> handled = handleSignal(); !handled)
                return handled.error();
        }
        if (const Result<void> reader = checkReader(wanted[3].revents); !reader) {
            (void)cancel();
            return reader.error();
        }
        if (wanted[0].revents) {
            if (const Result<void> read = connection().readAvailable(); !read) {
                // What had come before may be the whole answer.
                const Result<bool> wasAll = takeFrames();
                if (wasAll && *wasAll) {
                    if (const Result<void> written = writeOut(); !written)
                        return written.error();
                    return m_exit;
                }
                return wasAll ? read.error() : wasAll.error();
            }
        } else if (wanted[2].revents) {
            if (const Result<void> forwarded = forwardInput(); !forwarded)
                return forwarded.error();
        }
    }
}

Result<void> ObjectRun::forwardInput()
{
    std::string text = std::move(m_partial);
    const std::size_t kept = text.size();
    text.resize(kept + kInputPiece);
    const ssize_t count = ::read(STDIN_FILENO, text.data() + kept, kInputPiece);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) {
        text.resize(kept);
        m_partial = std::move(text);
        return {};
    }
    text.resize(kept + static_cast<std::size_t>(std::max<ssize_t>(0, count)));
    // A standard input that cannot be read (it is closed, or a directory) is an empty one.
    const bool isLast = count <= 0;
    if (!isLast) {
        const std::size_t begun = begunCharacter(text);
        m_partial = text.substr(text.size() - begun);
        text.resize(text.size() - begun);
    }
    if (!json::isValidUtf8(text)) {
        (void)cancel();
        return errors::invalid("standard input is not valid UTF-8");
    }
    return sendInput(text, isLast);
}

Result<void> ObjectRun::sendInput(std::string_view text, bool isLast)
{
    if (isLast)
        m_isInputOpen = false;
    json::Writer writer;
    writer.beginObject().field("data", text).field("eof", isLast).endObject();
    return m_client->send(control::requestFrame("stdin", m_id, membersOf(writer.text())));
}

Result<bool> ObjectRun::takeFrames()
{
    while (const auto text = connection().takeFrame()) {
        const Result<control::Frame> frame = control::readFrame(*text, m_id);
        if (!frame)
            return frame.error();
        const json::Value root = frame->document.root();
        if (frame->kind == control::FrameKind::Stream)
            appendEvent(*text, root);
        if (frame->kind == control::FrameKind::Result) {
            m_exit = finish(root);
            return true;
        }
    }
    return false;
}

void ObjectRun::appendEvent(std::string_view frame, const json::Value &event)
{
    const std::string_view type = event["type"].stringOr("");
    if (type == "start") {
        m_hasStarted = true;
        m_run = event["run"].stringOr("");
    } else if (type == "done") {
        m_isDone = true;
    }
    if (frame.starts_with(m_prefix)) {
        m_output += '{';
        m_output += frame.substr(m_prefix.size());
    } else {
        json::Writer writer;
        writer.beginObject();
        for (const json::Member &member : event.members()) {
            if (member.key != "id")
                writer.key(member.key).value(member.value);
        }
        writer.endObject();
        m_output += writer.text();
    }
    m_output += '\n';
}

int ObjectRun::finish(const json::Value &result)
{
    if (const std::string_view usage = result["usage"].stringOr(""); !usage.empty())
        (void)writeFully(STDERR_FILENO, escapedLines(usage) + "\n");
    else if (const std::string_view diagnostic = result["diagnostic"].stringOr(""); !diagnostic.empty())
        printError(diagnostic);
    const auto exit = result["exit"].asInt().value_or(kExitInternal);
    return exit >= 0 && exit <= 255 ? static_cast<int>(exit) : kExitInternal;
}

void ObjectRun::closeStream(const Error &error)
{
    if (m_isDone)
        return;
    if (!m_hasStarted) {
        constexpr std::string_view kModels = "model/";
        m_run = "r0"; // no run of the daemon's
        std::string name = json::toValidUtf8(m_object);
        if (name.starts_with(kModels))
            name.erase(0, kModels.size());
        abi::events::start(m_run, std::move(name)).appendJson(m_output);
        m_output += '\n';
    }
    abi::events::error(m_run, makeError(error.number(), json::toValidUtf8(error.text()))).appendJson(m_output);
    m_output += '\n';
    abi::events::done(m_run, m_signal != 0 ? abi::RunStatus::Cancelled : abi::RunStatus::Error).appendJson(m_output);
    m_output += '\n';
}

// In pieces that cannot block, so that an interrupt is noticed while a slow reader keeps us waiting.
Result<void> ObjectRun::writeOut()
{
    std::string_view rest = m_output;
    while (!rest.empty()) {
        std::array<pollfd, 2> wanted = {pollfd{STDOUT_FILENO, POLLOUT, 0}, pollfd{m_signals.get(), POLLIN, 0}};
        if (::poll(wanted.data(), wanted.size(), -1) < 0 && errno != EINTR)
            return errors::fromErrno(errno, "poll");
        if (wanted[1].revents) {
            if (const Result<void> handled = handleSignal(); !handled)
                return handled;
        }
        if (!wanted[0].revents)
            continue;
        const std::string_view piece = rest.substr(0, kPipePiece);
        if (const Result<void> written = writeFully(STDOUT_FILENO, piece); !written)
            return written;
        rest.remove_prefix(piece.size());
    }
    m_output.clear();
    return {};
}

// The first signal asks the daemon to cancel, and its end of the stream is waited for; the second one ends the program,
// in the middle of a line if need be.
Result<void> ObjectRun::handleSignal()
{
    const int signal = takeSignal(m_signals);
    if (signal == 0)
        return {};
    if (m_signal != 0)
        ::_exit(128 + m_signal);
    m_signal = signal;
    m_isInputOpen = false;
    (void)cancel(); // a connection that fails here ends the loop by itself
    return {};
}

Result<void> ObjectRun::cancel() { return m_client->send(control::requestFrame("cancel", m_id, {})); }

} // namespace cortexfs::ctx::exec_command
