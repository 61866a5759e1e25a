// A control socket that answers what a test tells it to, well or badly. Own threads; nothing of Qt.
#pragma once

#include "common/base/unique_fd.h"
#include "common/json/json.h"

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <sys/types.h>

namespace cortexfs::ctx::test {

// One connection, in the thread that serves it.
class Peer {
public:
    Peer(int fd, class FakeDaemon &daemon) : m_fd(fd), m_daemon(daemon) {}

    // Bytes as they are, one write; false when the other side is gone.
    bool raw(std::string_view bytes);
    // {"id":<of the request>,"type":"result",<members>} and LF
    void result(const json::Value &request, std::string_view members);
    void error(const json::Value &request, std::string_view code, std::string_view message);
    // {"id":<of the request>,<inside of the event>} and LF
    bool event(const json::Value &request, std::string_view eventJson);
    void close();
    pid_t pid() const; // of the other side
    // The next request frame of this connection; nothing when the other side closed.
    std::optional<json::Document> next();

private:
    int m_fd;
    FakeDaemon &m_daemon;
    std::string m_buffer;
};

class FakeDaemon {
public:
    using Handler = std::function<void(Peer &, const json::Value &request)>;

    explicit FakeDaemon(const std::string &socketPath);
    ~FakeDaemon();

    // Of an op that nothing is said about; without it such a request gets EINVAL.
    static constexpr char kAnyOperation[] = "*";
    void on(const std::string &op, Handler handler);
    void reply(const std::string &op, const std::string &members);
    void fail(const std::string &op, const std::string &code, const std::string &message);

    // Every frame that came, as text.
    std::vector<std::string> requests() const;
    // Waits until a request holds `part`; false after five seconds.
    bool waitForRequest(std::string_view part);
    // The first request of that op; empty document text when there was none.
    std::string request(std::string_view op) const;

private:
    friend class Peer;
    void acceptLoop();
    void serve(UniqueFd fd);
    void note(std::string_view frame);

    UniqueFd m_listener;
    UniqueFd m_stopRead;
    UniqueFd m_stopWrite;
    mutable std::mutex m_mutex;
    std::condition_variable m_changed;
    std::map<std::string, Handler, std::less<>> m_handlers;
    std::vector<std::string> m_requests;
    std::vector<int> m_live;
    std::vector<std::thread> m_threads;
    std::thread m_acceptor;
};

} // namespace cortexfs::ctx::test
