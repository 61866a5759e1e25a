#include "daemon/core/limit_refresh.h"

#include "common/abi/endpoint.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "daemon/core/etag.h"
#include "daemon/core/provider_operations.h"
#include "daemon/core/reply_json.h"
#include "daemon/providers/wire/core/failure_classifier.h"
#include "daemon/providers/wire/core/retry_delay.h"

namespace cortexfs {

namespace {

constexpr int kOk = 200;
constexpr int kNotModified = 304;
constexpr std::size_t kValidatorBytes = 8 * limits::kKiB;

bool isSendable(std::string_view etag)
{
    return !etag.empty() && etag.size() <= limits::kKiB
           && etag.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
}

// Three lines beside the cache: which URL, which ETag, for which cache. A cache that somebody replaced has none.
std::string validatorPath(const Places &places) { return places.limitsCache() + ".etag"; }

std::string validatorText(const std::string &url, const std::string &etag, const std::string &cacheText)
{
    return url + "\n" + etag + "\n" + etagOf(cacheText) + "\n";
}

std::string knownEtag(const Places &places, const std::string &url, const std::string &cacheText)
{
    const Result<std::string> text = files::readRegular(validatorPath(places), kValidatorBytes);
    if (!text || !text->starts_with(url + "\n"))
        return {};
    const std::size_t start = url.size() + 1;
    const std::string etag = text->substr(start, text->find('\n', start) - start);
    return isSendable(etag) && *text == validatorText(url, etag, cacheText) ? etag : std::string();
}

Result<void> checkUrl(const std::string &url)
{
    const Result<abi::Endpoint> endpoint = abi::parseEndpoint(url);
    if (!endpoint)
        return endpoint.error().withDetail("models_dev_url");
    if (endpoint->scheme != "https" && !abi::isLoopbackHost(endpoint->host))
        return errors::invalid("must be https, except on this machine").withDetail("models_dev_url");
    return {};
}

} // namespace

LimitRefresh::LimitRefresh(Runtime &runtime, const models::ModelServices &services, QObject *parent)
    : QObject(parent), m_runtime(runtime), m_services(services)
{}

LimitRefresh::~LimitRefresh() = default;

void LimitRefresh::start(Done done)
{
    m_waiting.push_back(std::move(done));
    if (m_waiting.size() > 1)
        return;
    if (const Result<void> sent = request(); !sent)
        finish(sent.error());
}

Result<void> LimitRefresh::request()
{
    m_url = m_runtime.config().modelsDevUrl;
    if (Result<void> checked = checkUrl(m_url); !checked)
        return checked;
    m_sentEtag.clear();
    if (m_runtime.contextLimits().size() > 0)
        m_sentEtag = knownEtag(m_runtime.places(), m_url, m_runtime.contextLimits().cacheText());
    providers::HttpRequest request;
    request.method = providers::HttpRequest::Method::Get;
    request.url = m_url;
    request.headers = {{"Accept", "application/json"}};
    if (!m_sentEtag.empty())
        request.headers.emplace_back("If-None-Match", m_sentEtag);
    m_fetch = std::make_unique<providers::BoundedFetch>();
    m_fetch->start(m_services.http, std::move(request), {limits::kLimitsBytes, limits::kLimitsFetchMs},
                   [this](Result<providers::FetchedReply> reply) { handleReply(std::move(reply)); });
    return {};
}

void LimitRefresh::handleReply(Result<providers::FetchedReply> reply)
{
    m_fetch.release()->deleteLater(); // it is calling us
    if (!reply)
        return finish(reply.error());
    if (reply->head.status == kNotModified && !m_sentEtag.empty())
        return finish(RefreshedLimits{m_runtime.contextLimits().size(), m_url, m_sentEtag});
    if (reply->head.status != kOk) {
        return finish(
            wire::failureOfStatus(reply->head.status, reply->head.headers, reply->body, m_services.clock.wallMs())
                .error);
    }
    const std::string etag(wire::headerValue(reply->head.headers, "ETag").value_or(""));
    store(std::move(reply->body), isSendable(etag) ? etag : std::string());
}

// Megabytes of JSON are read off the Qt thread.
void LimitRefresh::store(std::string body, const std::string &etag)
{
    const Places places = m_runtime.places();
    m_runtime.writer().run(
        [places, body = std::move(body), url = m_url, etag]() -> Result<void> {
            const Result<models::ContextLimits> limits = models::ContextLimits::fromCatalogue(body);
            if (!limits)
                return limits.error();
            const std::string text = limits->cacheText();
            if (Result<void> stored = models::ContextLimits::storeCache(places.limitsCache(), text); !stored)
                return stored;
            // Without it the next refresh fetches all of it again, which is no reason to fail.
            (void)files::replace(validatorPath(places), validatorText(url, etag, text), 0644);
            return {};
        },
        [this, etag, alive = QPointer<LimitRefresh>(this)](const Result<void> &outcome) {
            if (!alive)
                return;
            if (!outcome)
                return finish(outcome.error());
            m_runtime.refresh();
            finish(RefreshedLimits{m_runtime.contextLimits().size(), m_url, etag});
        });
}

void LimitRefresh::finish(const Result<RefreshedLimits> &outcome)
{
    for (const Done &done : std::exchange(m_waiting, {}))
        done(outcome);
}

void registerLimitsOperation(control::ControlServer &server, const OperationContext &context)
{
    auto *refresh = new LimitRefresh(context.runtime, context.models.services(), &server);
    server.addHandler("limits.refresh", control::Authority::Administrator,
                      [refresh](const control::Request &, const control::Responder &responder) {
                          refresh->start([responder](const Result<RefreshedLimits> &outcome) {
                              if (!outcome)
                                  return responder.error(outcome.error());
                              json::Writer writer = openObject();
                              writer.field("models", count(outcome->models)).field("url", outcome->url);
                              if (!outcome->etag.empty())
                                  writer.field("etag", outcome->etag);
                              respond(responder, writer);
                          });
                      });
}

} // namespace cortexfs
