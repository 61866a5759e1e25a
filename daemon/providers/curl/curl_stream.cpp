#include "daemon/providers/curl/curl_stream.h"

#include "daemon/providers/curl/curl_driver.h"
#include "daemon/providers/curl/curl_error.h"

#include <QPointer>
#include <QUrl>

#include <algorithm>
#include <cstring>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

namespace cortexfs::providers {

namespace {

// One read. A paused stream holds one, and one that was ready to be delivered.
constexpr long kReadBuffer = 64 * 1024;
// libcurl 7.88 reads a hundred times in a row while the socket has more. It is stopped here, so that a fast reply neither
// grows in memory nor starves the others.
constexpr std::size_t kReadPerTurn = 64 * 1024;
// How much of a reply whose meaning is complete is worth reading for a warm connection.
constexpr int kDrainMs = 300;
constexpr std::size_t kDrainBytes = 64 * 1024;
// A unix socket whose queue is full refuses at once and without an errno of its own, where TCP would wait.
constexpr int kQueueFullMs = 20;
// Time-outs are ours; this one only keeps libcurl's own from being shorter.
constexpr long kNeverMs = 24L * 60 * 60 * 1000;

std::string whereOf(const HttpRequest &request)
{
    if (!request.unixSocket.empty())
        return request.unixSocket;
    const QUrl url(QString::fromStdString(request.url), QUrl::StrictMode);
    const int port = url.port(url.scheme() == QLatin1String("https") ? 443 : 80);
    return url.host(QUrl::FullyEncoded).toStdString() + ":" + std::to_string(port);
}

} // namespace

CurlStream::CurlStream(CurlDriver &driver, HttpRequest request)
    : m_driver(&driver), m_request(std::move(request)), m_where(whereOf(m_request))
{
    m_timer.setSingleShot(true);
    connect(&m_timer, &QTimer::timeout, this, &CurlStream::handleTimeout);
}

CurlStream::~CurlStream() { drop(); }

Result<void> CurlStream::start(const std::string &caFile)
{
    m_easy = curl_easy_init();
    m_headers = headerListFor(m_request);
    m_request.credential.reset();
    if (m_easy && m_headers) {
        setOptions(caFile);
        setRequest();
        if (join()) {
            m_timer.start(m_request.connectMs);
            return {};
        }
    }
    drop();
    return errors::io("no memory for a request to " + m_where);
}

bool CurlStream::join() { return m_driver->add(*this, m_easy); }

void CurlStream::setOptions(const std::string &caFile)
{
    curl_easy_setopt(m_easy, CURLOPT_PRIVATE, this);
    curl_easy_setopt(m_easy, CURLOPT_ERRORBUFFER, m_text.data());
    curl_easy_setopt(m_easy, CURLOPT_NOSIGNAL, 1L);
    // Without it, leaving while a name is looked up waits for the answer.
    curl_easy_setopt(m_easy, CURLOPT_QUICK_EXIT, 1L);
    curl_easy_setopt(m_easy, CURLOPT_CONNECTTIMEOUT_MS, kNeverMs);
    curl_easy_setopt(m_easy, CURLOPT_BUFFERSIZE, kReadBuffer);
    curl_easy_setopt(m_easy, CURLOPT_TCP_KEEPALIVE, 1L);

    curl_easy_setopt(m_easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(m_easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(m_easy, CURLOPT_HTTP09_ALLOWED, 0L);
    curl_easy_setopt(m_easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(m_easy, CURLOPT_ACCEPT_ENCODING, "gzip");
    curl_easy_setopt(m_easy, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(m_easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl_easy_setopt(m_easy, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt(m_easy, CURLOPT_SSL_VERIFYHOST, 2L);
    if (!caFile.empty())
        curl_easy_setopt(m_easy, CURLOPT_CAINFO, caFile.c_str());

    curl_easy_setopt(m_easy, CURLOPT_WRITEFUNCTION, &CurlStream::handleBody);
    curl_easy_setopt(m_easy, CURLOPT_WRITEDATA, this);
    curl_easy_setopt(m_easy, CURLOPT_HEADERFUNCTION, &CurlStream::handleHeader);
    curl_easy_setopt(m_easy, CURLOPT_HEADERDATA, this);
    curl_easy_setopt(m_easy, CURLOPT_PREREQFUNCTION, &CurlStream::handleConnected);
    curl_easy_setopt(m_easy, CURLOPT_PREREQDATA, this);
    curl_easy_setopt(m_easy, CURLOPT_OPENSOCKETFUNCTION, &CurlStream::openSocket);
    curl_easy_setopt(m_easy, CURLOPT_OPENSOCKETDATA, this);
    curl_easy_setopt(m_easy, CURLOPT_CLOSESOCKETFUNCTION, &CurlStream::closeSocket);
}

void CurlStream::setRequest()
{
    const QUrl url(QString::fromStdString(m_request.url), QUrl::StrictMode);
    curl_easy_setopt(m_easy, CURLOPT_URL, url.toEncoded(QUrl::RemoveFragment).constData());
    curl_easy_setopt(m_easy, CURLOPT_HTTPHEADER, m_headers.get());
    if (!m_request.unixSocket.empty())
        curl_easy_setopt(m_easy, CURLOPT_UNIX_SOCKET_PATH, m_request.unixSocket.c_str());
    // libcurl that was told nothing follows http_proxy of the environment, and would send keys there.
    if (!m_request.proxyFromEnvironment || !m_request.unixSocket.empty())
        curl_easy_setopt(m_easy, CURLOPT_PROXY, "");
    if (m_request.method == HttpRequest::Method::Get)
        return;
    curl_easy_setopt(m_easy, CURLOPT_POST, 1L);
    curl_easy_setopt(m_easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(m_request.body.size()));
    curl_easy_setopt(m_easy, CURLOPT_READFUNCTION, &CurlStream::handleRead);
    curl_easy_setopt(m_easy, CURLOPT_READDATA, this);
}

// ---- called by libcurl: these note and do not call back -------------------------------------------------------------

curl_socket_t CurlStream::openSocket(void *stream, curlsocktype, curl_sockaddr *address)
{
    auto &self = *static_cast<CurlStream *>(stream);
    if (!self.maySend())
        return CURL_SOCKET_BAD;
    return ::socket(address->family, address->socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, address->protocol);
}

int CurlStream::closeSocket(void *, curl_socket_t socket) { return ::close(socket); }

// libcurl sends a request again by itself when a connection that it had kept dies before the first byte of the reply. A
// POST may have done its work by then.
bool CurlStream::maySend()
{
    if (!m_hasSentHead || m_request.method != HttpRequest::Method::Post)
        return true;
    m_refusal = errors::connectionReset(m_where + " closed the connection before it replied");
    return false;
}

// The connection stands; the request is written next.
int CurlStream::handleConnected(void *stream, char *, char *, int, int)
{
    auto &self = *static_cast<CurlStream *>(stream);
    if (!self.maySend())
        return CURL_PREREQFUNC_ABORT;
    self.m_hasSentHead = true;
    self.m_phase = Phase::Waiting;
    self.m_timer.start(self.m_request.firstByteMs);
    return CURL_PREREQFUNC_OK;
}

std::size_t CurlStream::handleRead(char *data, std::size_t size, std::size_t count, void *stream)
{
    auto &self = *static_cast<CurlStream *>(stream);
    const std::size_t piece = std::min(size * count, self.m_request.body.size() - self.m_sent);
    std::memcpy(data, self.m_request.body.data() + self.m_sent, piece);
    self.m_sent += piece;
    if (self.m_phase == Phase::Waiting && !self.m_isDraining)
        self.m_timer.start(self.m_request.firstByteMs);
    return piece;
}

std::size_t CurlStream::handleHeader(char *data, std::size_t size, std::size_t count, void *stream)
{
    auto &self = *static_cast<CurlStream *>(stream);
    if (const Result<void> taken = self.m_head.addLine({data, size * count}); !taken) {
        self.m_refusal = makeError(taken.error().number(), self.m_where + ": " + taken.error().message());
        return CURL_WRITEFUNC_ERROR;
    }
    if (self.m_head.isComplete() && self.m_phase == Phase::Waiting) {
        self.m_phase = Phase::Receiving;
        self.m_timer.stop();
        self.touch();
    }
    return size * count;
}

std::size_t CurlStream::handleBody(char *data, std::size_t size, std::size_t count, void *stream)
{
    auto &self = *static_cast<CurlStream *>(stream);
    const std::size_t length = size * count;
    if (self.m_isDraining) {
        self.m_drained += length;
        return self.m_drained > kDrainBytes ? CURL_WRITEFUNC_ERROR : length;
    }
    if (self.m_isPaused || self.m_body.size() >= kReadPerTurn) {
        self.m_isHeld = true;
        return CURL_WRITEFUNC_PAUSE;
    }
    self.m_body.append(data, length);
    self.touch();
    return length;
}

// ---- from the event loop --------------------------------------------------------------------------------------------

void CurlStream::finish(CURLcode code)
{
    CurlOutcome outcome;
    // A close inside the head is a success for libcurl.
    outcome.code = code == CURLE_OK && !m_head.isComplete() ? CURLE_GOT_NOTHING : code;
    outcome.headCame = m_head.isComplete();
    outcome.overUnix = !m_request.unixSocket.empty();
    outcome.mayBeProxy = m_request.proxyFromEnvironment;
    outcome.where = m_where;
    outcome.text = m_text.data();
    long number = 0;
    curl_easy_getinfo(m_easy, CURLINFO_OS_ERRNO, &number);
    outcome.systemErrno = static_cast<int>(number);
    curl_easy_getinfo(m_easy, CURLINFO_HTTP_CONNECTCODE, &number);
    outcome.proxyStatus = static_cast<int>(number);
    m_driver->remove(*this, m_easy);
    if (code == CURLE_COULDNT_CONNECT && outcome.overUnix && outcome.systemErrno == 0 && m_phase == Phase::Connecting) {
        QTimer::singleShot(kQueueFullMs, this, &CurlStream::connectAgain);
        return;
    }
    m_timer.stop();
    m_isHeld = false; // gone with the exchange, if it broke off while we were paused
    m_result = code != CURLE_OK && m_refusal ? m_refusal : failureFrom(outcome);
    touch();
}

void CurlStream::connectAgain()
{
    if (m_phase == Phase::Connecting && !join())
        end(errors::io("no memory for a request to " + m_where));
}

void CurlStream::touch()
{
    if (m_isTouched || !m_driver)
        return;
    m_isTouched = true;
    m_driver->touch(*this);
}

void CurlStream::deliver()
{
    m_isTouched = false;
    if (m_body.empty())
        resume();
    if (m_isDraining) {
        if (m_result) {
            drop();
            deleteLater();
        }
        return;
    }
    // A receiver may abort, pause, retire or delete us.
    const QPointer<CurlStream> self(this);
    const auto mayGoOn = [&] { return self && !isOver() && !m_isDraining; };
    if (m_head.isComplete() && !m_isHeadDelivered && mayGoOn()) {
        m_isHeadDelivered = true;
        Q_EMIT headReceived(m_head.take());
    }
    if (mayGoOn() && !m_isPaused && !m_body.empty()) {
        std::string piece;
        piece.swap(m_body);
        Q_EMIT dataReceived(piece);
        if (!self)
            return;
        piece.clear();
        m_body.swap(piece); // keeps its memory
    }
    if (!mayGoOn() || m_isPaused)
        return;
    if (m_isHeld)
        touch();
    else if (m_result)
        end(*m_result);
}

// libcurl hands over at once what it held; deliver() sees it in the same turn.
void CurlStream::resume()
{
    if (m_isPaused || !m_isHeld || isOver() || m_result)
        return;
    m_isHeld = false;
    curl_easy_pause(m_easy, CURLPAUSE_CONT);
}

void CurlStream::setPaused(bool paused)
{
    if (m_isPaused == paused)
        return;
    m_isPaused = paused;
    if (!m_isPaused && !isOver())
        touch();
}

void CurlStream::handleTimeout()
{
    if (m_isDraining) {
        drop();
        deleteLater();
    } else if (m_phase == Phase::Connecting) {
        end(errors::timedOut("no connection to " + m_where + " within " + std::to_string(m_request.connectMs) + " ms"));
    } else if (m_phase == Phase::Waiting) {
        end(errors::timedOut(m_where + " did not answer within " + std::to_string(m_request.firstByteMs) + " ms"));
    }
}

void CurlStream::end(const std::optional<Error> &failure)
{
    const std::optional<Error> copy = failure; // it may live in what drop() resets
    drop();
    Q_EMIT ended(copy);
}

void CurlStream::abort() { drop(); }

void CurlStream::drain()
{
    m_isDraining = true;
    m_isPaused = false;
    m_body.clear();
    if (isOver() || m_result) {
        drop();
        deleteLater();
        return;
    }
    m_timer.start(kDrainMs);
    touch();
}

void CurlStream::detach()
{
    drop();
    m_driver = nullptr;
    if (m_isDraining)
        deleteLater();
}

// Closes the connection, unless the exchange is complete.
void CurlStream::drop()
{
    m_phase = Phase::Over;
    m_timer.stop();
    m_result.reset();
    m_body.clear();
    if (m_easy) {
        m_driver->remove(*this, m_easy);
        curl_easy_cleanup(std::exchange(m_easy, nullptr));
    }
    m_headers.reset();
}

} // namespace cortexfs::providers
