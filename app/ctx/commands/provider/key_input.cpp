#include "app/ctx/commands/provider/key_input.h"

#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/unique_fd.h"
#include "common/json/json.h"

#include <algorithm>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

namespace cortexfs::ctx::provider_command {

namespace {

volatile std::sig_atomic_t g_signal = 0;

void noteSignal(int number) { g_signal = number; }

// No echo while it lives. A signal that would end or stop the program ends the wait for input first, so that the terminal
// is restored in every case.
class QuietTerminal {
public:
    explicit QuietTerminal(int fd) : m_fd(fd)
    {
        struct sigaction action = {};
        action.sa_handler = noteSignal;
        ::sigemptyset(&action.sa_mask);
        sigset_t blocked;
        ::sigemptyset(&blocked);
        for (std::size_t i = 0; i < std::size(kSignals); ++i) {
            ::sigaddset(&blocked, kSignals[i]);
            ::sigaction(kSignals[i], &action, &m_before[i]);
        }
        ::sigprocmask(SIG_BLOCK, &blocked, &m_usualSignals);
        m_isQuiet = ::tcgetattr(fd, &m_saved) == 0;
        if (m_isQuiet) {
            termios quiet = m_saved;
            quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO | ECHONL);
            quiet.c_lflag |= ICANON | ISIG;
            m_isQuiet = ::tcsetattr(fd, TCSAFLUSH, &quiet) == 0;
        }
    }
    ~QuietTerminal()
    {
        if (m_isQuiet)
            ::tcsetattr(m_fd, TCSAFLUSH, &m_saved);
        for (std::size_t i = 0; i < std::size(kSignals); ++i)
            ::sigaction(kSignals[i], &m_before[i], nullptr);
        ::sigprocmask(SIG_SETMASK, &m_usualSignals, nullptr);
    }
    QuietTerminal(const QuietTerminal &) = delete;
    QuietTerminal &operator=(const QuietTerminal &) = delete;

    bool isQuiet() const { return m_isQuiet; }
    // Signals arrive in here and nowhere else, so none is lost between a look and a wait. False when one came.
    bool waitForInput() const
    {
        pollfd entry = {m_fd, POLLIN, 0};
        while (g_signal == 0) {
            if (::ppoll(&entry, 1, nullptr, &m_usualSignals) > 0)
                return true;
        }
        return false;
    }

private:
    static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP};
    int m_fd;
    termios m_saved = {};
    sigset_t m_usualSignals = {};
    struct sigaction m_before[std::size(kSignals)] = {};
    bool m_isQuiet = false;
};

// Reads until the end; from a terminal, one line. The buffer is made once at its largest, so that growing does
// not leave copies of the secret behind.
Result<SecretString> readSecret(int fd, const QuietTerminal *terminal)
{
    std::string text;
    text.reserve(limits::kSecretFile + 1);
    text.resize(limits::kSecretFile + 1);
    std::size_t size = 0;
    int failure = 0;
    while (size < text.size()) {
        if (terminal && !terminal->waitForInput()) {
            failure = EINTR;
            break;
        }
        const ssize_t count = ::read(fd, text.data() + size, text.size() - size);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            failure = errno;
        if (count <= 0)
            break;
        size += static_cast<std::size_t>(count);
        if (terminal && text[size - 1] == '\n')
            break;
    }
    const bool isTooLong = size > limits::kSecretFile;
    text.resize(size); // the capacity stays, and SecretString wipes all of it
    SecretString secret(std::move(text));
    if (failure == EINTR)
        return errors::cancelled("interrupted, nothing was stored");
    if (failure != 0)
        return errors::fromErrno(failure, "reading the key");
    if (isTooLong)
        return errors::tooLarge("a key has at most 64 KiB");
    return secret;
}

Result<SecretString> trimmed(const SecretString &secret)
{
    constexpr std::string_view kBlank = " \t\r\n\v\f";
    std::string_view text = secret.reveal();
    const std::size_t first = text.find_first_not_of(kBlank);
    if (first == std::string_view::npos)
        return errors::invalid("the key is empty, nothing was stored");
    text = text.substr(first, text.find_last_not_of(kBlank) - first + 1);
    const bool hasControl = std::any_of(text.begin(), text.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte < 0x20 || byte == 0x7f;
    });
    if (hasControl)
        return errors::invalid("the key has more than one line or holds a control character, nothing was stored");
    if (!json::isValidUtf8(text))
        return errors::invalid("the key is not text, nothing was stored");
    std::string exact;
    exact.reserve(std::max<std::size_t>(text.size(), 64)); // on the heap, where it is wiped
    exact.append(text);
    return SecretString(std::move(exact));
}

Result<SecretString> readTyped(const std::string &prompt)
{
    const UniqueFd terminal(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY));
    if (!terminal.isValid())
        return errors::fromErrno(errno, "no terminal to ask on, pipe the key in instead: /dev/tty");
    g_signal = 0;
    Result<SecretString> secret = SecretString();
    {
        const QuietTerminal quiet(terminal.get());
        if (!quiet.isQuiet())
            return errors::fromErrno(errno, "the terminal cannot be made silent, pipe the key in instead");
        if (const Result<void> asked = files::writeAll(terminal.get(), prompt); !asked)
            return asked.error();
        secret = readSecret(terminal.get(), &quiet);
    }
    (void)files::writeAll(terminal.get(), "\n"); // the typed one was not shown
    return secret;
}

} // namespace

Result<SecretString> readKey(const std::string &prompt)
{
    Result<SecretString> secret = ::isatty(STDIN_FILENO) == 1 ? readTyped(prompt) : readSecret(STDIN_FILENO, nullptr);
    if (!secret)
        return secret;
    return trimmed(*secret);
}

} // namespace cortexfs::ctx::provider_command
