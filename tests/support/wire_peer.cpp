#include "tests/support/wire_peer.h"

#include "tests/support/wire_server.h"

#include <algorithm>
#include <chrono>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace cortexfs::test {

namespace {

using Steady = std::chrono::steady_clock;

bool sameName(std::string_view a, std::string_view b)
{
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

CapturedRequest parseHead(std::string_view head)
{
    CapturedRequest request;
    request.head = head;
    const std::size_t lineEnd = head.find("\r\n");
    const std::string_view line = head.substr(0, lineEnd);
    const std::size_t first = line.find(' ');
    const std::size_t second = line.find(' ', first + 1);
    request.method = line.substr(0, first);
    if (first != std::string_view::npos)
        request.target = line.substr(first + 1, second - first - 1);
    for (std::size_t at = lineEnd + 2; at < head.size();) {
        const std::size_t end = std::min(head.find("\r\n", at), head.size());
        const std::string_view field = head.substr(at, end - at);
        const std::size_t colon = field.find(':');
        if (colon != std::string_view::npos) {
            std::string_view value = field.substr(colon + 1);
            value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
            request.headers.emplace_back(field.substr(0, colon), value);
        }
        at = end + 2;
    }
    return request;
}

} // namespace

std::string CapturedRequest::header(std::string_view name) const
{
    for (const auto &[key, value] : headers) {
        if (sameName(key, name))
            return value;
    }
    return {};
}

bool CapturedRequest::hasHeader(std::string_view name) const
{
    return std::any_of(headers.begin(), headers.end(), [&](const auto &field) { return sameName(field.first, name); });
}

WirePeer::WirePeer(WireServer &server, UniqueFd fd, int stopFd, int index)
    : m_server(server), m_fd(std::move(fd)), m_stopFd(stopFd), m_index(index)
{
    const int on = 1;
    ::setsockopt(m_fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

bool WirePeer::waitReadable(int timeoutMs)
{
    pollfd fds[2] = {{m_fd.get(), POLLIN, 0}, {m_stopFd, POLLIN, 0}};
    return ::poll(fds, 2, timeoutMs) > 0 && fds[1].revents == 0;
}

bool WirePeer::waitWritable(int timeoutMs)
{
    pollfd fds[2] = {{m_fd.get(), POLLOUT, 0}, {m_stopFd, POLLIN, 0}};
    return ::poll(fds, 2, timeoutMs) > 0 && fds[1].revents == 0 && (fds[0].revents & (POLLERR | POLLHUP)) == 0;
}

bool WirePeer::fill()
{
    if (!m_fd.isValid() || !waitReadable(-1))
        return false;
    char chunk[65536];
    const ssize_t got = ::recv(m_fd.get(), chunk, sizeof chunk, 0);
    if (got <= 0) {
        m_server.notePeerClosed();
        return false;
    }
    m_buffer.append(chunk, static_cast<std::size_t>(got));
    return true;
}

std::optional<CapturedRequest> WirePeer::readHead()
{
    std::size_t end = 0;
    while ((end = m_buffer.find("\r\n\r\n")) == std::string::npos) {
        if (!fill())
            return std::nullopt;
    }
    CapturedRequest request = parseHead(std::string_view(m_buffer).substr(0, end + 2));
    request.connection = m_index;
    m_buffer.erase(0, end + 4);
    return request;
}

std::optional<CapturedRequest> WirePeer::readRequest()
{
    std::optional<CapturedRequest> request = readHead();
    if (!request)
        return std::nullopt;
    const std::string length = request->header("Content-Length");
    const std::size_t size = length.empty() ? 0 : std::strtoull(length.c_str(), nullptr, 10);
    while (m_buffer.size() < size) {
        if (!fill())
            return std::nullopt;
    }
    request->body = m_buffer.substr(0, size);
    m_buffer.erase(0, size);
    m_server.capture(*request);
    return request;
}

bool WirePeer::send(std::string_view bytes)
{
    while (!bytes.empty()) {
        if (!m_fd.isValid() || !waitWritable(-1))
            return false;
        const ssize_t sent = ::send(m_fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (sent < 0)
            return false;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

bool WirePeer::sendSplit(std::string_view bytes, std::size_t size)
{
    while (!bytes.empty()) {
        if (!send(bytes.substr(0, size)))
            return false;
        bytes.remove_prefix(std::min(size, bytes.size()));
        // Long enough for the reader to see the piece alone most of the time; no test depends on it.
        pause(0);
    }
    return true;
}

std::size_t WirePeer::offer(std::size_t total, int stallMs, std::string_view pattern)
{
    std::string block;
    while (block.size() < 65536)
        block += pattern;
    std::size_t offered = 0;
    while (offered < total) {
        if (!waitWritable(stallMs))
            break;
        // Whole patterns in order, wherever the last write stopped.
        const std::size_t start = offered % pattern.size();
        const std::size_t size = std::min(block.size() - start, total - offered);
        const ssize_t sent = ::send(m_fd.get(), block.data() + start, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EAGAIN && errno != EINTR)
            break;
        offered += sent > 0 ? static_cast<std::size_t>(sent) : 0;
    }
    return offered;
}

bool WirePeer::waitFor(const std::string &name) { return m_server.waitForSignal(name); }

void WirePeer::pause(int ms)
{
    pollfd stop = {m_stopFd, POLLIN, 0};
    ::poll(&stop, 1, ms);
}

bool WirePeer::waitForClose()
{
    while (m_fd.isValid()) {
        if (!waitReadable(-1))
            return false;
        char chunk[4096];
        if (::recv(m_fd.get(), chunk, sizeof chunk, 0) <= 0) {
            m_server.notePeerClosed();
            return true;
        }
    }
    return false;
}

void WirePeer::shrinkSendBuffer(int bytes) { ::setsockopt(m_fd.get(), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes); }

void WirePeer::halfClose() { ::shutdown(m_fd.get(), SHUT_WR); }

void WirePeer::close() { m_fd.reset(); }

void WirePeer::reset()
{
    const linger now = {1, 0};
    ::setsockopt(m_fd.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
    m_fd.reset();
}

} // namespace cortexfs::test
