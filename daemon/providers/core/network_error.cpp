#include "daemon/providers/core/network_error.h"

namespace cortexfs::providers {

std::optional<Error> failureFrom(QNetworkReply::NetworkError error, int status, const std::string &where,
                                 const std::string &sslReason, const std::string &qtText)
{
    switch (error) {
    case QNetworkReply::NoError: return std::nullopt;
    case QNetworkReply::ConnectionRefusedError: return errors::refused(where + " refused the connection");
    case QNetworkReply::HostNotFoundError: return errors::unreachable("the name of " + where + " was not found");
    case QNetworkReply::RemoteHostClosedError:
        return errors::connectionReset(where
                                       + (status > 0 ? " closed the connection in the middle of the reply"
                                                     : " closed the connection before it replied"));
    // Qt would have sent the POST again here; the body device does not let it. That is after 307 and 308, after a close,
    // and after bytes that are no HTTP, which Qt treats as a close.
    case QNetworkReply::ContentReSendError:
        if (status >= 300)
            return std::nullopt;
        return errors::connectionReset(
            where + " closed the connection, or sent something that is no HTTP, before it replied");
    case QNetworkReply::TimeoutError: return errors::timedOut("no connection to " + where);
    case QNetworkReply::SslHandshakeFailedError:
        return errors::protocol("TLS with " + where + " failed: " + (sslReason.empty() ? qtText : sslReason));
    case QNetworkReply::TemporaryNetworkFailureError:
    case QNetworkReply::NetworkSessionFailedError:
    case QNetworkReply::UnknownNetworkError: return errors::unreachable(where + " cannot be reached: " + qtText);
    case QNetworkReply::ProxyConnectionRefusedError:
        return errors::refused("the proxy for " + where + " refused the connection");
    case QNetworkReply::ProxyConnectionClosedError:
        return errors::connectionReset("the proxy for " + where + " closed the connection");
    case QNetworkReply::ProxyNotFoundError:
        return errors::unreachable("the name of the proxy for " + where + " was not found");
    case QNetworkReply::ProxyTimeoutError: return errors::timedOut("the proxy for " + where + " does not answer");
    case QNetworkReply::ProxyAuthenticationRequiredError:
        return errors::accessDenied("the proxy for " + where + " asks for a password");
    case QNetworkReply::UnknownProxyError: return errors::unreachable("the proxy for " + where + ": " + qtText);
    default: break;
    }
    if (status >= 300)
        return std::nullopt;
    // What is left at a good status, or without one, is a reply that is no HTTP or whose coding is broken.
    return errors::badMessage(where + " sent a reply that cannot be read: " + qtText);
}

} // namespace cortexfs::providers
