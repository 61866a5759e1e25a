#include "daemon/providers/core/request_check.h"

#include "common/base/logging.h"

#include <QString>
#include <QUrl>

#include <algorithm>
#include <array>

#include <sys/un.h>

namespace cortexfs::providers {

namespace {

constexpr std::size_t kMostSocketPath = sizeof(sockaddr_un::sun_path) - 1;

bool isTokenCharacter(char c)
{
    static constexpr std::string_view kExtra = "!#$%&'*+-.^_`|~";
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
           || kExtra.find(c) != std::string_view::npos;
}

// A tab is legal inside a value; every other control character, also NUL and DEL, could end the line for some parser.
bool breaksHead(std::string_view value)
{
    return std::any_of(value.begin(), value.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return (byte < 0x20 && c != '\t') || byte == 0x7f;
    });
}

bool isOwnedByTransport(std::string_view name)
{
    static constexpr std::array<std::string_view, 5> kOwned = {"content-length", "transfer-encoding", "accept-encoding",
                                                               "connection", "expect"};
    std::string lower;
    for (const char c : name)
        lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return std::find(kOwned.begin(), kOwned.end(), lower) != kOwned.end();
}

Result<void> checkName(std::string_view name)
{
    if (name.empty() || !std::all_of(name.begin(), name.end(), isTokenCharacter))
        return errors::invalid("\"" + logging::escapeControl(name) + "\" is not a header name");
    if (isOwnedByTransport(name))
        return errors::invalid("header " + std::string(name) + " is set by the transport and may not be given");
    return {};
}

Result<void> checkSocketPath(std::string_view path)
{
    if (path.empty())
        return {};
    if (path.front() != '/')
        return errors::invalid("the path of the unix socket is not absolute");
    if (path.size() > kMostSocketPath)
        return errors::invalid("the path of the unix socket is longer than " + std::to_string(kMostSocketPath)
                               + " bytes");
    if (path.find('\0') != std::string_view::npos)
        return errors::invalid("the path of the unix socket holds a NUL");
    return {};
}

} // namespace

Result<void> checkRequest(const HttpRequest &request)
{
    const QUrl url(QString::fromStdString(request.url), QUrl::StrictMode);
    if (!url.isValid() || url.host().isEmpty())
        return errors::invalid("not a URL with a host");
    if (url.scheme() != QLatin1String("http") && url.scheme() != QLatin1String("https"))
        return errors::invalid("not an http or https URL");
    if (!url.userInfo().isEmpty())
        return errors::invalid("the URL holds a user name or password");
    if (const Result<void> checked = checkSocketPath(request.unixSocket); !checked)
        return checked;
    for (const auto &[name, value] : request.headers) {
        if (const Result<void> checked = checkName(name); !checked)
            return checked.error();
        if (breaksHead(value))
            return errors::invalid("the value of header " + name + " holds a control character");
    }
    if (!request.credential)
        return {};
    if (const Result<void> checked = checkName(request.credential->headerName); !checked)
        return checked.error();
    if (breaksHead(request.credential->prefix) || breaksHead(request.credential->value.reveal()))
        return errors::invalid("the key holds a control character");
    return {};
}

} // namespace cortexfs::providers
