#include "daemon/core/operations.h"

#include "common/abi/control_text.h"
#include "common/base/clock.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "daemon/core/etag.h"
#include "daemon/core/route_operations.h"
#include "daemon/models/run_id.h"
#include "daemon/sockets/program_names.h"

#include <algorithm>

#include <unistd.h>

namespace cortexfs {

namespace {

using control::Authority;
using control::Request;
using control::Responder;

void respond(const Responder &responder, json::Writer &writer)
{
    writer.endObject();
    responder.result(control::inside(writer.text()));
}

json::Writer openObject()
{
    json::Writer writer;
    writer.beginObject();
    return writer;
}

// A hundred problems are enough to work on, and all of them need not fit into a frame.
constexpr std::size_t kMostListed = 100;
constexpr std::size_t kMostChecks = 400;

void writeProblem(json::Writer &writer, std::string_view key, std::string_view where, const Error &error)
{
    writer.beginObject().field(key, json::toValidUtf8(where)).field("code", error.name());
    writer.field("message", json::toValidUtf8(error.text())).endObject();
}

Error furtherOnes(std::size_t number) { return errors::tooLarge("and " + std::to_string(number) + " more"); }

void writeProblems(json::Writer &writer, const std::vector<Problem> &problems)
{
    writer.key("problems").beginArray();
    for (std::size_t i = 0; i < std::min(problems.size(), kMostListed); ++i)
        writeProblem(writer, "where", problems[i].where, problems[i].error);
    if (problems.size() > kMostListed)
        writeProblem(writer, "where", "problems", furtherOnes(problems.size() - kMostListed));
    writer.endArray();
}

const config::ProviderConfig *findProvider(const Runtime &runtime, const std::string &name)
{
    for (const config::ProviderConfig &provider : runtime.providers().providers) {
        if (provider.name == name)
            return &provider;
    }
    return nullptr;
}

// Names of files and directories are bytes; what leaves in JSON is text.
void textField(json::Writer &writer, std::string_view key, std::string_view bytes)
{
    writer.field(key, json::toValidUtf8(bytes));
}

std::int64_t count(std::size_t number) { return static_cast<std::int64_t>(number); }

void handleStatus(const OperationContext &context, const Responder &responder)
{
    const Places &places = context.runtime.places();
    const auto catalog = context.runtime.snapshot().load()->catalog;
    json::Writer writer = openObject();
    writer.field("state", "ready").field("version", CORTEXFS_VERSION);
    writer.field("pid", static_cast<std::int64_t>(::getpid()));
    writer.field("mode", places.mode == Mode::System ? "system" : "user");
    textField(writer, "mount", places.mount);
    textField(writer, "config", places.config);
    textField(writer, "state_dir", places.state);
    textField(writer, "runtime", places.runtime);
    writer.field("fuse", context.isMounted());
    writer.field("uptime_ms", systemClock().monotonicMs() - context.startedAtMs);
    writer.field("providers", count(context.runtime.providers().providers.size()));
    writer.field("models", count(catalog->models().size()));
    writer.field("runs", context.server.liveExecutions());
    writeProblems(writer, context.runtime.problems());
    respond(responder, writer);
}

void answerDoctor(const OperationContext &context, const Responder &responder,
                  const providers::RouteEgress::Check &route)
{
    json::Writer writer = openObject();
    writer.key("checks").beginArray();
    std::vector<DoctorCheck> checks = runDoctor(context.runtime, context.isMounted(), route);
    if (checks.size() > kMostChecks) {
        const std::size_t more = checks.size() - kMostChecks;
        checks.resize(kMostChecks);
        checks.push_back({"doctor", "warning", "and " + std::to_string(more) + " more", ""});
    }
    for (const DoctorCheck &check : checks) {
        writer.beginObject().field("name", json::toValidUtf8(check.name)).field("status", check.status);
        writer.field("message", json::toValidUtf8(check.message));
        writer.field("hint", json::toValidUtf8(check.hint)).endObject();
    }
    writer.endArray();
    respond(responder, writer);
}

void handleDoctor(const OperationContext &context, const Responder &responder)
{
    context.route.check({}, [context, responder](const providers::RouteEgress::Check &route) {
        answerDoctor(context, responder, route);
    });
}

void handleRefresh(const OperationContext &context, const Responder &responder)
{
    context.runtime.refresh();
    json::Writer writer = openObject();
    writer.field("providers", count(context.runtime.providers().providers.size()));
    writer.field("models", count(context.runtime.snapshot().load()->catalog->models().size()));
    writeProblems(writer, context.runtime.problems());
    respond(responder, writer);
}

void writeModel(json::Writer &writer, const models::ModelEntry &entry)
{
    writer.beginObject().field("name", entry.ref.text()).field("id", entry.ref.provider + "/" + entry.nativeId);
    writer.key("driver").beginObject();
    for (const char *purpose : {"default", "exec", "socket", "agent"}) {
        writer.key(purpose).beginArray();
        for (const std::string &driver : abi::driversFor(entry.driver, purpose))
            writer.string(driver);
        writer.endArray();
    }
    writer.endObject();
    writer.key("cap").beginArray();
    for (const std::string &word : abi::linesOf(entry.cap))
        writer.string(word);
    writer.endArray();
    writer.field("effort", abi::linesOf(entry.effort).front());
    writer.key("limit");
    if (entry.limit)
        writer.integer(*entry.limit);
    else
        writer.null();
    writer.field("session", entry.hasSocket ? "socket" : "none");
    writer.field("state", models::stateWord(entry)).endObject();
}

void writeAliases(json::Writer &writer, const models::ModelCatalog &catalog, const std::string &mount)
{
    const std::string prefix = mount + "/model/";
    writer.key("aliases").beginArray();
    for (const models::ModelAlias &alias : catalog.aliases()) {
        writer.beginObject().field("name", alias.name).field("target", alias.target.substr(prefix.size()));
        writer.field("user", alias.userMade).endObject();
    }
    writer.endArray();
}

// Ten thousand models do not fit into a frame: the list is given in pages.
void handleModelList(const OperationContext &context, const Request &request, const Responder &responder)
{
    constexpr std::size_t kPageBytes = limits::kFrame / 2;
    const auto catalog = context.runtime.snapshot().load()->catalog;
    const std::string provider = request.text("provider");
    const std::string after = request.text("after");
    const auto afterRef = abi::parseModelRef(after);
    if (!after.empty() && !afterRef)
        return responder.error(errors::invalid("after: not the name of a model"));
    const auto [first, last] = provider.empty() ? std::pair<std::size_t, std::size_t>(0, catalog->models().size())
                                                : catalog->rangeOf(provider);
    json::Writer writer = openObject();
    writer.key("models").beginArray();
    bool hasMore = false;
    for (std::size_t i = first; i < last && !hasMore; ++i) {
        const models::ModelEntry &entry = catalog->models()[i];
        if (afterRef && !(*afterRef < entry.ref))
            continue;
        hasMore = writer.text().size() > kPageBytes;
        if (!hasMore)
            writeModel(writer, entry);
    }
    writer.endArray();
    if (after.empty())
        writeAliases(writer, *catalog, context.runtime.places().mount);
    writer.field("more", hasMore);
    respond(responder, writer);
}

const char *keyWord(const providers::SecretStore &secrets, const config::ProviderConfig &provider)
{
    switch (secrets.state(provider.name, providers::kDefaultSlot).state) {
    case providers::SlotState::Filled: return "filled";
    case providers::SlotState::Rejected: return "missing";
    case providers::SlotState::Missing: break;
    }
    return provider.needsKey ? "missing" : "none";
}

void handleProviderList(const OperationContext &context, const Responder &responder)
{
    json::Writer writer = openObject();
    writer.key("providers").beginArray();
    for (const config::ProviderConfig &provider : context.runtime.providers().providers) {
        writer.beginObject().field("name", provider.name).field("file", json::toValidUtf8(provider.file));
        writer.field("base_url", provider.baseUrl).field("enabled", provider.enabled);
        writer.key("formats").beginArray();
        for (const std::string &format : provider.formats)
            writer.string(format);
        writer.endArray().field("default_model", provider.defaultModel);
        writer.field("models", count(provider.models.size()));
        writer.field("key", keyWord(context.runtime.secrets(), provider)).endObject();
    }
    writer.endArray().key("invalid").beginArray();
    const std::vector<config::InvalidProvider> &invalid = context.runtime.providers().invalid;
    for (std::size_t i = 0; i < std::min(invalid.size(), kMostListed); ++i)
        writeProblem(writer, "file", invalid[i].file, invalid[i].error);
    if (invalid.size() > kMostListed)
        writeProblem(writer, "file", "", furtherOnes(invalid.size() - kMostListed));
    writer.endArray();
    respond(responder, writer);
}

void handleProviderGet(const OperationContext &context, const Request &request, const Responder &responder)
{
    const std::string name = request.text("name");
    const config::ProviderConfig *provider = findProvider(context.runtime, name);
    if (!provider)
        return responder.error(errors::notFound("no such provider: " + name));
    const Result<std::string> text = files::readRegular(context.runtime.places().providersDir() + "/" + provider->file,
                                                        limits::kProviderFile);
    if (!text)
        return responder.error(text.error());
    const Result<json::Document> document = json::parse(*text);
    if (!document)
        return responder.error(document.error());
    json::Writer writer = openObject();
    writer.field("name", provider->name).field("file", json::toValidUtf8(provider->file));
    writer.field("etag", etagOf(*text));
    writer.key("config").value(document->root());
    writer.key("slots").beginArray();
    for (const providers::SlotInfo &slot : context.runtime.secrets().list()) {
        if (slot.provider != name)
            continue;
        const bool filled = slot.state == providers::SlotState::Filled;
        writer.beginObject().field("name", slot.slot).field("state", filled ? "filled" : "invalid");
        if (!filled)
            textField(writer, "reason", slot.reason);
        writer.endObject();
    }
    writer.endArray();
    respond(responder, writer);
}

void answerKeyChange(const OperationContext &context, const Responder &responder, const std::string &name,
                     const std::string &slot, const Result<void> &outcome)
{
    if (!outcome)
        return responder.error(outcome.error());
    context.runtime.secretsChanged();
    json::Writer writer = openObject();
    writer.field("name", name).field("slot", slot);
    respond(responder, writer);
}

void handleKeySet(const OperationContext &context, const Request &request, const Responder &responder)
{
    const std::string name = request.text("name");
    const std::string slot = request.text("slot", providers::kDefaultSlot);
    // A key for a provider that has no file yet is fine: both orders of setting up work.
    auto value = std::make_shared<SecretString>(request.text("value"));
    context.runtime.writer().run(
        [&secrets = context.runtime.secrets(), name, slot, value] { return secrets.set(name, slot, *value); },
        [context, responder, name, slot](const Result<void> &outcome) {
            answerKeyChange(context, responder, name, slot, outcome);
        });
}

void handleKeyRemove(const OperationContext &context, const Request &request, const Responder &responder)
{
    const std::string name = request.text("name");
    const std::string slot = request.text("slot", providers::kDefaultSlot);
    context.runtime.writer().run(
        [&secrets = context.runtime.secrets(), name, slot] { return secrets.remove(name, slot); },
        [context, responder, name, slot](const Result<void> &outcome) {
            answerKeyChange(context, responder, name, slot, outcome);
        });
}

// The smallest real request through the real road: a status that takes another road than a call would be worth nothing.
void handleProviderTest(const OperationContext &context, const Request &request, const Responder &responder)
{
    const std::string name = request.text("name");
    const config::ProviderConfig *provider = findProvider(context.runtime, name);
    if (!provider)
        return responder.error(errors::notFound("no such provider: " + name));
    std::string native = request.text("model", provider->defaultModel);
    if (native.empty() && !provider->models.empty())
        native = provider->models.front();
    if (native.starts_with(name + "/"))
        native.erase(0, name.size() + 1);
    const std::optional<std::string> projected = abi::projectedModelName(native);
    if (!projected)
        return responder.error(errors::invalid("the provider declares no model; name one with --model"));

    models::RunRequest run;
    run.run = models::newRunId();
    run.model = {name, *projected};
    run.purpose = abi::Purpose::Exec;
    models::Message message;
    message.parts.push_back({models::Part::Type::Text, "Reply with the word ok.", {}, {}});
    run.conversation.messages.push_back(std::move(message));
    run.conversation.maxTokens = 16;
    run.caller = {request.peer.uid, request.peer.gid, request.peer.pid, sockets::programNamesOf(request.peer.pid)};
    run.isProbe = true;

    models::ModelRun *live = context.models.createRun(std::move(run)).release();
    live->setParent(&context.server);
    auto failure = std::make_shared<std::optional<abi::Event>>();
    QObject::connect(live, &models::ModelRun::eventReady, live, [failure](const abi::Event &event) {
        if (event.type == abi::EventType::Error)
            *failure = event;
    });
    QObject::connect(live, &models::ModelRun::finished, live, [live, responder, failure] {
        const models::RunReport &report = live->report();
        json::Writer writer = openObject();
        writer.field("model", report.model).field("ok", !failure->has_value());
        writer.field("transport", report.transport).field("slot", report.slot).field("rule", report.rule);
        writer.field("status", report.httpStatus).field("first_token_ms", report.firstTokenMs);
        writer.field("total_ms", report.totalMs);
        if (*failure) {
            writer.key("error").beginObject().field("code", errnoName((*failure)->code));
            writer.field("message", json::toValidUtf8((*failure)->errorMessage)).endObject();
        }
        respond(responder, writer);
        live->deleteLater();
    });
    live->start();
}

void handleMetrics(const OperationContext &context, const Responder &responder)
{
    json::Writer writer = openObject();
    writer.field("runs_total", static_cast<std::int64_t>(context.server.totalRuns()));
    writer.field("exec_total", static_cast<std::int64_t>(context.server.totalExecutions()));
    writer.field("runs_live", context.server.liveExecutions());
    writer.field("fuse_requests", static_cast<std::int64_t>(context.fuseRequests()));
    writer.field("uptime_ms", systemClock().monotonicMs() - context.startedAtMs);
    respond(responder, writer);
}

} // namespace

void registerOperations(control::ControlServer &server, const OperationContext &context)
{
    const auto add = [&](const char *op, Authority authority, auto handler) {
        server.addHandler(op, authority, [context, handler](const Request &request, const Responder &responder) {
            if constexpr (std::is_invocable_v<decltype(handler), const OperationContext &, const Responder &>)
                handler(context, responder);
            else
                handler(context, request, responder);
        });
    };
    add("status", Authority::Anyone, handleStatus);
    add("doctor", Authority::Anyone, handleDoctor);
    add("model.list", Authority::Anyone, handleModelList);
    add("provider.list", Authority::Anyone, handleProviderList);
    add("provider.get", Authority::Anyone, handleProviderGet);
    add("metrics", Authority::Anyone, handleMetrics);
    add("refresh", Authority::Administrator, handleRefresh);
    add("provider.key.set", Authority::Administrator, handleKeySet);
    add("provider.key.remove", Authority::Administrator, handleKeyRemove);
    add("provider.test", Authority::Administrator, handleProviderTest);
    registerRouteOperations(server, context.runtime, context.route);
}

} // namespace cortexfs
