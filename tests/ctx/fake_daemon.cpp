#include "tests/ctx/fake_daemon.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace cortexfs::ctx::test {

bool Peer::raw(std::string_view bytes)
{
    while (!bytes.empty()) {
        const ssize_t count = ::send(m_fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (count < 0)
            return false;
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
}

void Peer::result(const json::Value &request, std::string_view members)
{
    std::string line = "{\"id\":" + request["id"].toJson() + ",\"type\":\"result\"";
    if (!members.empty())
        line += "," + std::string(members);
    raw(line + "}\n");
}

void Peer::error(const json::Value &request, std::string_view code, std::string_view message)
{
    json::Writer writer;
    writer.beginObject().key("id").value(request["id"]);
    writer.field("type", "error").field("code", code).field("message", message).endObject();
    raw(writer.take() + "\n");
}

bool Peer::event(const json::Value &request, std::string_view eventJson)
{
    return raw("{\"id\":" + request["id"].toJson() + "," + std::string(eventJson.substr(1)) + "\n");
}

void Peer::close() { ::shutdown(m_fd, SHUT_RDWR); }

pid_t Peer::pid() const
{
    ucred credentials = {};
    socklen_t size = sizeof credentials;
    ::getsockopt(m_fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size);
    return credentials.pid;
}

std::optional<json::Document> Peer::next()
{
    for (;;) {
        const std::size_t end = m_buffer.find('\n');
        if (end != std::string::npos) {
            const std::string frame = m_buffer.substr(0, end);
            m_buffer.erase(0, end + 1);
            m_daemon.note(frame);
            Result<json::Document> document = json::parse(frame);
            if (!document)
                return std::nullopt;
            return std::move(*document);
        }
        char piece[65536];
        const ssize_t count = ::recv(m_fd, piece, sizeof piece, 0);
        if (count <= 0)
            return std::nullopt;
        m_buffer.append(piece, static_cast<std::size_t>(count));
    }
}

FakeDaemon::FakeDaemon(const std::string &socketPath)
{
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    if (socketPath.size() >= sizeof address.sun_path)
        std::abort(); // the test's own fault
    std::memcpy(address.sun_path, socketPath.c_str(), socketPath.size() + 1);
    m_listener = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const bool isListening = ::bind(m_listener.get(), reinterpret_cast<sockaddr *>(&address), sizeof address) == 0
                             && ::listen(m_listener.get(), 64) == 0;
    if (!isListening) {
        std::perror(socketPath.c_str());
        std::abort();
    }
    int stop[2];
    if (::pipe2(stop, O_CLOEXEC) != 0)
        std::abort();
    m_stopRead = UniqueFd(stop[0]);
    m_stopWrite = UniqueFd(stop[1]);
    m_acceptor = std::thread([this] { acceptLoop(); });
}

FakeDaemon::~FakeDaemon()
{
    m_stopWrite.reset();
    m_acceptor.join();
    {
        const std::lock_guard lock(m_mutex);
        for (const int fd : m_live)
            ::shutdown(fd, SHUT_RDWR);
    }
    for (std::thread &thread : m_threads)
        thread.join();
}

void FakeDaemon::acceptLoop()
{
    for (;;) {
        pollfd wanted[] = {{m_listener.get(), POLLIN, 0}, {m_stopRead.get(), POLLIN, 0}};
        ::poll(wanted, 2, -1);
        if (wanted[1].revents)
            return;
        UniqueFd fd(::accept4(m_listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!fd.isValid())
            continue;
        {
            const std::lock_guard lock(m_mutex);
            m_live.push_back(fd.get());
        }
        m_threads.emplace_back(
            [this, shared = std::make_shared<UniqueFd>(std::move(fd))] { serve(std::move(*shared)); });
    }
}

void FakeDaemon::serve(UniqueFd fd)
{
    Peer peer(fd.get(), *this);
    while (const auto request = peer.next()) {
        Handler handler;
        {
            const std::lock_guard lock(m_mutex);
            auto found = m_handlers.find(request->root()["op"].stringOr(""));
            if (found == m_handlers.end())
                found = m_handlers.find(kAnyOperation);
            if (found != m_handlers.end())
                handler = found->second;
        }
        if (handler)
            handler(peer, request->root());
        else
            peer.error(request->root(), "EINVAL", "unknown op");
    }
    const std::lock_guard lock(m_mutex);
    std::erase(m_live, fd.get());
}

void FakeDaemon::note(std::string_view frame)
{
    const std::lock_guard lock(m_mutex);
    m_requests.emplace_back(frame);
    m_changed.notify_all();
}

void FakeDaemon::on(const std::string &op, Handler handler)
{
    const std::lock_guard lock(m_mutex);
    m_handlers[op] = std::move(handler);
}

void FakeDaemon::reply(const std::string &op, const std::string &members)
{
    on(op, [members](Peer &peer, const json::Value &request) { peer.result(request, members); });
}

void FakeDaemon::fail(const std::string &op, const std::string &code, const std::string &message)
{
    on(op, [code, message](Peer &peer, const json::Value &request) { peer.error(request, code, message); });
}

std::vector<std::string> FakeDaemon::requests() const
{
    const std::lock_guard lock(m_mutex);
    return m_requests;
}

bool FakeDaemon::waitForRequest(std::string_view part)
{
    std::unique_lock lock(m_mutex);
    return m_changed.wait_for(lock, std::chrono::seconds(5), [&] {
        return std::any_of(m_requests.begin(), m_requests.end(),
                           [&](const std::string &frame) { return frame.find(part) != std::string::npos; });
    });
}

std::string FakeDaemon::request(std::string_view op) const
{
    const std::string wanted = "{\"op\":\"" + std::string(op) + "\"";
    for (const std::string &frame : requests()) {
        if (frame.starts_with(wanted))
            return frame;
    }
    return {};
}

} // namespace cortexfs::ctx::test
