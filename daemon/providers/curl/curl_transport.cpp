#include "daemon/providers/curl/curl_transport.h"

#include "daemon/providers/core/request_check.h"
#include "daemon/providers/curl/curl_driver.h"
#include "daemon/providers/curl/curl_stream.h"

#include <curl/curl.h>

namespace cortexfs::providers {

namespace {

// Once in a process; it is never undone, because libcurl may not be used after that.
bool initialiseOnce()
{
    static const bool isReady = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    return isReady;
}

} // namespace

CurlTransport::CurlTransport(CurlOptions options)
    : m_options(std::move(options)), m_driver(std::make_unique<CurlDriver>(m_options.idleMs))
{}

CurlTransport::~CurlTransport() = default;

Result<std::unique_ptr<HttpStream>> CurlTransport::open(HttpRequest request)
{
    if (const Result<void> checked = checkRequest(request); !checked)
        return checked.error();
    if (!initialiseOnce())
        return errors::io("libcurl cannot be initialised");
    auto stream = std::make_unique<CurlStream>(*m_driver, std::move(request));
    if (const Result<void> started = stream->start(m_options.caFile); !started)
        return started.error();
    return std::unique_ptr<HttpStream>(std::move(stream));
}

bool CurlTransport::isIdle() const { return m_driver->isIdle(); }

} // namespace cortexfs::providers
