#include "common/abi/endpoint.h"

#include <QString>
#include <QUrl>

#include <algorithm>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace cortexfs::abi {

namespace {

std::string normalisedHost(const QUrl &url)
{
    std::string host = url.host(QUrl::FullyEncoded).toLower().toStdString();
    while (host.ends_with('.'))
        host.pop_back();
    return host;
}

bool hasBlankOrControl(std::string_view text)
{
    return std::any_of(text.begin(), text.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte <= 0x20 || byte == 0x7f;
    });
}

// Without brackets and zone.
std::string bareAddress(const std::string &host)
{
    std::string bare = host;
    if (bare.starts_with('[') && bare.ends_with(']'))
        bare = bare.substr(1, bare.size() - 2);
    return bare.substr(0, bare.find('%'));
}

} // namespace

Result<Endpoint> parseEndpoint(std::string_view text)
{
    if (hasBlankOrControl(text))
        return errors::invalid("holds a blank or a control character");
    const QUrl url(QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())), QUrl::StrictMode);
    if (!url.isValid())
        return errors::invalid("not a URL");
    if (url.scheme() != QLatin1String("http") && url.scheme() != QLatin1String("https"))
        return errors::invalid("not an http or https URL");
    Endpoint endpoint{url.scheme().toStdString(), normalisedHost(url), url.port()};
    if (endpoint.host.empty())
        return errors::invalid("no host");
    if (!url.userInfo().isEmpty() || url.authority().contains(QLatin1Char('@')))
        return errors::invalid("holds a user name or password; keys belong in the secret store");
    if (url.hasFragment())
        return errors::invalid("holds a fragment");
    return endpoint;
}

bool isIpLiteral(const std::string &host)
{
    in_addr v4 = {};
    if (::inet_aton(host.c_str(), &v4) != 0)
        return true;
    in6_addr v6 = {};
    return ::inet_pton(AF_INET6, bareAddress(host).c_str(), &v6) == 1;
}

bool isLocalhostName(const std::string &host) { return host == "localhost" || host.ends_with(".localhost"); }

bool isLoopbackHost(const std::string &host)
{
    if (isLocalhostName(host))
        return true;
    in_addr v4 = {};
    if (::inet_aton(host.c_str(), &v4) != 0)
        return (ntohl(v4.s_addr) >> 24) == 127;
    in6_addr v6 = {};
    if (::inet_pton(AF_INET6, bareAddress(host).c_str(), &v6) != 1)
        return false;
    if (IN6_IS_ADDR_LOOPBACK(&v6))
        return true;
    return IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == 127;
}

} // namespace cortexfs::abi
