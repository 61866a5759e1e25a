#include "daemon/providers/core/qnam_stream.h"

#include "daemon/providers/core/body_device.h"
#include "daemon/providers/core/network_error.h"

#include <QNetworkAccessManager>
#include <QNetworkReply>
#include <QNetworkRequest>
#include <QSslError>
#include <QUrl>

namespace cortexfs::providers {

namespace {

// What a reply may hold of the body before Qt lets the socket fill up; the socket's own buffer is as large.
//
// Every reply is limited from the start: an unlimited one is read in Qt's network thread for as long as bytes come, and
// neither a pause nor an abort of ours is heard there meanwhile. The price with Qt 6.4: a connection whose last data and
// end arrive in one packet is closed instead of kept (Qt asks it for more after the end), so it costs a new connection.
constexpr qint64 kReadBuffer = 64 * 1024;
// One read a turn of the event loop, so that a fast reply does not starve other streams.
constexpr qint64 kReadPerTurn = 64 * 1024;
// How much of a reply whose meaning is complete is worth reading for a warm connection.
constexpr int kDrainMs = 300;
constexpr std::size_t kDrainBytes = 64 * 1024;

QByteArray bytes(std::string_view text) { return QByteArray(text.data(), static_cast<qsizetype>(text.size())); }

QNetworkRequest makeRequest(const HttpRequest &request)
{
    QNetworkRequest out(QUrl(QString::fromStdString(request.url), QUrl::StrictMode));
    out.setAttribute(QNetworkRequest::RedirectPolicyAttribute, QNetworkRequest::ManualRedirectPolicy);
    // Qt 6.4 opens the window of an HTTP/2 stream whether we read or not: no back-pressure there.
    out.setAttribute(QNetworkRequest::Http2AllowedAttribute, false);
    out.setAttribute(QNetworkRequest::CookieLoadControlAttribute, QNetworkRequest::Manual);
    out.setAttribute(QNetworkRequest::CookieSaveControlAttribute, QNetworkRequest::Manual);
    out.setAttribute(QNetworkRequest::AuthenticationReuseAttribute, QNetworkRequest::Manual);
    out.setAttribute(QNetworkRequest::DoNotBufferUploadDataAttribute, true);
    out.setRawHeader("User-Agent", "cortexfs/" CORTEXFS_VERSION);
    for (const auto &[name, value] : request.headers)
        out.setRawHeader(bytes(name), bytes(value));
    if (request.credential) {
        QByteArray value = bytes(request.credential->prefix);
        const std::string_view secret = request.credential->value.reveal();
        value.append(secret.data(), static_cast<qsizetype>(secret.size()));
        out.setRawHeader(bytes(request.credential->headerName), value);
    }
    if (request.method == HttpRequest::Method::Post)
        out.setHeader(QNetworkRequest::ContentLengthHeader, static_cast<qlonglong>(request.body.size()));
    return out;
}

} // namespace

QnamStream::QnamStream(ManagerPool::Lease lease, std::string where)
    : m_lease(std::move(lease)), m_where(std::move(where))
{
    m_timer.setSingleShot(true);
    connect(&m_timer, &QTimer::timeout, this, &QnamStream::handleTimeout);
}

QnamStream::~QnamStream() { dropReply(); }

void QnamStream::send(HttpRequest request)
{
    m_connectMs = request.connectMs;
    m_firstByteMs = request.firstByteMs;
    const QNetworkRequest out = makeRequest(request);
    if (request.method == HttpRequest::Method::Post) {
        auto *body = new BodyDevice(std::move(request.body));
        connect(body, &BodyDevice::taken, this, &QnamStream::handleConnected);
        m_reply = m_lease.manager()->post(out, body);
        body->setParent(m_reply);
    } else {
        m_reply = m_lease.manager()->get(out);
    }
    connectReply();
    m_timer.start(m_connectMs);
}

void QnamStream::connectReply()
{
    connect(m_reply, &QNetworkReply::requestSent, this, &QnamStream::handleConnected);
    connect(m_reply, &QNetworkReply::metaDataChanged, this, &QnamStream::handleHead);
    connect(m_reply, &QIODevice::readyRead, this, &QnamStream::handleReadable);
    connect(m_reply, &QNetworkReply::finished, this, &QnamStream::handleReadable);
    connect(m_reply, &QNetworkReply::sslErrors, this, [this](const QList<QSslError> &found) {
        for (const QSslError &error : found)
            m_sslReason += (m_sslReason.empty() ? "" : "; ") + error.errorString().toStdString();
    });
}

void QnamStream::handleConnected()
{
    if (m_phase != Phase::Connecting && m_phase != Phase::Waiting)
        return;
    // Qt forgets a limit that is set before its network thread has the request.
    if (m_phase == Phase::Connecting)
        m_reply->setReadBufferSize(kReadBuffer);
    m_phase = Phase::Waiting;
    m_neverConnected = false;
    m_timer.start(m_firstByteMs);
}

void QnamStream::handleHead()
{
    if (m_phase != Phase::Connecting && m_phase != Phase::Waiting)
        return;
    HttpHead head;
    head.status = m_reply->attribute(QNetworkRequest::HttpStatusCodeAttribute).toInt();
    if (head.status < 200)
        return;
    m_phase = Phase::Receiving;
    m_timer.stop();
    for (const auto &[name, value] : m_reply->rawHeaderPairs())
        head.headers.emplace_back(name.toStdString(), value.toStdString());
    Q_EMIT headReceived(head);
}

void QnamStream::handleReadable()
{
    if (m_paused || !m_reply)
        return;
    handleHead();
    // A receiver may have aborted or paused us.
    if (!m_reply || m_paused)
        return;
    if (m_phase == Phase::Receiving && m_reply->bytesAvailable() > 0) {
        const QByteArray piece = m_reply->read(kReadPerTurn);
        m_drained += static_cast<std::size_t>(piece.size());
        if (m_draining && m_drained > kDrainBytes) {
            finish();
            return;
        }
        if (!m_draining && !piece.isEmpty())
            Q_EMIT dataReceived(std::string_view(piece.constData(), static_cast<std::size_t>(piece.size())));
        if (!m_reply)
            return;
    }
    if (m_reply->bytesAvailable() > 0 && m_phase == Phase::Receiving)
        scheduleRead();
    else if (m_reply->isFinished())
        finish();
}

void QnamStream::scheduleRead()
{
    if (m_readScheduled)
        return;
    m_readScheduled = true;
    QMetaObject::invokeMethod(
        this,
        [this] {
            m_readScheduled = false;
            handleReadable();
        },
        Qt::QueuedConnection);
}

void QnamStream::finish()
{
    if (m_paused)
        return;
    if (m_draining) {
        dropReply();
        deleteLater();
        return;
    }
    const int status = m_reply->attribute(QNetworkRequest::HttpStatusCodeAttribute).toInt();
    end(failureFrom(m_reply->error(), status, m_where, m_sslReason, m_reply->errorString().toStdString()));
}

void QnamStream::handleTimeout()
{
    if (m_draining) {
        dropReply();
        deleteLater();
        return;
    }
    if (m_phase == Phase::Connecting)
        end(errors::timedOut("no connection to " + m_where + " within " + std::to_string(m_connectMs) + " ms"));
    else if (m_phase == Phase::Waiting)
        end(errors::timedOut(m_where + " did not answer within " + std::to_string(m_firstByteMs) + " ms"));
}

void QnamStream::end(const std::optional<Error> &failure)
{
    m_phase = Phase::Over;
    dropReply();
    Q_EMIT ended(failure);
}

void QnamStream::abort()
{
    m_phase = Phase::Over;
    dropReply();
}

void QnamStream::setPaused(bool paused)
{
    if (m_paused == paused)
        return;
    m_paused = paused;
    if (!m_paused && m_reply)
        scheduleRead();
}

void QnamStream::drain()
{
    if (!m_reply) {
        deleteLater();
        return;
    }
    // Goes with its manager, if that goes first.
    setParent(m_lease.manager());
    m_draining = true;
    m_paused = false;
    m_timer.start(kDrainMs);
    scheduleRead();
}

// abort() of QNetworkReply is carried out by the manager's own thread, so the peer sees the end although our event loop
// may be busy.
void QnamStream::dropReply()
{
    m_timer.stop();
    if (m_reply) {
        m_reply->disconnect(this);
        if (m_reply->isRunning()) {
            m_reply->abort();
            if (m_neverConnected)
                m_lease.retireManager();
        }
        m_reply->deleteLater();
        m_reply = nullptr;
    }
    m_lease.release();
}

} // namespace cortexfs::providers
