#include "tests/models/run_fixture.h"

#include "daemon/models/run_id.h"

#include <QEventLoop>
#include <QTimer>

#include <unistd.h>

namespace cortexfs::test {

namespace {

models::ModelEntry debugEntry(const std::string &model, std::uint32_t serial)
{
    models::ModelEntry entry;
    entry.serial = serial;
    entry.ref = {"debug", model};
    entry.nativeId = model;
    entry.driver = "debug\n";
    entry.effort = "auto\n";
    entry.activity = std::make_shared<models::ModelActivity>();
    return entry;
}

} // namespace

RunFixture::RunFixture(const std::string &baseUrl, bool needsKey)
    : m_provider(std::make_shared<config::ProviderConfig>()), m_secrets(m_dir.path(), ::geteuid()),
      m_service({[this] { return m_catalog; }, m_secrets, m_egress, m_http, systemClock(),
                 models::RetryTiming{.firstWaitMs = 2}})
{
    m_provider->name = "local";
    m_provider->baseUrl = baseUrl;
    m_provider->models = {"custom-model"};
    m_provider->needsKey = needsKey;
    m_entry.serial = 1;
    m_entry.ref = {"local", "custom-model"};
    m_entry.nativeId = "custom-model";
    m_entry.driver = "default=openai-chat\n";
    m_entry.cap = "chat\nstream\n";
    m_entry.effort = "auto\n";
    m_entry.activity = std::make_shared<models::ModelActivity>();
    publish();
}

void RunFixture::publish()
{
    m_entry.provider = std::make_shared<config::ProviderConfig>(*m_provider);
    std::vector models{m_entry, debugEntry("echo", 2), debugEntry("script", 3)};
    models.insert(models.end(), m_more.begin(), m_more.end());
    m_catalog = std::make_shared<models::ModelCatalog>(std::move(models), std::vector<models::ModelAlias>());
}

models::ModelEntry &RunFixture::addModel(const std::string &name, const std::string &baseUrl)
{
    models::ModelEntry &entry = m_more.emplace_back(m_entry);
    auto provider = std::make_shared<config::ProviderConfig>(*m_provider);
    provider->baseUrl = baseUrl;
    entry.serial = static_cast<std::uint32_t>(100 + m_more.size());
    entry.ref.model = name;
    entry.nativeId = name;
    entry.fallback.clear();
    entry.provider = std::move(provider);
    entry.activity = std::make_shared<models::ModelActivity>();
    return entry;
}

std::unique_ptr<models::ModelRun> RunFixture::run(const std::string &input, const std::string &model)
{
    models::Conversation conversation;
    models::Message message;
    message.parts.push_back({models::Part::Type::Text, input, {}, {}});
    conversation.messages.push_back(std::move(message));
    return run(std::move(conversation), model);
}

std::unique_ptr<models::ModelRun> RunFixture::run(models::Conversation conversation, const std::string &model)
{
    models::RunRequest request;
    request.model = *abi::parseModelRef(model);
    request.conversation = std::move(conversation);
    return run(std::move(request));
}

std::unique_ptr<models::ModelRun> RunFixture::run(models::RunRequest request)
{
    request.run = models::newRunId();
    return m_service.createRun(std::move(request));
}

bool StartedRun::runToEnd(int timeoutMs)
{
    QEventLoop loop;
    QTimer::singleShot(timeoutMs, &loop, &QEventLoop::quit);
    QObject::connect(m_run.get(), &models::ModelRun::finished, &loop, &QEventLoop::quit);
    if (!seen.isFinished())
        loop.exec();
    return seen.isFinished();
}

} // namespace cortexfs::test
