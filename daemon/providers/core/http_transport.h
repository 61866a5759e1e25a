// One HTTP exchange with a streamed reply, whatever carries it. Lives on the Qt thread.
//
// Rules every transport keeps (decisions, section 6): no redirect is followed, no proxy is used unless the request says
// so, a POST is sent at most once, TLS is verified, a paused stream holds less than 256 KiB and lets the peer wait.
#pragma once

#include "common/base/result.h"
#include "common/base/secret_string.h"

#include <QObject>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cortexfs::providers {

using HttpHeader = std::pair<std::string, std::string>;

struct HttpCredential {
    std::string headerName; // "Authorization"
    std::string prefix;     // "Bearer "
    SecretString value;
};

struct HttpRequest {
    enum class Method { Get, Post };
    Method method = Method::Post;
    std::string url;                 // absolute, http or https
    std::string unixSocket;          // absolute path: HTTP over this socket; the URL then gives Host and path
    std::vector<HttpHeader> headers; // a later one replaces an earlier one of the same name
    std::string body;
    std::optional<HttpCredential> credential; // nothing: no such header at all
    bool proxyFromEnvironment = false;
    int connectMs = 10'000;   // name, TCP and TLS, until the first byte can be written
    int firstByteMs = 60'000; // from the last byte written to the head of the reply
};

struct HttpHead {
    int status = 0;
    std::vector<HttpHeader> headers; // as received; decoded content has no Content-Encoding to undo
};

// Signals come from the event loop, never from within open(). After abort() there are none.
class HttpStream : public QObject {
    Q_OBJECT
public:
    using QObject::QObject;

    // Drops the connection without waiting for the event loop of the caller.
    virtual void abort() = 0;
    // A paused stream emits no dataReceived and no ended.
    virtual void setPaused(bool paused) = 0;
    // For a reply whose meaning is complete: reads the rest away for a moment, so that the connection can be used again,
    // then goes. The stream owns itself from here; it emits nothing more.
    static void retire(std::unique_ptr<HttpStream> stream);

Q_SIGNALS:
    // Once, before any data; not for a connection that failed before it.
    void headReceived(const cortexfs::providers::HttpHead &head);
    // The view holds during the call.
    void dataReceived(std::string_view bytes);
    // Once, last. Nothing: a clean end, whatever the status. Else ECONNREFUSED, EHOSTUNREACH (name, route), ECONNRESET
    // (also a close before the reply), ETIMEDOUT (connect, first byte), EPROTO (TLS, with the reason), EBADMSG (no HTTP),
    // EMSGSIZE (a head over 64 KiB); EACCES (a unix socket that is not for us; one that is not there is ECONNREFUSED).
    void ended(const std::optional<cortexfs::Error> &failure);

private:
    virtual void drain() = 0;
};

class HttpTransport {
public:
    virtual ~HttpTransport() = default;
    // EINVAL: a URL without host, with userinfo or of another scheme; a socket path that is not absolute, is longer than
    // 107 bytes or holds a NUL; a header name or value that could break the head (CR, LF, NUL), or one that belongs to the
    // transport (Content-Length, Transfer-Encoding, Accept-Encoding, Connection, Expect).
    virtual Result<std::unique_ptr<HttpStream>> open(HttpRequest request) = 0;
};

} // namespace cortexfs::providers
