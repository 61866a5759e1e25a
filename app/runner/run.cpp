#include "app/runner/run.h"

#include "app/runner/errno_table.h"
#include "app/runner/frame_text.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace cortexfs::runner {

namespace {

constexpr char kId[] = "\"1\"";
constexpr char kPrefix[] = "{\"id\":\"1\",";
constexpr char kAbiPath[] = "user.cortexfs.abi_path";
constexpr char kControlSocket[] = "user.cortexfs.control";
constexpr char kStartHint[] = "start it with `cortexd`, or `systemctl start cortexd` on a server";

volatile sig_atomic_t g_signals = 0;
volatile sig_atomic_t g_lastSignal = 0;

void handleSignal(int number)
{
    g_lastSignal = number;
    g_signals = g_signals + 1;
    if (g_signals > 1)
        ::_exit(128 + number); // the second one does not ask
}

bool readXattr(const char *path, const char *name, char *out, size_t room)
{
    const ssize_t size = ::getxattr(path, name, out, room - 1);
    if (size <= 0)
        return false;
    out[size] = 0;
    return true;
}

} // namespace

int Run::execute()
{
    struct sigaction action = {};
    action.sa_handler = handleSignal;
    sigset_t ours = {};
    sigemptyset(&ours);
    const int numbers[] = {SIGINT, SIGTERM};
    for (const int number : numbers) {
        sigaddset(&ours, number);
        ::sigaction(number, &action, nullptr);
    }
    // They arrive while we wait and at no other moment, so none is missed between a check and a wait.
    ::sigprocmask(SIG_BLOCK, &ours, &m_usualSignals);

    if (!readIdentity()) {
        flushAll();
        return m_exitCode;
    }
    chooseInput();
    if (m_input.state() == Input::State::Broken) {
        failHere("EINVAL", textOf("the input is not UTF-8"));
        flushAll();
        return kExitUsage;
    }
    if (!m_connection.open(m_control)) {
        const bool isAbsent = errno == ENOENT || errno == ECONNREFUSED;
        failHere("EHOSTDOWN", textOf(isAbsent ? "cortexd is not running" : strerror(errno)), isAbsent ? kStartHint : nullptr);
        flushAll();
        return kExitUnavailable;
    }
    sendRequest();
    while (!m_isFinished) {
        if (m_connection.wantsToSend() && !m_connection.sendSome()) {
            takeLines();
            if (!m_isFinished)
                failHere("ECONNRESET", textOf("cortexd closed the connection"));
            break;
        }
        wait(m_hasStreamedInput);
    }
    flushAll();
    return m_cancelledBy != 0 ? 128 + m_cancelledBy : m_exitCode;
}

bool Run::readIdentity()
{
    if (readXattr(m_script, kAbiPath, m_object, sizeof m_object)
        && readXattr(m_script, kControlSocket, m_control, sizeof m_control))
        return true;
    const int number = errno;
    if (number == ENOTCONN || number == ECONNABORTED) {
        failHere("EHOSTDOWN", textOf("cortexd is not running"), kStartHint);
    } else if (number == ENODATA || number == ENOTSUP) {
        failHere("EINVAL", textOf("not an object of a CortexFS tree"));
        m_exitCode = kExitUsage;
    } else {
        failHere(number == EACCES ? "EACCES" : "ENOENT", textOf(strerror(number)));
    }
    return false;
}

void Run::chooseInput()
{
    if (m_words[0]) {
        Buffer joined;
        for (char **word = m_words; *word; ++word) {
            if (word != m_words)
                joined.append(" ", 1);
            joined.append(*word);
        }
        m_input.setText(joined.text());
        return;
    }
    m_isTty = ::isatty(STDIN_FILENO) != 0;
    if (m_isTty)
        return;
    m_input.setDescriptor(STDIN_FILENO);
    // Most inputs are short: what one frame holds is read before anything is sent.
    while (m_input.state() == Input::State::Open && m_input.nextPiece().size < Input::kPiece) {
        pollfd in = {STDIN_FILENO, POLLIN, 0};
        if (::ppoll(&in, 1, nullptr, &m_usualSignals) < 0 && g_signals > 0)
            ::_exit(128 + g_lastSignal);
        m_input.readSome();
    }
}

