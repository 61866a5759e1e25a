// Makes model runs. One for the daemon, on the Qt thread.
#pragma once

#include "common/base/clock.h"
#include "daemon/models/model_run.h"
#include "daemon/models/retry_policy.h"
#include "daemon/providers/core/egress.h"
#include "daemon/providers/core/http_transport.h"
#include "daemon/providers/core/secret_store.h"

#include <functional>
#include <memory>

namespace cortexfs::models {

// What runs stand on. Everything referred to outlives the service and its runs.
struct ModelServices {
    std::function<std::shared_ptr<const ModelCatalog>()> catalog; // the one of the moment; never null
    const providers::SecretStore &secrets;
    providers::EgressResolver &egress;
    providers::HttpTransport &http; // transports direct and http
    const Clock &clock;
    RetryTiming retry = {};
    std::function<double()> chance = {}; // 0 to 1, spreads the waits between tries; nothing: the system's
};

class ModelService {
public:
    explicit ModelService(ModelServices services);
    const ModelServices &services() const { return m_services; }

    // A run that has not begun. The catalogue of this moment counts for all of the run, so a refresh in between does not
    // pull the model away. A model that is not in it gives a run that ends with ENOENT.
    std::unique_ptr<ModelRun> createRun(RunRequest request);

private:
    ModelServices m_services;
};

} // namespace cortexfs::models
