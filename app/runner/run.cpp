#include "app/runner/run.h"

#include "app/runner/errno_table.h"
#include "app/runner/frame_text.h"
#include "app/runner/reply.h"
#include "app/runner/request.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace cortexfs::runner {

namespace {

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
        ::_exit(kExitSignalled + number); // the second one does not ask
}

// They arrive while we wait and at no other moment, so none is missed between a check and a wait.
void takeSignals(sigset_t &usual)
{
    struct sigaction action = {};
    action.sa_handler = handleSignal;
    sigset_t ours;
    sigemptyset(&ours);
    constexpr int kNumbers[] = {SIGINT, SIGTERM};
    for (const int number : kNumbers) {
        struct sigaction before = {};
        ::sigaction(number, &action, &before);
        if (before.sa_handler == SIG_IGN)
            ::sigaction(number, &before, nullptr); // a background job of a shell stays deaf
        else
            sigaddset(&ours, number);
    }
    ::sigprocmask(SIG_BLOCK, &ours, &usual);
}

bool readXattr(const char *path, const char *name, char *out, size_t room)
{
    const ssize_t size = ::getxattr(path, name, out, room - 1);
    if (size < 0)
        return false;
    out[size] = 0;
    return true;
}

} // namespace

int Run::execute()
{
    if (!readIdentity() || !connect() || !readInput())
        return leave();
    takeSignals(m_usualSignals);
    m_waitMask = &m_usualSignals;
    sendRequest();
    while (!m_isFinished) {
        prepareInput();
        if (m_connection.wantsToSend())
            m_connection.sendSome();
        // Taken whole, and the next piece is at hand: nothing would wake us.
        const bool hasNext = m_hasMoreInput && (m_input.hasPiece() || m_input.isDone());
        if (hasNext && !m_connection.wantsToSend())
            continue;
        wait();
    }
    return leave();
}

bool Run::readIdentity()
{
    if (readXattr(m_script, kAbiPath, m_object, sizeof m_object)
        && readXattr(m_script, kControlSocket, m_control, sizeof m_control)) {
        m_sequence.setObject(textOf(m_object));
        return true;
    }
    const int number = errno;
    if (number == EACCES || number == EPERM)
        fail("EACCES", textOf(strerror(number)));
    else if (number == ENODATA || number == ENOTSUP)
        fail("EHOSTDOWN", textOf("no runtime stands behind this file: cortexd is not running, or it is a copy"),
             kStartHint);
    else
        fail("EHOSTDOWN", textOf("cortexd is not running"), kStartHint); // the mount went while we started
    return false;
}

bool Run::connect()
{
    if (m_connection.open(m_control))
        return true;
    const int number = errno;
    if (number == ENOENT || number == ECONNREFUSED)
        fail("EHOSTDOWN", textOf("cortexd is not running"), kStartHint);
    else
        fail(number == EACCES ? "EACCES" : "EHOSTDOWN", textOf(strerror(number)));
    return false;
}

// All of a short input, the first piece of a long one.
bool Run::readInput()
{
    if (m_words[0]) {
        if (areUtf8(m_words))
            return true;
        fail("EINVAL", textOf("the arguments are not UTF-8"));
        return false;
    }
    m_isTty = ::isatty(STDIN_FILENO) != 0;
    if (m_isTty)
        return true;
    m_input.setDescriptor(STDIN_FILENO);
    while (m_input.descriptor() >= 0 && m_input.nextPiece().size < Input::kPiece) {
        if (m_input.readSome())
            continue;
        pollfd in = {m_input.descriptor(), POLLIN, 0};
        ::poll(&in, 1, -1);
    }
    if (m_input.isBad())
        failInput();
    return !m_input.isBad();
}

void Run::sendRequest()
{
    char directory[4096];
    bool isBroken = false;
    const bool isKnown = ::getcwd(directory, sizeof directory) != nullptr
                         && wholeUtf8(textOf(directory), isBroken) == strlen(directory);
    ExecRequest request;
    request.object = textOf(m_object);
    request.directory = textOf(isKnown ? directory : "/");
    request.isTty = m_isTty;
    if (m_words[0] && joinedSize(m_words) <= Input::kPiece)
        request.words = m_words;
    else if (m_words[0])
        m_input.setWords(m_words);
    const Text piece = m_input.nextPiece();
    if (!request.words && !m_isTty) {
        request.input = &piece;
        request.hasMoreInput = !m_input.isLast(piece);
        m_hasMoreInput = request.hasMoreInput;
    }
    appendExec(m_connection.outgoing(), request);
    m_input.drop(piece.size);
}

// The next frame of input, once the one before it is out.
void Run::prepareInput()
{
    m_hasMoreInput = m_hasMoreInput && m_connection.canSend();
    if (!m_hasMoreInput || m_connection.wantsToSend())
        return;
    if (m_input.isBad())
        return failInput();
    if (!m_input.hasPiece() && !m_input.isDone())
        return;
    const Text piece = m_input.nextPiece();
    const bool isLast = m_input.isLast(piece);
    appendInput(m_connection.outgoing(), piece, isLast);
    m_input.drop(piece.size);
    m_hasMoreInput = !isLast;
}