void Run::sendRequest()
{
    Buffer &out = m_connection.outgoing();
    out.append("{\"op\":\"exec\",\"id\":");
    out.append(kId);
    out.append(",\"object\":");
    appendQuoted(out, textOf(m_object));
    char directory[4096];
    bool isBroken = false;
    const bool hasDirectory = ::getcwd(directory, sizeof directory) != nullptr
                              && wholeUtf8(textOf(directory), isBroken) == strlen(directory);
    out.append(",\"cwd\":");
    appendQuoted(out, textOf(hasDirectory ? directory : "/"));
    out.append(m_isTty ? ",\"tty\":true" : ",\"tty\":false");
    const Text piece = m_input.nextPiece();
    const bool isWhole = m_input.state() == Input::State::Ended && m_input.pendingSize() == piece.size;
    if (m_words[0] && isWhole) {
        // As given: the daemon joins them.
        out.append(",\"argv\":[");
        for (char **word = m_words; *word; ++word) {
            if (word != m_words)
                out.append(",", 1);
            appendQuoted(out, textOf(*word));
        }
        out.append("],\"stdin\":null");
        m_input.drop(piece.size);
    } else {
        out.append(",\"argv\":[],\"stdin\":");
        if (m_isTty) {
            out.append("null");
        } else {
            appendQuoted(out, piece);
            m_input.drop(piece.size);
            if (!isWhole) {
                out.append(",\"stdin_open\":true");
                m_hasStreamedInput = true;
            }
        }
    }
    out.append("}\n");
}

// The next frame of input, once the one before it is out.
void Run::sendPieces()
{
    if (!m_hasStreamedInput || m_connection.wantsToSend())
        return;
    if (m_input.state() == Input::State::Broken) {
        failHere("EINVAL", textOf("the input is not UTF-8"));
        m_exitCode = kExitUsage;
        return;
    }
    if (!m_input.hasPiece() && !m_input.isDone())
        return;
    Buffer &out = m_connection.outgoing();
    out.append("{\"op\":\"stdin\",\"id\":");
    out.append(kId);
    out.append(",\"data\":");
    const Text piece = m_input.nextPiece();
    appendQuoted(out, piece);
    m_input.drop(piece.size);
    const bool isLast = m_input.isDone();
    out.append(isLast ? ",\"eof\":true}\n" : ",\"eof\":false}\n");
    if (isLast)
        m_hasStreamedInput = false;
}

void Run::handleSignals()
{
    if (g_signals == 0 || m_cancelledBy != 0)
        return;
    m_cancelledBy = g_lastSignal;
    m_hasStreamedInput = false;
    Buffer &out = m_connection.outgoing();
    out.append("{\"op\":\"cancel\",\"id\":");
    out.append(kId);
    out.append("}\n");
}

void Run::wait(bool wantInput)
{
    pollfd fds[3] = {};
    nfds_t count = 0;
    // A reader that does not read stops us from receiving, and by that the daemon and the provider.
    pollfd &socket = fds[count++];
    socket.fd = m_connection.descriptor();
    socket.events = static_cast<short>((m_output.isEmpty() ? POLLIN : 0) | (m_connection.wantsToSend() ? POLLOUT : 0));
    pollfd *out = nullptr;
    if (!m_output.isEmpty()) {
        out = &fds[count++];
        out->fd = STDOUT_FILENO;
        out->events = POLLOUT;
    }
    pollfd *in = nullptr;
    if (wantInput && m_input.descriptor() >= 0 && !m_input.hasPiece()) {
        in = &fds[count++];
        in->fd = m_input.descriptor();
        in->events = POLLIN;
    }
    if (::ppoll(fds, count, nullptr, &m_usualSignals) < 0) {
        handleSignals();
        return;
    }
    if (out && out->revents != 0)
        m_output.flushSome();
    if (in && in->revents != 0)
        m_input.readSome();
    if ((socket.revents & (POLLIN | POLLHUP | POLLERR)) != 0 && m_output.isEmpty()) {
        const bool isThere = m_connection.receiveSome();
        takeLines();
        if (!isThere && !m_isFinished)
            failHere("ECONNRESET", textOf("cortexd closed the connection"));
        // Most batches fit: written at once instead of after another wait.
        if (!m_output.isEmpty()) {
            pollfd now = {STDOUT_FILENO, POLLOUT, 0};
            if (::poll(&now, 1, 0) == 1)
                m_output.flushSome();
        }
    }
    sendPieces();
}

