// The transport on libcurl: TCP, TLS and unix sockets behave alike. Lives on the Qt thread and blocks it nowhere; names
// are looked up in threads of libcurl.
//
// HTTP/1.1 only: libcurl 7.88 opens the window of a paused HTTP/2 stream by 32 MiB, so the peer would not wait.
#pragma once

#include "daemon/providers/core/http_transport.h"

#include <memory>
#include <string>

namespace cortexfs::providers {

class CurlDriver;

struct CurlOptions {
    int idleMs = 60'000; // how long connections are kept warm after the last stream
    std::string caFile;  // certificates to trust instead of the system's; empty: the system's
};

class CurlTransport final : public HttpTransport {
public:
    explicit CurlTransport(CurlOptions options = {});
    // Streams that are still there become silent.
    ~CurlTransport() override;

    Result<std::unique_ptr<HttpStream>> open(HttpRequest request) override;

    // Nothing is kept: no connection, no timer. So in an idle daemon.
    bool isIdle() const;

private:
    CurlOptions m_options;
    std::unique_ptr<CurlDriver> m_driver;
};

} // namespace cortexfs::providers
