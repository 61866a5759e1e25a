// One exchange on libcurl.
#pragma once

#include "daemon/providers/core/http_transport.h"
#include "daemon/providers/curl/reply_head.h"
#include "daemon/providers/curl/request_headers.h"

#include <QTimer>

#include <curl/curl.h>

#include <array>
#include <optional>
#include <string>

namespace cortexfs::providers {

class CurlDriver;

class CurlStream final : public HttpStream {
    Q_OBJECT
public:
    // The driver outlives the stream or detaches it.
    CurlStream(CurlDriver &driver, HttpRequest request);
    ~CurlStream() override;

    // EIO. Emits nothing.
    Result<void> start(const std::string &caFile);

    void abort() override;
    void setPaused(bool paused) override;

    // For the driver. The exchange is over, as far as libcurl is concerned; to be delivered.
    void finish(CURLcode code);
    // Emits what was noted since the last time.
    void deliver();
    // The driver goes first: silent from here on.
    void detach();

private:
    enum class Phase { Connecting, Waiting, Receiving, Over };

    static std::size_t handleBody(char *data, std::size_t size, std::size_t count, void *stream);
    static std::size_t handleHeader(char *data, std::size_t size, std::size_t count, void *stream);
    static std::size_t handleRead(char *data, std::size_t size, std::size_t count, void *stream);
    static int handleConnected(void *stream, char *, char *, int, int);
    static curl_socket_t openSocket(void *stream, curlsocktype purpose, curl_sockaddr *address);
    static int closeSocket(void *, curl_socket_t socket);

    void setOptions(const std::string &caFile);
    void setRequest();
    bool join();
    void connectAgain();
    bool maySend();
    void drain() override;
    void handleTimeout();
    void touch();
    void resume();
    void end(const std::optional<Error> &failure);
    void drop();
    bool isOver() const { return m_phase == Phase::Over; }

    CurlDriver *m_driver;
    HttpRequest m_request;
    HeaderList m_headers;
    std::string m_where; // host:port, or the socket's path
    CURL *m_easy = nullptr;
    QTimer m_timer; // connect, first byte, or the rest of a retired reply
    Phase m_phase = Phase::Connecting;

    std::size_t m_sent = 0; // of the body
    bool m_hasSentHead = false;
    std::optional<Error> m_refusal; // why a callback stopped the exchange
    std::array<char, CURL_ERROR_SIZE> m_text = {};

    ReplyHead m_head;
    bool m_isHeadDelivered = false;
    std::string m_body; // came and is not delivered
    std::size_t m_drained = 0;
    std::optional<std::optional<Error>> m_result; // the end, not delivered
    bool m_isPaused = false;
    bool m_isHeld = false; // libcurl holds bytes for us
    bool m_isTouched = false;
    bool m_isDraining = false;
};

} // namespace cortexfs::providers