void Run::takeLines()
{
    for (Text line = m_connection.nextLine(); line.data && !m_isFinished; line = m_connection.nextLine())
        takeFrame(line);
}

void Run::takeFrame(Text line)
{
    if (!line.startsWith(kPrefix))
        return; // not ours: a fault of a frame that never was one of ours
    const size_t skipped = sizeof kPrefix - 1;
    const Text rest = {line.data + skipped, line.size - skipped};
    if (rest.startsWith("\"type\":\"result\""))
        return takeResult(line);
    if (rest.startsWith("\"type\":\"error\"") && !memberOf(line, "run").data) {
        Buffer code;
        Buffer message;
        appendUnquoted(code, memberOf(line, "code"));
        appendUnquoted(message, memberOf(line, "message"));
        code.append("", 1); // the terminator
        failHere(code.data(), message.text());
        m_exitCode = exitCodeForName(textOf(code.data()));
        return;
    }
    if (rest.startsWith("\"type\":\"start\"")) {
        m_hasStarted = true;
        m_run.clear();
        appendUnquoted(m_run, memberOf(line, "run"));
    }
    if (rest.startsWith("\"type\":\"done\""))
        m_isDone = true;
    Buffer &out = m_output.buffer();
    out.append("{", 1);
    out.append(rest);
    out.append("\n", 1);
}

void Run::takeResult(Text frame)
{
    finish(numberOf(memberOf(frame, "exit"), kExitInternal));
    Buffer text;
    if (appendUnquoted(text, memberOf(frame, "usage"))) {
        text.append("\n", 1);
        [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
        return;
    }
    if (appendUnquoted(text, memberOf(frame, "diagnostic")))
        complain(text.text());
}

void Run::failHere(const char *code, Text message, const char *hint)
{
    Buffer &out = m_output.buffer();
    const Text run = m_run.size() > 0 ? m_run.text() : textOf("r0");
    const auto open = [&](const char *type) {
        out.append("{\"type\":\"");
        out.append(type);
        out.append("\",\"run\":");
        appendQuoted(out, run);
    };
    if (!m_hasStarted) {
        open("start");
        out.append(",\"model\":");
        const Text object = textOf(m_object);
        constexpr size_t kClass = sizeof "model/" - 1;
        appendQuoted(out, object.startsWith("model/") ? Text{object.data + kClass, object.size - kClass} : object);
        out.append("}\n");
    }
    if (!m_isDone) {
        open("error");
        out.append(",\"code\":\"");
        out.append(code);
        out.append("\",\"message\":");
        appendQuoted(out, message);
        out.append("}\n");
        open("done");
        out.append(",\"status\":\"error\"}\n");
    }
    complain(message, hint);
    finish(exitCodeForName(textOf(code)));
}

void Run::complain(Text message, const char *hint)
{
    Buffer line;
    const char *slash = strrchr(m_script, '/');
    appendPrintable(line, textOf(slash ? slash + 1 : m_script));
    line.append(": ");
    appendPrintable(line, message);
    if (hint) {
        line.append("; ");
        line.append(hint);
    }
    line.append("\n", 1);
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

void Run::flushAll()
{
    while (!m_output.isEmpty()) {
        pollfd out = {STDOUT_FILENO, POLLOUT, 0};
        ::ppoll(&out, 1, nullptr, &m_usualSignals);
        m_output.flushSome();
    }
}

} // namespace cortexfs::runner
