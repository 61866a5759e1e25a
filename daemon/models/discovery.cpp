#include "daemon/models/discovery.h"

#include "common/abi/names.h"
#include "daemon/models/provider_key.h"
#include "daemon/providers/core/endpoint_url.h"
#include "daemon/providers/wire/core/failure_classifier.h"

#include <QPointer>

#include <algorithm>

namespace cortexfs::models {

namespace {

constexpr int kOk = 200;

const wire::WireFormat *formatOf(const config::ProviderConfig &provider)
{
    for (const std::string &name : provider.formats) {
        if (const wire::WireFormat *format = wire::findByFormat(name))
            return format;
    }
    for (const wire::WireFormat *format : wire::registry()) {
        if (format->descriptor().isDefault)
            return format;
    }
    return nullptr;
}

// What the route is asked with: rules may name a model, and the provider's own choice stands for all of them.
std::string modelForTheRoute(const config::ProviderConfig &provider)
{
    if (!provider.defaultModel.empty())
        return provider.defaultModel;
    return provider.models.empty() ? std::string("models") : provider.models.front();
}

} // namespace

ModelDiscovery::ModelDiscovery(const ModelServices &services, config::ProviderConfig provider,
                               const DiscoveryLimits &limits, QObject *parent)
    : QObject(parent), m_services(services), m_provider(std::move(provider)), m_limits(limits),
      m_format(formatOf(m_provider))
{}

ModelDiscovery::~ModelDiscovery() = default;

void ModelDiscovery::start(Done done)
{
    m_done = std::move(done);
    m_sinceStart.start();
    if (!m_format)
        return finishLater(errors::unsupported("no wire format for " + m_provider.name));
    const std::string native = modelForTheRoute(m_provider);
    const providers::EgressQuery query{m_provider,
                                       {m_provider.name, abi::projectedModelName(native).value_or("models")},
                                       native,
                                       [] { return std::vector<std::string>(); }};
    m_services.egress.resolve(query, [self = QPointer<ModelDiscovery>(this)](Result<providers::Egress> egress) {
        if (self)
            self->handleEgress(std::move(egress));
    });
}

void ModelDiscovery::handleEgress(Result<providers::Egress> egress)
{
    if (!egress)
        return finishLater(egress.error());
    m_egress = std::move(*egress);
    Result<std::optional<SecretString>> key = keyFor(m_services.secrets, m_provider, m_egress.slot);
    if (!key)
        return finishLater(key.error());
    m_key = std::move(*key);
    requestPage({});
}

Result<providers::HttpRequest> ModelDiscovery::pageRequest(const std::string &next) const
{
    Result<wire::ListRequest> list = m_format->encodeList(next);
    if (!list)
        return list.error();
    Result<std::string> url = providers::endpointUrl(m_egress.baseUrl, list->path);
    if (!url)
        return url.error();
    providers::HttpRequest request;
    request.method = providers::HttpRequest::Method::Get;
    request.url = std::move(*url);
    request.unixSocket = m_egress.socketPath;
    request.headers = std::move(list->headers);
    request.headers.insert(request.headers.end(), m_provider.headers.begin(), m_provider.headers.end());
    if (m_key)
        request.credential = providers::HttpCredential{list->auth.headerName, list->auth.prefix, m_key->clone()};
    request.proxyFromEnvironment = m_provider.proxyFromEnvironment;
    request.connectMs = m_provider.timeouts.connectMs;
    request.firstByteMs = m_provider.timeouts.firstByteMs;
    return request;
}

void ModelDiscovery::requestPage(const std::string &next)
{
    Result<providers::HttpRequest> request = pageRequest(next);
    if (!request)
        return finishLater(request.error());
    const int left = m_limits.totalMs - static_cast<int>(std::min<qint64>(m_sinceStart.elapsed(), m_limits.totalMs));
    m_fetch = std::make_unique<providers::BoundedFetch>();
    m_fetch->start(m_services.http, std::move(*request), {m_limits.maxBytes - m_bytes, std::max(left, 1)},
                   [this](Result<providers::FetchedReply> reply) { handleReply(std::move(reply)); });
}

void ModelDiscovery::handleReply(Result<providers::FetchedReply> reply)
{
    m_fetch.release()->deleteLater(); // it is calling us
    if (!reply)
        return finish(reply.error());
    std::string next;
    if (const Result<void> added = addPage(*reply, next); !added)
        return finish(added.error());
    if (next.empty())
        return finish(std::move(m_models));
    if (!m_seenPages.insert(next).second)
        return finish(errors::badMessage("the list of models leads in a circle"));
    if (m_seenPages.size() >= static_cast<std::size_t>(m_limits.maxPages))
        return finish(
            errors::tooLarge("the list of models has more than " + std::to_string(m_limits.maxPages) + " pages"));
    requestPage(next);
}

Result<void> ModelDiscovery::addPage(const providers::FetchedReply &reply, std::string &next)
{
    if (reply.head.status != kOk) {
        return wire::failureOfStatus(reply.head.status, reply.head.headers, reply.body, m_services.clock.wallMs())
            .error;
    }
    const Result<json::Document> document = json::parse(reply.body);
    if (!document)
        return errors::badMessage("the list of models is no JSON: " + document.error().text());
    wire::EncodeContext context;
    context.provider = m_provider.name;
    context.baseUrl = m_provider.baseUrl;
    Result<wire::ModelPage> page = m_format->decodeList(document->root(), context);
    if (!page)
        return page.error();
    m_bytes += reply.body.size();
    for (wire::ListedModel &model : page->models) {
        if (!m_seenIds.insert(model.id).second)
            continue;
        if (m_models.size() >= m_limits.maxEntries)
            return errors::tooLarge("more than " + std::to_string(m_limits.maxEntries) + " models");
        m_models.push_back(std::move(model));
    }
    next = page->next;
    return {};
}

void ModelDiscovery::finish(Result<std::vector<wire::ListedModel>> outcome)
{
    const Done done = std::exchange(m_done, {});
    if (!done)
        return;
    if (!outcome && m_key)
        outcome = withoutKey(outcome.error(), m_key->reveal());
    done(std::move(outcome)); // may be the end of this object
}

void ModelDiscovery::finishLater(const Error &error)
{
    QMetaObject::invokeMethod(
        this, [this, error] { finish(error); }, Qt::QueuedConnection);
}

} // namespace cortexfs::models
