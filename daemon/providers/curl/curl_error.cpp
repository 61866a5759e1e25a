#include "daemon/providers/curl/curl_error.h"

#include <cerrno>
#include <cstring>

#include "common/base/logging.h"

namespace cortexfs::providers {

namespace {

// The reason is OpenSSL's and may quote names of the peer's certificate.
std::string reasonOf(const CurlOutcome &outcome)
{
    return logging::escapeControl(outcome.text.empty() ? curl_easy_strerror(outcome.code) : outcome.text);
}

bool says(const CurlOutcome &outcome, std::string_view words) { return outcome.text.find(words) != std::string::npos; }

Error closed(const CurlOutcome &outcome)
{
    return errors::connectionReset(outcome.where
                                   + (outcome.headCame ? " closed the connection in the middle of the reply"
                                                       : " closed the connection before it replied"));
}

Error notConnected(const CurlOutcome &outcome)
{
    if (outcome.overUnix && outcome.systemErrno != 0) {
        if (outcome.systemErrno == EACCES || outcome.systemErrno == EPERM)
            return errors::fromErrno(outcome.systemErrno, "connect to the socket " + outcome.where);
        // A path that is not there is a server that is not running. ENOENT would say that the model is unknown.
        return errors::refused("nobody listens on the socket " + outcome.where + ": "
                               + std::strerror(outcome.systemErrno));
    }
    const std::string where = outcome.where + (outcome.mayBeProxy ? " or its proxy" : "");
    switch (outcome.systemErrno) {
    case ECONNREFUSED: return errors::refused(where + " refused the connection");
    case ECONNRESET: return closed(outcome);
    case ETIMEDOUT: return errors::timedOut("no connection to " + where);
    default: return errors::unreachable(where + " cannot be reached: " + reasonOf(outcome));
    }
}

Error received(const CurlOutcome &outcome)
{
    if (outcome.proxyStatus == 407)
        return errors::accessDenied("the proxy for " + outcome.where + " asks for a password");
    if (outcome.proxyStatus >= 300)
        return errors::unreachable("the proxy for " + outcome.where + " answered "
                                   + std::to_string(outcome.proxyStatus));
    if (says(outcome, "chunked-encoding"))
        return errors::badMessage(outcome.where + " sent a reply that cannot be read: " + reasonOf(outcome));
    return closed(outcome);
}

// A peer that goes away inside the handshake says nothing about its certificate.
Error handshake(const CurlOutcome &outcome)
{
    if (says(outcome, "SSL_ERROR_SYSCALL") || says(outcome, "Connection reset"))
        return closed(outcome);
    return errors::protocol("TLS with " + outcome.where + " failed: " + reasonOf(outcome));
}

} // namespace

std::optional<Error> failureFrom(const CurlOutcome &outcome)
{
    const std::string &where = outcome.where;
    switch (outcome.code) {
    case CURLE_OK: return std::nullopt;
    case CURLE_URL_MALFORMAT: return errors::invalid("not a URL: " + reasonOf(outcome));
    case CURLE_COULDNT_RESOLVE_HOST: return errors::unreachable("the name of " + where + " was not found");
    case CURLE_COULDNT_RESOLVE_PROXY:
        return errors::unreachable("the name of the proxy for " + where + " was not found");
    case CURLE_COULDNT_CONNECT: return notConnected(outcome);
    case CURLE_PROXY: return errors::unreachable("the proxy for " + where + ": " + reasonOf(outcome));
    case CURLE_OPERATION_TIMEDOUT: return errors::timedOut("no connection to " + where);
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ENGINE_NOTFOUND:
    case CURLE_SSL_ENGINE_SETFAILED:
    case CURLE_SSL_ENGINE_INITFAILED:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CRL_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_SSL_CLIENTCERT:
    case CURLE_USE_SSL_FAILED: return handshake(outcome);
    case CURLE_RECV_ERROR: return received(outcome);
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_SEND_FAIL_REWIND: // it would have sent a POST again
    case CURLE_PARTIAL_FILE: return closed(outcome);
    case CURLE_OUT_OF_MEMORY:
        // libcurl's limit of one header line is an allocation that it refuses itself.
        if (!outcome.headCame)
            return errors::tooLarge(where + " sent a header that is too long");
        return errors::io("no memory for the reply of " + where);
    case CURLE_FAILED_INIT:
    case CURLE_NOT_BUILT_IN: return errors::io("libcurl cannot begin: " + reasonOf(outcome));
    // What is left is a reply that is no HTTP, or whose coding is broken.
    default: return errors::badMessage(where + " sent a reply that cannot be read: " + reasonOf(outcome));
    }
}

} // namespace cortexfs::providers
