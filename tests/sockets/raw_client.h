// The other end of a unix socket, byte by byte. Non-blocking, so that one thread can be both ends.
#pragma once

#include "common/base/unique_fd.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace cortexfs::test {

class RawClient {
public:
    RawClient() = default;
    explicit RawClient(UniqueFd fd) : m_fd(std::move(fd)) { makeNonBlocking(); }
    explicit RawClient(const std::string &path) { connectTo(path); }

    // 0 or the errno of connect(2).
    int connectTo(const std::string &path)
    {
        m_fd = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_un address = {};
        address.sun_family = AF_UNIX;
        path.copy(address.sun_path, sizeof address.sun_path);
        const int rc = ::connect(
            m_fd.get(), reinterpret_cast<const sockaddr *>(&address),
            static_cast<socklen_t>(std::min(sizeof address, offsetof(sockaddr_un, sun_path) + path.size() + 1)));
        const int number = rc == 0 ? 0 : errno;
        if (rc != 0)
            m_fd.reset();
        else
            makeNonBlocking();
        return number;
    }

    bool isConnected() const { return m_fd.isValid(); }
    int fd() const { return m_fd.get(); }

    // As much as the kernel takes now.
    std::size_t offer(std::string_view bytes)
    {
        std::size_t sent = 0;
        while (sent < bytes.size()) {
            const ssize_t count = ::send(m_fd.get(), bytes.data() + sent, bytes.size() - sent,
                                         MSG_NOSIGNAL | MSG_DONTWAIT);
            if (count <= 0)
                break;
            sent += static_cast<std::size_t>(count);
        }
        return sent;
    }
    bool send(std::string_view bytes) { return offer(bytes) == bytes.size(); }

    // Takes what is there, at most `most` bytes.
    void pump(std::size_t most = std::string::npos)
    {
        char buffer[65536];
        while (most > 0 && m_fd.isValid()) {
            const ssize_t got = ::recv(m_fd.get(), buffer, std::min(sizeof buffer, most), MSG_DONTWAIT);
            if (got > 0) {
                m_received.append(buffer, static_cast<std::size_t>(got));
                most -= static_cast<std::size_t>(got);
                continue;
            }
            m_isAtEnd = m_isAtEnd || got == 0 || (errno != EAGAIN && errno != EINTR);
            return;
        }
    }
    const std::string &received()
    {
        pump();
        return m_received;
    }
    std::string take()
    {
        pump();
        return std::exchange(m_received, {});
    }
    // The peer closed.
    bool isAtEnd()
    {
        pump();
        return m_isAtEnd;
    }

    void halfClose() { ::shutdown(m_fd.get(), SHUT_WR); }
    void close() { m_fd.reset(); }

private:
    void makeNonBlocking() { ::fcntl(m_fd.get(), F_SETFL, ::fcntl(m_fd.get(), F_GETFL) | O_NONBLOCK); }

    UniqueFd m_fd;
    std::string m_received;
    bool m_isAtEnd = false;
};

} // namespace cortexfs::test
