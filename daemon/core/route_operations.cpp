#include "daemon/core/route_operations.h"

#include "common/base/files.h"
#include "common/base/limits.h"
#include "daemon/core/etag.h"

#include <algorithm>

namespace cortexfs {

namespace {

using control::Authority;
using control::Request;
using control::Responder;

// A table with a fault in every line must not make an answer that does not fit into a frame.
constexpr std::size_t kMostWarnings = 200;

void respond(const Responder &responder, json::Writer &writer)
{
    writer.endObject();
    responder.result(control::inside(writer.text()));
}

// A text of a request: EINVAL for something else.
Result<std::string> requiredText(const Request &request, const char *key)
{
    const json::Value value = request.body[key];
    if (!value.isString())
        return errors::invalid(std::string(key) + ": not a string");
    return std::string(value.stringOr(""));
}

Result<std::optional<std::string>> optionalText(const Request &request, const char *key)
{
    const json::Value value = request.body[key];
    if (value.isMissing() || value.isNull())
        return std::optional<std::string>();
    Result<std::string> text = requiredText(request, key);
    if (!text)
        return text.error();
    return std::optional(std::move(*text));
}

void handleGet(const Runtime &runtime, const Responder &responder)
{
    const Result<std::string> text = files::readRegular(runtime.places().routeFile(), limits::kRouteFile);
    if (!text && text.error().number() != ENOENT)
        return responder.error(errors::io("cannot be read: " + text.error().message()).withDetail("model/route"));
    if (text && !json::isValidUtf8(*text))
        return responder.error(errors::invalid("not valid UTF-8").withDetail("model/route"));
    json::Writer writer;
    writer.beginObject().field("text", text ? *text : std::string());
    writer.field("etag", text ? etagOf(*text) : std::string()).field("exists", text.isOk());
    respond(responder, writer);
}

void handlePut(Runtime &runtime, const Request &request, const Responder &responder)
{
    const Result<std::string> text = requiredText(request, "text");
    if (!text)
        return responder.error(text.error());
    const Result<std::string> etag = requiredText(request, "etag");
    if (!etag)
        return responder.error(etag.error());
    runtime.putRoute(*text, *etag,
                     [responder, after = text->empty() ? std::string() : etagOf(*text)](const Result<void> &outcome) {
                         if (!outcome)
                             return responder.error(outcome.error());
                         json::Writer writer;
                         writer.beginObject().field("etag", after);
                         respond(responder, writer);
                     });
}

void writeError(json::Writer &writer, const Error &error)
{
    const route::Position position = route::positionOf(error).value_or(route::Position());
    writer.key("error").beginObject().field("code", error.name());
    writer.field("message", json::toValidUtf8(error.message()));
    writer.field("line", position.line).field("column", position.column).endObject();
}

void answerCheck(const Responder &responder, const providers::RouteEgress::Check &check)
{
    json::Writer writer;
    writer.beginObject().field("ok", !check.error.has_value());
    writer.field("rules", static_cast<std::int64_t>(check.rules));
    writer.field("groups", static_cast<std::int64_t>(check.groups));
    if (check.error)
        writeError(writer, *check.error);
    writer.key("warnings").beginArray();
    const std::size_t shown = std::min(check.warnings.size(), kMostWarnings);
    for (std::size_t i = 0; i < shown; ++i) {
        writer.beginObject().field("line", check.warnings[i].line);
        writer.field("message", json::toValidUtf8(check.warnings[i].message)).endObject();
    }
    if (shown < check.warnings.size()) {
        writer.beginObject().field("line", 0);
        writer.field("message", "and " + std::to_string(check.warnings.size() - shown) + " more").endObject();
    }
    writer.endArray();
    respond(responder, writer);
}

void handleCheck(providers::RouteEgress &route, const Request &request, const Responder &responder)
{
    const Result<std::optional<std::string>> text = optionalText(request, "text");
    if (!text)
        return responder.error(text.error());
    route.check(*text, [responder](const providers::RouteEgress::Check &check) { answerCheck(responder, check); });
}

// As a request would find it: of the slot that the rule picks.
const char *keyWord(Runtime &runtime, const config::ProviderConfig &provider, const std::string &slot)
{
    if (slot.empty())
        return "none";
    if (runtime.secrets().state(provider.name, slot).state == providers::SlotState::Filled)
        return "filled";
    return provider.needsKey || slot != providers::kDefaultSlot ? "missing" : "none";
}

// "P/M", or an alias. Null when there is no such model.
const models::ModelEntry *findModel(const models::ModelCatalog &catalog, std::string_view name)
{
    std::string target(name);
    if (const models::ModelAlias *alias = catalog.alias(name)) {
        const std::size_t model = alias->target.rfind('/');
        target = alias->target.substr(alias->target.rfind('/', model - 1) + 1);
    }
    const auto ref = abi::parseModelRef(target);
    return ref ? catalog.find(*ref) : nullptr;
}

void answerExplain(Runtime &runtime, const Responder &responder, const models::ModelEntry &entry,
                   const providers::RouteEgress::Explanation &explanation)
{
    const providers::Egress &egress = explanation.egress;
    json::Writer writer;
    writer.beginObject().field("model", entry.ref.text()).field("line", egress.line);
    writer.field("rule", json::toValidUtf8(egress.rule)).field("group", egress.group);
    writer.field("transport", providers::transportWord(egress.transport)).field("base_url", egress.baseUrl);
    if (egress.transport == providers::Transport::Unix)
        writer.field("socket", json::toValidUtf8(egress.socketPath));
    writer.field("slot", egress.slot).field("key", keyWord(runtime, *entry.provider, egress.slot));
    writer.key("warnings").beginArray();
    for (std::size_t i = 0; i < std::min(explanation.warnings.size(), kMostWarnings); ++i)
        writer.string(json::toValidUtf8(explanation.warnings[i]));
    writer.endArray();
    respond(responder, writer);
}

void handleExplain(Runtime &runtime, providers::RouteEgress &route, const Request &request, const Responder &responder)
{
    const Result<std::string> model = requiredText(request, "model");
    if (!model)
        return responder.error(model.error());
    const Result<std::optional<std::string>> pname = optionalText(request, "pname");
    if (!pname)
        return responder.error(pname.error());
    const Result<std::optional<std::string>> ip = optionalText(request, "ip");
    if (!ip)
        return responder.error(ip.error());
    std::optional<route::Address> address;
    if (*ip && !(address = route::parseAddress(**ip)))
        return responder.error(errors::invalid("ip: not an address: " + control::clipped(**ip, 100)));
    const auto catalog = runtime.snapshot().load()->catalog;
    const models::ModelEntry *entry = findModel(*catalog, *model);
    if (!entry)
        return responder.error(errors::notFound("no such model: " + control::clipped(*model, 200)));
    if (!entry->provider)
        return responder.error(errors::unsupported("answered inside the daemon, no route is asked").withDetail(*model));
    const auto names = [pname = *pname] { return pname ? std::vector{*pname} : std::vector<std::string>(); };
    // The catalogue is held, so that the entry lives until the answer.
    route.explain(
        {*entry->provider, entry->ref, entry->nativeId, names}, address,
        [&runtime, responder, catalog, entry](const Result<providers::RouteEgress::Explanation> &explanation) {
            if (!explanation)
                return responder.error(explanation.error());
            answerExplain(runtime, responder, *entry, *explanation);
        });
}

} // namespace

void registerRouteOperations(control::ControlServer &server, Runtime &runtime, providers::RouteEgress &route)
{
    server.addHandler("route.get", Authority::Anyone,
                      [&runtime](const Request &, const Responder &responder) { handleGet(runtime, responder); });
    server.addHandler(
        "route.put", Authority::Administrator,
        [&runtime](const Request &request, const Responder &responder) { handlePut(runtime, request, responder); });
    server.addHandler("route.check", Authority::Anyone, [&route](const Request &request, const Responder &responder) {
        handleCheck(route, request, responder);
    });
    server.addHandler("route.explain", Authority::Anyone,
                      [&runtime, &route](const Request &request, const Responder &responder) {
                          handleExplain(runtime, route, request, responder);
                      });
}

} // namespace cortexfs