void Run::wait()
{
    if (m_isFinished)
        return;
    pollfd fds[3] = {{-1, 0, 0}, {STDOUT_FILENO, 0, 0}, {-1, 0, 0}};
    auto &[socket, out, in] = fds;
    // A reader that does not read stops us from receiving, and by that the daemon and the provider.
    socket.events = static_cast<short>((m_output.isEmpty() ? POLLIN : 0) | (m_connection.wantsToSend() ? POLLOUT : 0));
    // With nothing to wait for, its hang-up would wake us for ever.
    if (socket.events != 0)
        socket.fd = m_connection.descriptor();
    // With nothing to write, it still tells that the reader left.
    out.events = m_output.isEmpty() ? 0 : POLLOUT;
    if (m_hasMoreInput && !m_input.hasPiece()) {
        in.fd = m_input.descriptor();
        in.events = POLLIN;
    }
    if (::ppoll(fds, 3, nullptr, m_waitMask) < 0)
        return cancelIfAsked();
    if (out.revents != 0)
        m_output.handle(out.revents);
    if (m_output.state() != Output::State::Fine) {
        m_isFinished = true;
        return;
    }
    if (in.revents != 0)
        m_input.readSome();
    if ((socket.revents & ~POLLOUT) != 0 && m_output.isEmpty())
        receive();
}

void Run::receive()
{
    const bool isThere = m_connection.receiveSome();
    for (Text line = m_connection.nextLine(); line.data && !m_isFinished; line = m_connection.nextLine())
        takeFrame(line);
    if (!isThere && !m_isFinished)
        fail("ECONNRESET", textOf("cortexd ended the connection"));
    m_output.flushNow();
}

void Run::takeFrame(Text line)
{
    const Reply reply = replyOf(line);
    switch (reply.kind) {
    case Reply::Kind::Event: return m_sequence.take(reply.body, m_output.buffer());
    case Reply::Kind::Result: return takeResult(line);
    case Reply::Kind::Error: return takeError(line);
    case Reply::Kind::Foreign: return;
    }
}

void Run::takeResult(Text line)
{
    if (m_sequence.isOpen())
        return fail("EPROTO", textOf("cortexd ended the run without its last event"));
    finish(numberOf(memberOf(line, "exit"), kExitInternal));
    Buffer text;
    if (appendUnquoted(text, memberOf(line, "usage"))) {
        text.append("\n", 1);
        [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    } else if (appendUnquoted(text, memberOf(line, "diagnostic"))) {
        complain(text.text());
    }
}

void Run::takeError(Text line)
{
    Buffer code;
    Buffer message;
    if (!appendUnquoted(code, memberOf(line, "code")))
        code.append("EPROTO");
    code.append("", 1); // its terminator
    appendUnquoted(message, memberOf(line, "message"));
    fail(code.data(), message.text());
}

void Run::cancelIfAsked()
{
    if (g_signals == 0 || m_cancelledBy != 0)
        return;
    m_cancelledBy = g_lastSignal;
    m_hasMoreInput = false;
    appendCancel(m_connection.outgoing());
    // From here on the next one ends the program wherever it stands.
    ::sigprocmask(SIG_SETMASK, &m_usualSignals, nullptr);
}

void Run::finish(int exitCode)
{
    m_exitCode = exitCode;
    m_isFinished = true;
}

void Run::fail(const char *code, Text message, const char *hint)
{
    m_sequence.fail(code, message, m_output.buffer());
    complain(message, hint);
    finish(exitCodeForName(textOf(code)));
}

void Run::failInput()
{
    switch (m_input.state()) {
    case Input::State::TooLarge: return fail("EMSGSIZE", textOf("the input has more than 16 MiB"));
    case Input::State::NotUtf8: return fail("EINVAL", textOf("the input is not UTF-8"));
    default: return fail("EIO", textOf(strerror(m_input.error())));
    }
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

// What is still to be written is written, however long the reader takes.
int Run::leave()
{
    m_output.flushNow();
    while (!m_output.isEmpty()) {
        pollfd out = {STDOUT_FILENO, POLLOUT, 0};
        if (::ppoll(&out, 1, nullptr, m_waitMask) == 1)
            m_output.handle(out.revents);
        else
            cancelIfAsked();
    }
    if (m_output.state() == Output::State::ReaderLeft)
        return kExitSignalled + SIGPIPE;
    if (m_output.state() == Output::State::Failed) {
        complain(textOf(strerror(m_output.error())));
        return kExitGeneral;
    }
    return m_cancelledBy != 0 ? kExitSignalled + m_cancelledBy : m_exitCode;
}

} // namespace cortexfs::runner
