// A model service on a temporary secret store, with one provider "local" (model custom-model, driver openai-chat) and the
// debug models.
#pragma once

#include "daemon/models/model_service.h"
#include "daemon/providers/curl/curl_transport.h"
#include "tests/support/event_collector.h"
#include "tests/support/temp_dir.h"

#include <deque>
#include <memory>
#include <string>

namespace cortexfs::test {

class RunFixture {
public:
    // `baseUrl` of the provider. It asks for a key when `needsKey`.
    explicit RunFixture(const std::string &baseUrl = "http://127.0.0.1:9/v1", bool needsKey = false);

    const std::shared_ptr<const models::ModelCatalog> &catalog() const { return m_catalog; }
    config::ProviderConfig &provider() { return *m_provider; }
    models::ModelEntry &entry() { return m_entry; }
    providers::SecretStore &secrets() { return m_secrets; }
    const TempDir &dir() const { return m_dir; }
    // Another model of the same provider on a base URL of its own: "local/NAME", which the fallback lines may name. Counts
    // from publish() on.
    models::ModelEntry &addModel(const std::string &name, const std::string &baseUrl);
    // Controls and provider as they are now, for the runs made from here on.
    void publish();

    std::unique_ptr<models::ModelRun> run(const std::string &input, const std::string &model = "local/custom-model");
    std::unique_ptr<models::ModelRun> run(models::Conversation conversation, const std::string &model);
    // Its id is set here.
    std::unique_ptr<models::ModelRun> run(models::RunRequest request);
    std::string log() const { return m_entry.activity->logText(); }

private:
    TempDir m_dir;
    std::shared_ptr<config::ProviderConfig> m_provider;
    models::ModelEntry m_entry;
    std::deque<models::ModelEntry> m_more;
    std::shared_ptr<const models::ModelCatalog> m_catalog;
    providers::SecretStore m_secrets;
    providers::DirectEgress m_egress;
    providers::CurlTransport m_http;
    models::ModelService m_service;
};

// A run with its events, started.
class StartedRun {
public:
    explicit StartedRun(std::unique_ptr<models::ModelRun> run) : m_run(std::move(run)), seen(m_run.get())
    {
        m_run->start();
    }
    models::ModelRun *operator->() { return m_run.get(); }
    models::ModelRun *get() { return m_run.get(); }
    // At full speed of the event loop, unlike QTRY_VERIFY. False: too late.
    bool runToEnd(int timeoutMs = 20'000);

private:
    std::unique_ptr<models::ModelRun> m_run;

public:
    EventCollector seen;
};

} // namespace cortexfs::test
