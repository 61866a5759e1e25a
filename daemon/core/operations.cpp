#include "daemon/core/operations.h"

#include "common/abi/control_text.h"
#include "common/base/clock.h"
#include "common/base/limits.h"
#include "daemon/core/provider_operations.h"
#include "daemon/core/reply_json.h"
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

constexpr std::size_t kMostChecks = 400;

void writeProblems(json::Writer &writer, const std::vector<Problem> &problems)
{
    writer.key("problems").beginArray();
    for (std::size_t i = 0; i < std::min(problems.size(), kMostListed); ++i)
        writeProblem(writer, "where", problems[i].where, problems[i].error);
    if (problems.size() > kMostListed)
        writeProblem(writer, "where", "problems", furtherOnes(problems.size() - kMostListed));
    writer.endArray();
}

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
    writer.field("runs", context.server.liveExecutions() + context.sessionFacts().liveRuns);
    writeProblems(writer, context.runtime.problems());
    respond(responder, writer);
}

void answerDoctor(const OperationContext &context, const Responder &responder,
                  const providers::RouteEgress::Check &route)
{
    json::Writer writer = openObject();
    writer.key("checks").beginArray();
    std::vector<DoctorCheck> checks = runDoctor(context, route);
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
    add("metrics", Authority::Anyone, handleMetrics);
    add("refresh", Authority::Administrator, handleRefresh);
    add("provider.test", Authority::Administrator, handleProviderTest);
    registerRouteOperations(server, context.runtime, context.route);
    registerProviderOperations(server, context);
    registerPresetOperations(server, context);
    registerDiscoveryOperation(server, context);
    registerLimitsOperation(server, context);
}

} // namespace cortexfs
