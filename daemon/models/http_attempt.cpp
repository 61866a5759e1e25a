#include "daemon/models/http_attempt.h"

#include "daemon/models/provider_key.h"
#include "daemon/providers/core/endpoint_url.h"

#include <QPointer>

namespace cortexfs::models {

HttpAttempt::HttpAttempt(const ModelServices &services, const Candidate &candidate, const wire::WireFormat &format,
                         const RunRequest &request, std::size_t mostBytes)
    : m_services(services), m_entry(*candidate.entry), m_format(format), m_request(request), m_mostBytes(mostBytes)
{
    m_idleTimer.setSingleShot(true);
    connect(&m_idleTimer, &QTimer::timeout, this, &HttpAttempt::handleIdleTimer);
}

HttpAttempt::~HttpAttempt() { cancel(); }

void HttpAttempt::start()
{
    const providers::EgressQuery query{*m_entry.provider, m_entry.ref, m_entry.nativeId, m_request.caller.programNames};
    // The answer may come when we are gone.
    m_services.egress.resolve(query, [self = QPointer<HttpAttempt>(this)](Result<providers::Egress> egress) {
        if (self && !self->m_over)
            self->handleEgress(std::move(egress));
    });
}

void HttpAttempt::handleEgress(Result<providers::Egress> egress)
{
    if (!egress) {
        endLater(egress.error());
        return;
    }
    m_facts.transport = providers::transportWord(egress->transport);
    m_facts.slot = egress->slot;
    m_facts.rule = egress->rule;
    if (const Result<void> sent = send(*egress); !sent)
        endLater(sent.error());
}

Result<void> HttpAttempt::send(const providers::Egress &egress)
{
    const config::ProviderConfig &provider = *m_entry.provider;
    Result<std::optional<SecretString>> key = keyFor(m_services.secrets, provider, egress.slot);
    if (!key)
        return key.error();
    Result<wire::WireRequest> encoded = m_format.encode(m_request.conversation,
                                                        encodeContextFor(m_entry, m_request.conversation));
    if (!encoded)
        return encoded.error();
    Result<std::string> url = providers::endpointUrl(egress.baseUrl, encoded->path);
    if (!url)
        return url.error();

    providers::HttpRequest request;
    request.url = std::move(*url);
    request.unixSocket = egress.socketPath;
    request.headers = std::move(encoded->headers);
    request.headers.insert(request.headers.end(), provider.headers.begin(), provider.headers.end());
    request.body = std::move(encoded->body);
    if (*key) {
        m_key = (*key)->clone();
        request.credential = providers::HttpCredential{encoded->auth.headerName, encoded->auth.prefix,
                                                       std::move(**key)};
    }
    request.proxyFromEnvironment = provider.proxyFromEnvironment;
    request.connectMs = provider.timeouts.connectMs;
    request.firstByteMs = provider.timeouts.firstByteMs;
    Result<std::unique_ptr<providers::HttpStream>> stream = m_services.http.open(std::move(request));
    if (!stream)
        return stream.error();
    m_decoder = std::make_unique<wire::ResponseDecoder>(m_format, std::move(encoded->toolNames), m_mostBytes);
    m_stream = std::move(*stream);
    connectStream();
    return {};
}

void HttpAttempt::connectStream()
{
    connect(m_stream.get(), &providers::HttpStream::headReceived, this, &HttpAttempt::handleHead);
    connect(m_stream.get(), &providers::HttpStream::dataReceived, this, &HttpAttempt::handleData);
    connect(m_stream.get(), &providers::HttpStream::ended, this, &HttpAttempt::handleStreamEnd);
    m_stream->setPaused(m_paused);
}

void HttpAttempt::handleHead(const providers::HttpHead &head)
{
    m_facts.httpStatus = head.status;
    m_decoder->onHead(head.status, head.headers, m_services.clock.wallMs());
    m_sinceData.start();
    m_idleTimer.start(m_entry.provider->timeouts.idleMs);
}

void HttpAttempt::handleData(std::string_view bytes)
{
    m_facts.receivedBytes += bytes.size();
    std::vector<abi::Event> events;
    m_decoder->onBytes(bytes, events);
    // Comments and pings are life, not progress: they do not re-arm the timer.
    if (m_decoder->dataEvents() != m_seenData) {
        m_seenData = m_decoder->dataEvents();
        m_sinceData.start();
    }
    emitAll(events);
    endIfFinished();
}

void HttpAttempt::handleStreamEnd(const std::optional<Error> &failure)
{
    std::vector<abi::Event> events;
    m_decoder->onEnd(failure, events);
    emitAll(events);
    endIfFinished();
}

void HttpAttempt::handleIdleTimer()
{
    if (m_paused) {
        m_idleTimer.start(m_entry.provider->timeouts.idleMs);
        return;
    }
    const int idleMs = m_entry.provider->timeouts.idleMs;
    const qint64 left = idleMs - m_sinceData.elapsed();
    if (left > 0)
        m_idleTimer.start(static_cast<int>(left));
    else
        fail(errors::timedOut("no data from " + m_entry.provider->name + " for " + std::to_string(idleMs) + " ms"));
}

void HttpAttempt::fail(const Error &error)
{
    if (m_over)
        return;
    if (m_stream)
        m_stream->abort();
    if (m_decoder)
        handleStreamEnd(error);
    else
        end({{}, wire::failureFor(error)});
}

void HttpAttempt::emitAll(const std::vector<abi::Event> &events)
{
    for (const abi::Event &event : events) {
        if (m_over)
            return;
        Q_EMIT produced(event);
    }
}

void HttpAttempt::endIfFinished()
{
    if (m_over || !m_decoder->isFinished())
        return;
    if (m_decoder->failure()) {
        wire::ReplyFailure failure = *m_decoder->failure();
        failure.error = withoutKey(failure.error, m_key.reveal());
        end({{}, std::move(failure)});
        return;
    }
    // The answer is complete; what follows on the connection is its end at best.
    providers::HttpStream::retire(std::move(m_stream));
    end({m_decoder->reason(), {}});
}

void HttpAttempt::endLater(Error error)
{
    QMetaObject::invokeMethod(
        this,
        [this, error = std::move(error)] {
            if (!m_over)
                end({{}, wire::failureFor(error)});
        },
        Qt::QueuedConnection);
}

void HttpAttempt::end(AttemptOutcome outcome)
{
    cancel();
    Q_EMIT ended(outcome);
}

void HttpAttempt::cancel()
{
    m_over = true;
    m_idleTimer.stop();
    if (m_stream) {
        m_stream->abort();
        // We may be inside one of its signals.
        m_stream->disconnect(this);
        m_stream.release()->deleteLater();
    }
}

void HttpAttempt::setPaused(bool paused)
{
    if (m_paused == paused)
        return;
    m_paused = paused;
    // The time in which we did not read is not the server's.
    if (!m_paused)
        m_sinceData.start();
    if (m_stream)
        m_stream->setPaused(paused);
}

} // namespace cortexfs::models
