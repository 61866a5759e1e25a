#include "app/runner/output.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

namespace cortexfs::runner {

void Output::fail(int error)
{
    m_state = error == EPIPE ? State::ReaderLeft : State::Failed;
    m_error = error;
    m_pending.clear();
}

void Output::writeSome(size_t most)
{
    const size_t count = m_pending.size() < most ? m_pending.size() : most;
    const ssize_t written = ::write(STDOUT_FILENO, m_pending.data(), count);
    if (written >= 0)
        m_pending.dropFront(static_cast<size_t>(written));
    else if (errno != EINTR && errno != EAGAIN)
        fail(errno);
}

void Output::flushNow()
{
    while (!isEmpty()) {
        pollfd out = {STDOUT_FILENO, POLLOUT, 0};
        if (::poll(&out, 1, 0) != 1)
            return;
        handle(out.revents);
    }
}

void Output::handle(short revents)
{
    if ((revents & POLLNVAL) != 0)
        fail(EBADF);
    else if ((revents & (POLLERR | POLLHUP)) != 0)
        fail(EPIPE);
    else if ((revents & POLLOUT) != 0 && !isEmpty())
        writeSome(kSafeWrite);
}

} // namespace cortexfs::runner
