// One connection of a WireServer, as its script sees it: blocking calls on bytes. Every wait ends when the server stops.
#pragma once

#include "common/base/unique_fd.h"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cortexfs::test {

struct CapturedRequest {
    int connection = 0; // 0 is the first that was accepted
    std::string method;
    std::string target;
    std::vector<std::pair<std::string, std::string>> headers;
    std::string body;
    std::string head; // the bytes as they came

    // The first of that name, any case; empty when there is none.
    std::string header(std::string_view name) const;
    bool hasHeader(std::string_view name) const;
};

class WireServer;

class WirePeer {
public:
    WirePeer(WireServer &server, UniqueFd fd, int stopFd, int index);

    int index() const { return m_index; }
    // Head, then a Content-Length body. Nothing when the peer is gone before a whole request.
    std::optional<CapturedRequest> readRequest();
    // Reads the head alone; the body stays unread.
    std::optional<CapturedRequest> readHead();

    // False when the peer does not take it any more.
    bool send(std::string_view bytes);
    // In pieces of `size` bytes, each a packet of its own as far as the kernel lets it.
    bool sendSplit(std::string_view bytes, std::size_t size);
    // Writes until `total` bytes went or nothing was taken for `stallMs`; gives what went.
    std::size_t offer(std::size_t total, int stallMs, std::string_view pattern);

    // Waits until the test calls WireServer::signal(name). False when the server stops first.
    bool waitFor(const std::string &name);
    void pause(int ms); // a server that takes its time; ends early when the server stops
    // Waits until the peer closed or reset. False when the server stops first.
    bool waitForClose();
    // Never answers, reads nothing: until the server stops or the peer is gone.
    void stall() { waitForClose(); }

    void shrinkSendBuffer(int bytes); // so that what a client buffers can be told from what our kernel does
    void halfClose();                 // no more from us; the peer may still send
    void close();
    void reset(); // RST instead of FIN

private:
    bool fill();
    bool waitReadable(int timeoutMs);
    bool waitWritable(int timeoutMs);

    WireServer &m_server;
    UniqueFd m_fd;
    int m_stopFd;
    int m_index;
    std::string m_buffer;
};

} // namespace cortexfs::test
