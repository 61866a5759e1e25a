#include "common/control_client/connection.h"

#include "common/base/limits.h"
#include "common/base/unix_address.h"

#include <array>

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

namespace cortexfs::control {

namespace {

constexpr int kRetryMs = 5; // while the accept queue is full

Error closedByPeer() { return errors::connectionReset("cortexd closed the connection"); }

Error silence() { return errors::timedOut("cortexd does not answer; it hangs or is very busy: see its log"); }

Error connectError(int number, const std::string &path)
{
    switch (number) {
    case ENOENT:
    case ENOTDIR:
    case ECONNREFUSED:
    case ENOTSOCK:
    case EPROTOTYPE: return errors::hostDown("cortexd is not running").withDetail(path);
    case EACCES:
    case EPERM: return errors::accessDenied("the control socket may not be used by this user").withDetail(path);
    default: return errors::fromErrno(number, path);
    }
}

// Waits for `events`. ETIMEDOUT at the deadline.
Result<short> waitFor(int fd, short events, Deadline deadline)
{
    pollfd entry = {fd, events, 0};
    for (;;) {
        const int ready = ::poll(&entry, 1, deadline.pollTimeout());
        if (ready > 0)
            return entry.revents;
        if (ready == 0)
            return silence();
        if (errno != EINTR)
            return errors::fromErrno(errno, "poll");
        if (deadline.isPast())
            return silence();
    }
}

} // namespace

Result<Connection> Connection::open(const std::string &socketPath, Deadline deadline)
{
    const Result<UnixAddress> address = unixAddress(socketPath);
    if (!address)
        return connectError(address.error().number(), socketPath);
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd.isValid())
        return errors::fromErrno(errno, "socket");
    for (;;) {
        if (::connect(fd.get(), address->get(), UnixAddress::size()) == 0)
            return Connection(std::move(fd));
        if (errno == EINTR)
            continue;
        if (errno != EAGAIN)
            return connectError(errno, socketPath);
        if (deadline.isPast())
            return errors::timedOut("cortexd does not accept connections").withDetail(socketPath);
        ::poll(nullptr, 0, kRetryMs); // a unix socket has no readiness for "the queue has room again"
    }
}

Result<void> Connection::send(std::string_view frame, Deadline deadline)
{
    if (frame.size() + 1 > limits::kFrame)
        return errors::tooLarge("the request is longer than a frame of 1 MiB");
    char newline = '\n';
    std::size_t sent = 0;
    while (sent < frame.size() + 1) {
        const std::string_view rest = frame.substr(std::min(sent, frame.size()));
        std::array<iovec, 2> parts = {iovec{const_cast<char *>(rest.data()), rest.size()}, iovec{&newline, 1}};
        msghdr message = {};
        message.msg_iov = parts.data();
        message.msg_iovlen = parts.size();
        const ssize_t count = ::sendmsg(m_fd.get(), &message, MSG_NOSIGNAL);
        if (count >= 0) {
            sent += static_cast<std::size_t>(count);
            continue;
        }
        if (errno == EINTR)
            continue;
        if (errno == EPIPE || errno == ECONNRESET)
            return closedByPeer();
        if (errno != EAGAIN)
            return errors::fromErrno(errno, "send to cortexd");
        const Result<short> ready = waitFor(m_fd.get(), POLLIN | POLLOUT, deadline);
        if (!ready)
            return ready.error();
        // A peer that answers while we still send must not wait for us while we wait for it.
        if (*ready & POLLIN) {
            if (const Result<void> read = readAvailable(); !read)
                return read;
        }
    }
    return {};
}

Result<void> Connection::readAvailable()
{
    std::array<char, 64 * limits::kKiB> buffer;
    const ssize_t count = ::recv(m_fd.get(), buffer.data(), buffer.size(), 0);
    if (count > 0) {
        m_frames.append(std::string_view(buffer.data(), static_cast<std::size_t>(count)));
        return {};
    }
    if (count == 0 || errno == ECONNRESET)
        return closedByPeer();
    if (errno == EAGAIN || errno == EINTR)
        return {};
    return errors::fromErrno(errno, "read from cortexd");
}

Result<std::string_view> Connection::receive(Deadline deadline)
{
    for (;;) {
        if (const auto frame = m_frames.next())
            return *frame;
        if (m_frames.isOverflowed())
            return errors::tooLarge("cortexd sent a frame of more than 1 MiB");
        if (const Result<short> ready = waitFor(m_fd.get(), POLLIN, deadline); !ready)
            return ready.error();
        if (const Result<void> read = readAvailable(); !read)
            return read.error();
    }
}

} // namespace cortexfs::control
