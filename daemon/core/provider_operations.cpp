#include "daemon/core/provider_operations.h"

#include "common/base/limits.h"
#include "common/json/pretty.h"
#include "daemon/control/authority.h"
#include "daemon/core/etag.h"
#include "daemon/core/provider_file.h"
#include "daemon/core/reply_json.h"

#include <algorithm>

#include <unistd.h>

namespace cortexfs {

namespace {

using control::Authority;
using control::Request;
using control::Responder;

ProviderFiles filesOf(const Runtime &runtime) { return ProviderFiles(runtime.places().providersDir(), knownFormats()); }

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

// The file that a request is about: named itself, or by the provider in it.
Result<std::string> fileOf(const Runtime &runtime, const Request &request)
{
    const std::string file = request.text("file");
    if (!file.empty()) {
        if (const Result<void> named = ProviderFiles::checkName(file); !named)
            return named.error();
        return file;
    }
    const std::string name = request.text("name");
    if (const config::ProviderConfig *provider = findProvider(runtime, name))
        return provider->file;
    return errors::notFound("no such provider: " + name);
}

void writeSlots(json::Writer &writer, const Runtime &runtime, const std::string &name)
{
    writer.key("slots").beginArray();
    for (const providers::SlotInfo &slot : runtime.secrets().list()) {
        if (slot.provider != name)
            continue;
        const bool filled = slot.state == providers::SlotState::Filled;
        writer.beginObject().field("name", slot.slot).field("state", filled ? "filled" : "invalid");
        if (!filled)
            textField(writer, "reason", slot.reason);
        writer.endObject();
    }
    writer.endArray();
}

void handleProviderGet(const OperationContext &context, const Request &request, const Responder &responder)
{
    const Result<std::string> file = fileOf(context.runtime, request);
    if (!file)
        return responder.error(file.error());
    const std::vector<config::ProviderConfig> &providers = context.runtime.providers().providers;
    const auto provider = std::find_if(providers.begin(), providers.end(),
                                       [&](const config::ProviderConfig &known) { return known.file == *file; });
    const bool isValid = provider != providers.end();
    const Result<ProviderText> read = filesOf(context.runtime).read(*file);
    if (!read)
        return responder.error(read.error());
    const Result<config::ProviderConfig> parsed = config::parseProvider(read->text, *file, knownFormats());
    // What makes a file invalid may be a key in it, also one that was put there since the file was loaded.
    if (!isValid || !parsed) {
        if (const Result<void> allowed = control::requireAdministrator(request.peer, ::geteuid()); !allowed)
            return responder.error(allowed.error());
    }
    const Result<json::Document> document = json::parse(read->text);
    if (isValid && !document) // broken since it was loaded
        return responder.error(document.error().withDetail(json::toValidUtf8(*file)));
    json::Writer writer = openObject();
    writer.field("name", isValid ? provider->name : std::string());
    textField(writer, "file", *file);
    writer.field("etag", read->etag);
    textField(writer, "text", read->text);
    if (document)
        writer.key("config").value(document->root());
    if (!parsed)
        writer.key("error")
            .beginObject()
            .field("code", parsed.error().name())
            .field("message", json::toValidUtf8(parsed.error().text()))
            .endObject();
    writeSlots(writer, context.runtime, isValid ? provider->name : std::string());
    respond(responder, writer);
}

// As text, or as JSON, which is then laid out by us.
Result<std::string> newText(const Request &request)
{
    const json::Value config = request.body["config"];
    const auto text = request.body["text"].asString();
    if (text && config.isMissing())
        return std::string(*text);
    if (!config.isObject() || !request.body["text"].isMissing())
        return errors::invalid("either config, an object, or text is given");
    std::string pretty = json::prettyText(config) + "\n";
    return pretty.size() <= limits::kProviderFile ? pretty : config.toJson() + "\n";
}

void handleProviderPut(const OperationContext &context, const Request &request, const Responder &responder)
{
    const Result<std::string> text = newText(request);
    if (!text)
        return responder.error(text.error());
    if (!request.body["etag"].isString())
        return responder.error(errors::invalid("missing").withDetail("etag"));
    const std::string etag = request.text("etag");
    const Result<config::ProviderConfig> config = config::parseProvider(*text, {}, knownFormats());
    if (!config)
        return responder.error(config.error());
    const bool isNew = etag.empty() && request.text("file").empty();
    const Result<std::string> file = isNew ? Result<std::string>(config->name + ".json")
                                           : fileOf(context.runtime, request);
    if (!file)
        return responder.error(file.error());
    storeProviderFile(
        context.runtime, *file, etag, *text,
        [responder, name = config->name, file = *file, newEtag = etagOf(*text)](const Result<void> &outcome) {
            if (!outcome)
                return responder.error(outcome.error());
            json::Writer writer = openObject();
            writer.field("name", name);
            textField(writer, "file", file);
            writer.field("etag", newEtag);
            respond(responder, writer);
        });
}

void handleProviderRemove(const OperationContext &context, const Request &request, const Responder &responder)
{
    const Result<std::string> file = fileOf(context.runtime, request);
    if (!file)
        return responder.error(file.error());
    context.runtime.writer().run([files = filesOf(context.runtime), file = *file,
                                  etag = request.text("etag")] { return files.remove(file, etag); },
                                 [&runtime = context.runtime, responder, name = request.text("name"),
                                  file = *file](const Result<void> &outcome) {
                                     if (!outcome)
                                         return responder.error(outcome.error());
                                     runtime.refresh();
                                     json::Writer writer = openObject();
                                     writer.field("name", name);
                                     textField(writer, "file", file);
                                     respond(responder, writer);
                                 });
}

void answerKeyChange(const OperationContext &context, const Responder &responder, const std::string &name,
                     const std::string &slot, const Result<void> &outcome)
{
    if (!outcome)
        return responder.error(outcome.error());
    context.runtime.secretsChanged(name);
    json::Writer writer = openObject();
    writer.field("name", name).field("slot", slot);
    if (!findProvider(context.runtime, name))
        writer.field("declared", false);
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

} // namespace

const config::ProviderConfig *findProvider(const Runtime &runtime, const std::string &name)
{
    for (const config::ProviderConfig &provider : runtime.providers().providers) {
        if (provider.name == name)
            return &provider;
    }
    return nullptr;
}

void storeProviderFile(Runtime &runtime, const std::string &file, const std::string &etag, const std::string &text,
                       std::function<void(Result<void>)> done)
{
    runtime.writer().run([files = filesOf(runtime), file, etag, text] { return files.write(file, etag, text); },
                         [&runtime, done = std::move(done)](const Result<void> &outcome) {
                             if (outcome)
                                 runtime.refresh();
                             done(outcome);
                         });
}

void registerProviderOperations(control::ControlServer &server, const OperationContext &context)
{
    const auto add = [&](const char *op, Authority authority, auto handler) {
        server.addHandler(op, authority, [context, handler](const Request &request, const Responder &responder) {
            handler(context, request, responder);
        });
    };
    server.addHandler("provider.list", Authority::Anyone, [context](const Request &, const Responder &responder) {
        handleProviderList(context, responder);
    });
    add("provider.get", Authority::Anyone, handleProviderGet);
    add("provider.put", Authority::Administrator, handleProviderPut);
    add("provider.remove", Authority::Administrator, handleProviderRemove);
    add("provider.key.set", Authority::Administrator, handleKeySet);
    add("provider.key.remove", Authority::Administrator, handleKeyRemove);
}

} // namespace cortexfs
