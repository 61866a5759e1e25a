// Fetches the public catalogue of context limits and replaces the cache of it. Never on a run's path: runs and the tree
// go on with the limits of before until it is done.
#pragma once

#include "daemon/core/runtime.h"
#include "daemon/models/model_service.h"
#include "daemon/providers/core/bounded_fetch.h"

#include <QObject>
#include <QPointer>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cortexfs {

struct RefreshedLimits {
    std::size_t models = 0;
    std::string url;
    std::string etag; // of the server; may be empty
};

class LimitRefresh : public QObject {
    Q_OBJECT
public:
    using Done = std::function<void(Result<RefreshedLimits>)>;

    LimitRefresh(Runtime &runtime, const models::ModelServices &services, QObject *parent = nullptr);
    ~LimitRefresh() override;

    // Fetches config.models_dev_url and publishes. Who asks while that goes on gets the same answer. Every failure leaves
    // the old cache: EINVAL for a URL that is neither https nor of this machine, the errors of a status and of the
    // connection, EMSGSIZE, ETIMEDOUT, EBADMSG, those of writing.
    void start(Done done);

private:
    Result<void> request();
    void handleReply(Result<providers::FetchedReply> reply);
    void store(std::string body, const std::string &etag);
    void finish(const Result<RefreshedLimits> &outcome);

    Runtime &m_runtime;
    const models::ModelServices &m_services;
    std::unique_ptr<providers::BoundedFetch> m_fetch;
    std::vector<Done> m_waiting;
    std::string m_url;
    std::string m_sentEtag;
};

} // namespace cortexfs
