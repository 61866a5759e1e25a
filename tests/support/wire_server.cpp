#include "tests/support/wire_server.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace cortexfs::test {

namespace {

[[noreturn]] void giveUp(const char *what)
{
    std::perror(what);
    std::abort();
}

} // namespace

WireServer::WireServer(Script script, std::uint16_t port)
    : m_script(std::move(script)), m_listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      m_stop(::eventfd(0, EFD_CLOEXEC))
{
    const int on = 1;
    ::setsockopt(m_listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listen(&address, sizeof address);
    socklen_t length = sizeof address;
    ::getsockname(m_listener.get(), reinterpret_cast<sockaddr *>(&address), &length);
    m_port = ntohs(address.sin_port);
}

WireServer::WireServer(Script script, std::string socketPath)
    : m_script(std::move(script)), m_listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      m_stop(::eventfd(0, EFD_CLOEXEC)), m_socketPath(std::move(socketPath))
{
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    if (m_socketPath.size() >= sizeof address.sun_path)
        giveUp("socket path too long");
    std::memcpy(address.sun_path, m_socketPath.data(), m_socketPath.size());
    listen(&address, sizeof address);
}

void WireServer::listen(const void *address, unsigned length)
{
    if (::bind(m_listener.get(), static_cast<const sockaddr *>(address), length) != 0)
        giveUp("bind");
    if (::listen(m_listener.get(), 1024) != 0)
        giveUp("listen");
    m_acceptor = std::thread([this] { acceptLoop(); });
}

WireServer::~WireServer()
{
    {
        const std::lock_guard lock(m_mutex);
        m_stopping = true;
    }
    m_signalled.notify_all();
    ::eventfd_write(m_stop.get(), 1);
    m_acceptor.join();
    for (auto &[index, thread] : m_threads)
        thread.join();
}

std::string WireServer::url(std::string_view path) const
{
    if (!m_socketPath.empty())
        return "http://localhost" + std::string(path);
    return "http://127.0.0.1:" + std::to_string(m_port) + std::string(path);
}

void WireServer::acceptLoop()
{
    for (int index = 0;; ++index) {
        pollfd fds[2] = {{m_listener.get(), POLLIN, 0}, {m_stop.get(), POLLIN, 0}};
        ::poll(fds, 2, -1);
        if (fds[1].revents != 0)
            return;
        UniqueFd fd(::accept4(m_listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!fd.isValid())
            continue;
        std::vector<int> finished;
        {
            const std::lock_guard lock(m_mutex);
            ++m_accepted;
            m_mostOpen = std::max(m_mostOpen, ++m_open);
            finished.swap(m_finished);
        }
        for (const int done : finished) {
            m_threads[done].join();
            m_threads.erase(done);
        }
        m_threads.emplace(index, std::thread([this, index, raw = fd.release()] { serve(UniqueFd(raw), index); }));
    }
}

void WireServer::serve(UniqueFd fd, int index)
{
    {
        WirePeer peer(*this, std::move(fd), m_stop.get(), index);
        m_script(peer);
    }
    const std::lock_guard lock(m_mutex);
    --m_open;
    m_finished.push_back(index);
}

void WireServer::capture(const CapturedRequest &request)
{
    const std::lock_guard lock(m_mutex);
    m_requests.push_back(request);
}

void WireServer::notePeerClosed()
{
    const std::lock_guard lock(m_mutex);
    ++m_closedByPeer;
}

void WireServer::signal(const std::string &name)
{
    {
        const std::lock_guard lock(m_mutex);
        m_signals[name] = true;
    }
    m_signalled.notify_all();
}

bool WireServer::waitForSignal(const std::string &name)
{
    std::unique_lock lock(m_mutex);
    m_signalled.wait(lock, [&] { return m_stopping || m_signals.count(name) > 0; });
    return m_signals.count(name) > 0;
}

std::vector<CapturedRequest> WireServer::requests() const
{
    const std::lock_guard lock(m_mutex);
    return m_requests;
}

int WireServer::accepted() const
{
    const std::lock_guard lock(m_mutex);
    return m_accepted;
}

int WireServer::openConnections() const
{
    const std::lock_guard lock(m_mutex);
    return m_open;
}

int WireServer::mostOpenConnections() const
{
    const std::lock_guard lock(m_mutex);
    return m_mostOpen;
}

int WireServer::closedByPeer() const
{
    const std::lock_guard lock(m_mutex);
    return m_closedByPeer;
}

} // namespace cortexfs::test
