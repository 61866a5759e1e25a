#include "app/ctx/core/process.h"

#include "common/base/limits.h"
#include "common/json/json.h"

#include <array>
#include <csignal>
#include <cstdlib>

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace cortexfs::ctx {

UniqueFd catchSignals(std::initializer_list<int> signals)
{
    sigset_t set;
    ::sigemptyset(&set);
    for (const int signal : signals)
        ::sigaddset(&set, signal);
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
    return UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

int takeSignal(const UniqueFd &signals)
{
    signalfd_siginfo info = {};
    if (::read(signals.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info))
        return 0;
    return static_cast<int>(info.ssi_signo);
}

std::string workingDirectory()
{
    char *text = ::getcwd(nullptr, 0);
    std::string out = text ? json::toValidUtf8(text) : std::string("/");
    ::free(text);
    return out;
}

Result<std::string> readInput(std::size_t most)
{
    std::string text;
    std::array<char, 64 * limits::kKiB> piece;
    for (;;) {
        const ssize_t count = ::read(STDIN_FILENO, piece.data(), piece.size());
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0 && errno == EAGAIN) {
            pollfd wanted = {STDIN_FILENO, POLLIN, 0};
            ::poll(&wanted, 1, -1);
            continue;
        }
        if (count <= 0)
            return text;
        text.append(piece.data(), static_cast<std::size_t>(count));
        if (text.size() > most)
            return errors::tooLarge("standard input is longer than a frame of 1 MiB");
    }
}

} // namespace cortexfs::ctx
