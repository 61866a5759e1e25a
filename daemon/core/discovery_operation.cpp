#include "common/base/limits.h"
#include "common/json/merge_patch.h"
#include "common/json/pretty.h"
#include "daemon/core/provider_file.h"
#include "daemon/core/provider_operations.h"
#include "daemon/core/reply_json.h"
#include "daemon/models/discovery.h"

#include <algorithm>
#include <set>

namespace cortexfs {

namespace {

using control::Request;
using control::Responder;
using Models = std::vector<wire::ListedModel>;

// What the list says compared with what the file declares.
struct Comparison {
    Models listed;
    std::vector<bool> isNew;
    std::vector<std::string> removed; // declared, and not in the list
    std::size_t added = 0;
};

Comparison compare(Models listed, const config::ProviderConfig &provider)
{
    Comparison out;
    const std::set<std::string, std::less<>> declared(provider.models.begin(), provider.models.end());
    std::set<std::string, std::less<>> offered;
    for (const wire::ListedModel &model : listed) {
        offered.insert(model.id);
        out.isNew.push_back(declared.find(model.id) == declared.end());
        out.added += out.isNew.back() ? 1 : 0;
    }
    for (const std::string &id : provider.models) {
        if (offered.find(id) == offered.end())
            out.removed.push_back(id);
    }
    out.listed = std::move(listed);
    return out;
}

void answer(const Responder &responder, const std::string &name, const Comparison &comparison, bool isSaved)
{
    json::Writer writer = openObject();
    writer.field("name", name).key("models").beginArray();
    for (std::size_t i = 0; i < comparison.listed.size(); ++i) {
        const wire::ListedModel &model = comparison.listed[i];
        writer.beginObject().field("id", model.id).field("new", bool(comparison.isNew[i]));
        if (model.limit)
            writer.field("limit", static_cast<std::int64_t>(*model.limit));
        writer.endObject();
    }
    writer.endArray().field("added", count(comparison.added)).key("removed").beginArray();
    for (const std::string &id : comparison.removed)
        writer.string(id);
    writer.endArray().field("saved", isSaved);
    respond(responder, writer);
}

// The file with what is new at the end of `models`, and with the limits that the provider documents for it.
std::string withNewModels(const json::Value &file, const Comparison &comparison)
{
    json::Writer patch;
    patch.beginObject().key("models").beginArray();
    for (const json::Value &id : file["models"].elements())
        patch.value(id);
    for (std::size_t i = 0; i < comparison.listed.size(); ++i) {
        if (comparison.isNew[i])
            patch.string(comparison.listed[i].id);
    }
    patch.endArray();
    const bool hasLimits = std::any_of(comparison.listed.begin(), comparison.listed.end(),
                                       [](const wire::ListedModel &model) { return model.limit.has_value(); });
    if (hasLimits) {
        patch.key("model_limits").beginObject();
        for (std::size_t i = 0; i < comparison.listed.size(); ++i) {
            if (comparison.isNew[i] && comparison.listed[i].limit)
                patch.field(comparison.listed[i].id, static_cast<std::int64_t>(*comparison.listed[i].limit));
        }
        patch.endObject();
    }
    patch.endObject();
    const Result<json::Document> document = json::parse(patch.text());
    return document ? json::mergePatch(file, document->root()) : file.toJson();
}

void save(Runtime &runtime, const std::string &name, Comparison comparison, const Responder &responder)
{
    // The file of now, not of when the question was asked.
    const config::ProviderConfig *provider = findProvider(runtime, name);
    if (!provider)
        return responder.error(errors::stale("the provider is gone: " + name));
    const std::string file = provider->file;
    const Result<ProviderText> read = ProviderFiles(runtime.places().providersDir(), knownFormats()).read(file);
    if (!read)
        return responder.error(read.error());
    const Result<json::Document> document = json::parse(read->text);
    const Result<config::ProviderConfig> current = config::parseProvider(read->text, file, knownFormats());
    if (!document || !current)
        return responder.error(errors::stale("the file has become invalid").withDetail(json::toValidUtf8(file)));
    comparison = compare(std::move(comparison.listed), *current);
    if (comparison.added == 0)
        return answer(responder, name, comparison, true);
    const std::string compact = withNewModels(document->root(), comparison);
    const Result<json::Document> changed = json::parse(compact);
    std::string text = changed ? json::prettyText(changed->root()) + "\n" : compact;
    if (text.size() > limits::kProviderFile)
        text = compact + "\n";
    storeProviderFile(runtime, file, read->etag, text, [responder, name, comparison](const Result<void> &outcome) {
        if (!outcome)
            return responder.error(outcome.error());
        answer(responder, name, comparison, true);
    });
}

void handleListed(Runtime &runtime, const config::ProviderConfig &provider, Models listed, bool wantsSave,
                  const Responder &responder)
{
    std::map<std::string, std::int64_t> createdAt;
    for (const wire::ListedModel &model : listed) {
        if (model.createdAt > 0)
            createdAt[model.id] = model.createdAt;
    }
    runtime.noteCreationTimes(provider.name, createdAt);
    Comparison comparison = compare(std::move(listed), provider);
    if (wantsSave)
        save(runtime, provider.name, std::move(comparison), responder);
    else
        answer(responder, provider.name, comparison, false);
}

void handleModelsRefresh(const OperationContext &context, const Request &request, const Responder &responder)
{
    const std::string name = request.text("name");
    const config::ProviderConfig *provider = findProvider(context.runtime, name);
    if (!provider)
        return responder.error(errors::notFound("no such provider: " + name));
    const json::Value save = request.body["save"];
    if (!save.isMissing() && !save.isBool())
        return responder.error(errors::invalid("not true or false").withDetail("save"));
    // Goes with the server at the latest, before the services that it uses.
    auto *discovery = new models::ModelDiscovery(context.models.services(), *provider, {}, &context.server);
    discovery->start([&runtime = context.runtime, discovery, provider = *provider,
                      wantsSave = save.asBool().value_or(false), responder](Result<Models> listed) {
        discovery->deleteLater();
        if (!listed)
            return responder.error(listed.error());
        handleListed(runtime, provider, std::move(*listed), wantsSave, responder);
    });
}

} // namespace

void registerDiscoveryOperation(control::ControlServer &server, const OperationContext &context)
{
    server.addHandler("provider.models.refresh", control::Authority::Administrator,
                      [context](const Request &request, const Responder &responder) {
                          handleModelsRefresh(context, request, responder);
                      });
}

} // namespace cortexfs
