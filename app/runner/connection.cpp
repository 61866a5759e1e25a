#include "app/runner/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace cortexfs::runner {

namespace {
constexpr size_t kChunk = 16 * 1024;
} // namespace

Connection::~Connection()
{
    if (m_fd >= 0)
        ::close(m_fd);
}

bool Connection::open(const char *path)
{
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    const size_t length = strlen(path);
    if (length >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(address.sun_path, path, length);
    m_fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    // Started with a standard descriptor closed, the socket would take its place and events would be written into it.
    if (m_fd >= 0 && m_fd <= STDERR_FILENO) {
        const int above = ::fcntl(m_fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        ::close(m_fd);
        m_fd = above;
    }
    if (m_fd < 0)
        return false;
    // Blocking: a full backlog is waited out. Everything after it is non-blocking by flag.
    return ::connect(m_fd, reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0;
}

void Connection::sendSome()
{
    const ssize_t sent = ::send(m_fd, m_out.data(), m_out.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0)
        m_out.dropFront(static_cast<size_t>(sent));
    else
        m_canSend = errno == EAGAIN || errno == EINTR;
}

bool Connection::receiveSome()
{
    m_in.dropFront(m_given);
    m_scanned -= m_given;
    m_given = 0;
    // All whole lines are out: what is left is the beginning of one.
    if (m_in.size() > kLongestLine)
        return false;
    const ssize_t got = ::recv(m_fd, m_in.room(kChunk), kChunk, MSG_DONTWAIT);
    if (got < 0)
        return errno == EAGAIN || errno == EINTR;
    m_in.grew(static_cast<size_t>(got));
    return got > 0;
}

Text Connection::nextLine()
{
    const void *end = m_in.size() > m_scanned ? memchr(m_in.data() + m_scanned, '\n', m_in.size() - m_scanned)
                                              : nullptr;
    if (!end) {
        m_scanned = m_in.size();
        return {};
    }
    const size_t at = static_cast<size_t>(static_cast<const char *>(end) - m_in.data());
    const Text line = {m_in.data() + m_given, at - m_given};
    m_given = at + 1;
    m_scanned = m_given;
    return line;
}

} // namespace cortexfs::runner
