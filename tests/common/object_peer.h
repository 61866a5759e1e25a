// The other end of an object's socket, in the hands of the test: nothing happens on its own.
#pragma once

#include "common/base/unique_fd.h"
#include "common/base/unix_address.h"

#include <string>
#include <string_view>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace cortexfs::test {

class ObjectPeer {
public:
    explicit ObjectPeer(std::string path) : m_path(std::move(path)) { listen(); }

    bool listen()
    {
        ::unlink(m_path.c_str());
        const Result<UnixAddress> address = unixAddress(m_path);
        m_listener = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        return address && ::bind(m_listener.get(), address->get(), UnixAddress::size()) == 0
               && ::listen(m_listener.get(), 8) == 0;
    }
    // The socket stays in the directory, as after a kill -9.
    void stopListening() { m_listener.reset(); }
    // False when nobody has connected. One client at a time: true again until hangUp().
    bool accept()
    {
        if (m_client.isValid())
            return true;
        pollfd wanted = {m_listener.get(), POLLIN, 0};
        if (::poll(&wanted, 1, 0) != 1)
            return false;
        m_client = UniqueFd(::accept4(m_listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
        m_buffer.clear();
        return m_client.isValid();
    }
    void hangUp() { m_client.reset(); }
    // The next line that has come, without LF; empty: none yet.
    std::string line()
    {
        for (;;) {
            if (const std::size_t end = m_buffer.find('\n'); end != std::string::npos) {
                std::string line = m_buffer.substr(0, end);
                m_buffer.erase(0, end + 1);
                return line;
            }
            char piece[4096];
            const ssize_t count = ::recv(m_client.get(), piece, sizeof piece, MSG_DONTWAIT);
            if (count <= 0)
                return {};
            m_buffer.append(piece, static_cast<std::size_t>(count));
        }
    }
    // Whole lines with '\'' for '"', each with its LF. Little enough for the socket's buffer.
    void say(std::string_view lines)
    {
        std::string text(lines);
        for (char &c : text)
            c = c == '\'' ? '"' : c;
        (void)!::send(m_client.get(), text.data(), text.size(), MSG_NOSIGNAL);
    }

private:
    std::string m_path;
    UniqueFd m_listener;
    UniqueFd m_client;
    std::string m_buffer;
};

} // namespace cortexfs::test
