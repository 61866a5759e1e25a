// Asks a provider which models it has, the way every call goes: route, key slot, the list endpoint of its wire format.
// Qt thread.
#pragma once

#include "common/base/limits.h"
#include "common/config/provider_config.h"
#include "daemon/models/model_service.h"
#include "daemon/providers/core/bounded_fetch.h"
#include "daemon/providers/wire/wire_format.h"

#include <QElapsedTimer>
#include <QObject>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace cortexfs::models {

struct DiscoveryLimits {
    std::size_t maxBytes = limits::kModelListBytes; // all pages
    std::size_t maxEntries = limits::kModelListEntries;
    int maxPages = limits::kModelListPages;
    int totalMs = limits::kModelListMs; // all pages
};

// One question. Destroying it drops the connection and the outcome.
class ModelDiscovery : public QObject {
    Q_OBJECT
public:
    using Done = std::function<void(Result<std::vector<wire::ListedModel>>)>;

    // `services` outlives it. Of several formats of the provider the first one of this build is spoken.
    ModelDiscovery(const ModelServices &services, config::ProviderConfig provider, const DiscoveryLimits &limits = {},
                   QObject *parent = nullptr);
    ~ModelDiscovery() override;

    // Calls `done` once, from the event loop, with the models in the provider's order, each once; it may destroy this
    // object. The errors of the route and of the key; those of an HTTP status (decisions, section 6); EBADMSG: no list of
    // models, or one that leads in a circle; EMSGSIZE: over the limits; ETIMEDOUT.
    void start(Done done);

private:
    void handleEgress(Result<providers::Egress> egress);
    void requestPage(const std::string &next);
    Result<providers::HttpRequest> pageRequest(const std::string &next) const;
    void handleReply(Result<providers::FetchedReply> reply);
    Result<void> addPage(const providers::FetchedReply &reply, std::string &next);
    void finish(Result<std::vector<wire::ListedModel>> outcome);
    void finishLater(const Error &error);

    const ModelServices &m_services;
    config::ProviderConfig m_provider;
    DiscoveryLimits m_limits;
    const wire::WireFormat *m_format = nullptr;
    Done m_done;
    providers::Egress m_egress;
    std::optional<SecretString> m_key;
    std::unique_ptr<providers::BoundedFetch> m_fetch;
    std::vector<wire::ListedModel> m_models;
    std::set<std::string, std::less<>> m_seenIds;
    std::set<std::string> m_seenPages;
    std::size_t m_bytes = 0;
    QElapsedTimer m_sinceStart;
};

} // namespace cortexfs::models
