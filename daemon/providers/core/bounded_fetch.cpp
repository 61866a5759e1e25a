#include "daemon/providers/core/bounded_fetch.h"

#include <algorithm>

namespace cortexfs::providers {

BoundedFetch::BoundedFetch(QObject *parent) : QObject(parent)
{
    m_deadline.setSingleShot(true);
    connect(&m_deadline, &QTimer::timeout, this, [this] {
        finish(errors::timedOut("no whole answer within " + std::to_string(m_limits.totalMs / 1000) + " s"));
    });
}

BoundedFetch::~BoundedFetch() { drop(); }

void BoundedFetch::start(HttpTransport &transport, HttpRequest request, const FetchLimits &limits, Done done)
{
    m_limits = limits;
    m_done = std::move(done);
    request.method = HttpRequest::Method::Get;
    request.connectMs = std::min(request.connectMs, limits.totalMs);
    request.firstByteMs = std::min(request.firstByteMs, limits.totalMs);
    Result<std::unique_ptr<HttpStream>> stream = transport.open(std::move(request));
    if (!stream) {
        QMetaObject::invokeMethod(
            this, [this, error = stream.error()] { finish(error); }, Qt::QueuedConnection);
        return;
    }
    m_stream = std::move(*stream);
    connect(m_stream.get(), &HttpStream::headReceived, this, [this](const HttpHead &head) { m_reply.head = head; });
    connect(m_stream.get(), &HttpStream::dataReceived, this, &BoundedFetch::handleData);
    connect(m_stream.get(), &HttpStream::ended, this, [this](const std::optional<Error> &failure) {
        if (failure)
            finish(*failure);
        else
            finish(std::move(m_reply));
    });
    m_deadline.start(limits.totalMs);
}

void BoundedFetch::handleData(std::string_view bytes)
{
    if (bytes.size() > m_limits.maxBytes - m_reply.body.size())
        finish(errors::tooLarge("the answer has more than " + std::to_string(m_limits.maxBytes) + " bytes"));
    else
        m_reply.body += bytes;
}

void BoundedFetch::finish(Result<FetchedReply> outcome)
{
    drop();
    if (const Done done = std::exchange(m_done, {}))
        done(std::move(outcome)); // may be the end of this object
}

void BoundedFetch::drop()
{
    m_deadline.stop();
    if (!m_stream)
        return;
    m_stream->abort();
    // We may be inside one of its signals.
    m_stream->disconnect(this);
    m_stream.release()->deleteLater();
}

} // namespace cortexfs::providers
