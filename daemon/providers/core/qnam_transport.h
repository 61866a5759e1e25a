// HttpTransport over pooled QNetworkAccessManagers: HTTP/1.1, plain and TLS.
#pragma once

#include "daemon/providers/core/http_transport.h"
#include "daemon/providers/core/manager_pool.h"

namespace cortexfs::providers {

class QnamTransport final : public HttpTransport {
public:
    // `idleMs`: how long a manager without streams is kept for its warm connections.
    explicit QnamTransport(int idleMs = 60'000);

    Result<std::unique_ptr<HttpStream>> open(HttpRequest request) override;

    // 0 in an idle daemon.
    std::size_t managerCount() const { return m_pool.managerCount(); }

private:
    ManagerPool m_pool;
};

} // namespace cortexfs::providers
