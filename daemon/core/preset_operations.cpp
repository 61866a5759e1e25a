#include "common/base/limits.h"
#include "common/config/presets.h"
#include "daemon/core/etag.h"
#include "daemon/core/provider_file.h"
#include "daemon/core/provider_operations.h"
#include "daemon/core/reply_json.h"

namespace cortexfs {

namespace {

using control::Authority;
using control::Request;
using control::Responder;

// Where the preset is or would be: a provider of that name may live in a file of another.
std::string fileOf(const Runtime &runtime, const config::Preset &preset)
{
    const config::ProviderConfig *provider = findProvider(runtime, std::string(preset.name));
    return provider ? provider->file : std::string(preset.name) + ".json";
}

bool isSameJson(std::string_view a, std::string_view b)
{
    const Result<json::Document> left = json::parse(a);
    const Result<json::Document> right = json::parse(b);
    return left && right && left->root().toJson() == right->root().toJson();
}

struct Installed {
    std::string file;
    std::string etag; // empty: there is no file
    const char *state = "absent";
    std::optional<Error> failure; // there is something, but it cannot be read
};

Installed look(const Runtime &runtime, const config::Preset &preset)
{
    Installed found{fileOf(runtime, preset), {}, "absent", {}};
    const Result<ProviderText> read = ProviderFiles(runtime.places().providersDir(), knownFormats()).read(found.file);
    if (read) {
        found.etag = read->etag;
        found.state = isSameJson(read->text, preset.json) ? "installed" : "changed";
    } else if (read.error().number() != ENOENT) {
        found.state = "changed";
        found.failure = read.error();
    }
    return found;
}

void handleList(const OperationContext &context, const Responder &responder)
{
    json::Writer writer = openObject();
    writer.key("presets").beginArray();
    for (const config::Preset &preset : config::presets()) {
        writer.beginObject().field("name", preset.name).key("aliases").beginArray();
        for (const std::string_view alias : config::presetAliases(preset.name))
            writer.string(alias);
        writer.endArray().field("state", look(context.runtime, preset).state);
        writer.key("config");
        if (const Result<json::Document> document = json::parse(preset.json))
            writer.value(document->root());
        else
            writer.null();
        writer.endObject();
    }
    writer.endArray();
    respond(responder, writer);
}

void answer(const Responder &responder, const config::Preset &preset, const std::string &file, const char *action)
{
    json::Writer writer = openObject();
    writer.field("name", preset.name);
    textField(writer, "file", file);
    writer.field("action", action);
    respond(responder, writer);
}

void handleInstall(const OperationContext &context, const Request &request, const Responder &responder)
{
    const std::string name = request.text("name");
    const config::Preset *preset = config::findPreset(name);
    if (!preset)
        return responder.error(errors::notFound("no such preset: " + name));
    const json::Value force = request.body["force"];
    if (!force.isMissing() && !force.isBool())
        return responder.error(errors::invalid("not true or false").withDetail("force"));
    const Installed found = look(context.runtime, *preset);
    if (found.failure)
        return responder.error(found.failure->withDetail(json::toValidUtf8(found.file)));
    if (found.state == std::string_view("installed"))
        return answer(responder, *preset, found.file, "unchanged");
    if (!found.etag.empty() && !force.asBool().value_or(false)) {
        return responder.error(
            errors::alreadyExists("the file has been changed; it is replaced only when that is forced")
                .withDetail(json::toValidUtf8(found.file)));
    }
    storeProviderFile(context.runtime, found.file, found.etag, std::string(preset->json),
                      [responder, preset, found](const Result<void> &outcome) {
                          if (!outcome)
                              return responder.error(outcome.error());
                          answer(responder, *preset, found.file, found.etag.empty() ? "installed" : "replaced");
                      });
}

} // namespace

void registerPresetOperations(control::ControlServer &server, const OperationContext &context)
{
    server.addHandler("provider.preset.list", Authority::Anyone,
                      [context](const Request &, const Responder &responder) { handleList(context, responder); });
    server.addHandler(
        "provider.preset.install", Authority::Administrator,
        [context](const Request &request, const Responder &responder) { handleInstall(context, request, responder); });
}

} // namespace cortexfs
