#include "daemon/providers/core/endpoint_url.h"

#include <QString>
#include <QUrl>

#include <algorithm>

namespace cortexfs::providers {

namespace {

constexpr std::string_view kVersion = "/v1";

Result<void> checkBase(std::string_view baseUrl)
{
    const bool hasControl = std::any_of(baseUrl.begin(), baseUrl.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte <= 0x20 || byte == 0x7f;
    });
    if (hasControl)
        return errors::invalid("base URL holds a blank or a control character");
    const QUrl url(QString::fromUtf8(baseUrl.data(), static_cast<qsizetype>(baseUrl.size())), QUrl::StrictMode);
    if (!url.isValid())
        return errors::invalid("base URL is not a URL");
    if (url.scheme() != QLatin1String("http") && url.scheme() != QLatin1String("https"))
        return errors::invalid("base URL is not an http or https URL");
    if (url.host().isEmpty())
        return errors::invalid("base URL has no host");
    if (!url.userInfo().isEmpty() || url.authority().contains(QLatin1Char('@')))
        return errors::invalid("base URL holds a user name or password; keys belong in the secret store");
    if (url.hasFragment())
        return errors::invalid("base URL holds a fragment");
    return {};
}

} // namespace

Result<std::string> endpointUrl(std::string_view baseUrl, std::string_view path)
{
    if (const Result<void> checked = checkBase(baseUrl); !checked)
        return checked.error();
    const std::size_t questionMark = baseUrl.find('?');
    std::string_view base = baseUrl.substr(0, questionMark);
    const std::string_view query = questionMark == std::string_view::npos ? std::string_view()
                                                                          : baseUrl.substr(questionMark);
    while (base.ends_with('/'))
        base.remove_suffix(1);
    const std::size_t host = base.find("://") + 3;
    std::string joined(base);
    if (base.find('/', host) == std::string_view::npos)
        joined += kVersion;
    if (path.starts_with("/v1/") && joined.ends_with(kVersion))
        path.remove_prefix(kVersion.size());
    joined += path;
    // A path may bring a query of its own.
    if (!query.empty() && path.find('?') != std::string_view::npos)
        joined += "&" + std::string(query.substr(1));
    else
        joined += query;
    return joined;
}

} // namespace cortexfs::providers
