#include "daemon/providers/core/qnam_transport.h"

#include "daemon/providers/core/qnam_stream.h"
#include "daemon/providers/core/request_check.h"

#include <QUrl>

namespace cortexfs::providers {

QnamTransport::QnamTransport(int idleMs) : m_pool(idleMs) {}

Result<std::unique_ptr<HttpStream>> QnamTransport::open(HttpRequest request)
{
    if (const Result<void> checked = checkRequest(request); !checked)
        return checked.error();
    const QUrl url(QString::fromStdString(request.url), QUrl::StrictMode);
    const int port = url.port(url.scheme() == QLatin1String("https") ? 443 : 80);
    const std::string where = url.host(QUrl::FullyEncoded).toStdString() + ":" + std::to_string(port);
    ManagerPool::Lease lease = m_pool.acquire(url.scheme().toStdString() + "://" + where, request.proxyFromEnvironment);
    auto stream = std::make_unique<QnamStream>(std::move(lease), where);
    stream->send(std::move(request));
    return std::unique_ptr<HttpStream>(std::move(stream));
}

} // namespace cortexfs::providers
