#include "app/ctx/core/output.h"

#include "common/base/limits.h"

#include <poll.h>
#include <unistd.h>

namespace cortexfs::ctx {

Result<void> writeFully(int fd, std::string_view text)
{
    while (!text.empty()) {
        const ssize_t count = ::write(fd, text.data(), text.size());
        if (count >= 0) {
            text.remove_prefix(static_cast<std::size_t>(count));
        } else if (errno == EAGAIN) { // the descriptor is shared with a program that made it non-blocking
            pollfd entry = {fd, POLLOUT, 0};
            ::poll(&entry, 1, -1);
        } else if (errno != EINTR) {
            return errors::fromErrno(errno, "standard output");
        }
    }
    return {};
}

Result<void> checkReader(short revents)
{
    if ((revents & POLLNVAL) != 0)
        return errors::fromErrno(EBADF, "standard output");
    if ((revents & (POLLERR | POLLHUP)) != 0)
        return errors::fromErrno(EPIPE, "standard output");
    return {};
}

bool Output::wantsColour(int fd, const Environment &environment)
{
    if (environment("NO_COLOR"))
        return false;
    const auto terminal = environment("TERM");
    return terminal && *terminal != "dumb" && ::isatty(fd) == 1;
}

void Output::write(std::string_view text)
{
    if (m_failure != 0)
        return;
    m_buffer += text;
    if (m_buffer.size() >= 64 * limits::kKiB)
        (void)flush();
}

std::string_view Output::begin(Style style) const
{
    if (!m_hasColour)
        return {};
    switch (style) {
    case Style::Plain: return {};
    case Style::Strong: return "\033[1m";
    case Style::Dim: return "\033[2m";
    case Style::Good: return "\033[32m";
    case Style::Warning: return "\033[33m";
    case Style::Bad: return "\033[31m";
    }
    return {};
}

std::string_view Output::reset() const { return m_hasColour ? "\033[0m" : std::string_view(); }

std::string Output::styled(Style style, std::string_view text) const
{
    const std::string_view start = begin(style);
    if (start.empty())
        return std::string(text);
    return std::string(start) + std::string(text) + std::string(reset());
}

Result<void> Output::flush()
{
    if (m_failure == 0 && !m_buffer.empty()) {
        if (const Result<void> written = writeFully(m_fd, m_buffer); !written)
            m_failure = written.error().number();
    }
    m_buffer.clear();
    if (m_failure != 0)
        return errors::fromErrno(m_failure, "standard output");
    return {};
}

} // namespace cortexfs::ctx
