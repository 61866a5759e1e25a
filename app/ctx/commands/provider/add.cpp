#include "app/ctx/commands/provider/provider.h"

#include "app/ctx/core/invocation.h"
#include "app/ctx/core/session.h"
#include "app/ctx/core/text.h"
#include "common/json/merge_patch.h"

#include <charconv>
#include <cstdint>

namespace cortexfs::ctx::provider_command {

namespace {

void writeList(json::Writer &writer, std::string_view key, const std::vector<std::string_view> &words)
{
    if (words.empty())
        return;
    writer.key(key).beginArray();
    for (const std::string_view word : words)
        writer.string(json::toValidUtf8(word));
    writer.endArray();
}

Result<void> writeLimits(json::Writer &writer, const std::vector<std::string_view> &limits)
{
    if (limits.empty())
        return {};
    writer.key("model_limits").beginObject();
    for (const std::string_view limit : limits) {
        const std::size_t equals = limit.rfind('=');
        const std::string_view digits = equals == std::string_view::npos ? std::string_view()
                                                                         : limit.substr(equals + 1);
        std::int64_t number = 0;
        const auto [stop, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
        if (failure != std::errc() || stop != digits.data() + digits.size())
            return errors::invalid("--limit takes MODEL=TOKENS").withDetail(json::toValidUtf8(limit));
        writer.field(json::toValidUtf8(limit.substr(0, equals)), number);
    }
    writer.endObject();
    return {};
}

// What the options say, as members of a provider file.
Result<std::string> givenConfig(const Invocation &invocation, const std::string &name)
{
    const std::vector<std::string_view> models = invocation.values("--model");
    json::Writer writer;
    writer.beginObject().field("name", name);
    if (const auto url = invocation.value("--base-url"))
        writer.field("base_url", json::toValidUtf8(*url));
    if (const auto model = invocation.value("--default-model"))
        writer.field("default_model", json::toValidUtf8(*model));
    else if (!models.empty())
        writer.field("default_model", json::toValidUtf8(models.front()));
    writeList(writer, "models", models);
    if (const Result<void> limits = writeLimits(writer, invocation.values("--limit")); !limits)
        return limits.error();
    writeList(writer, "formats", invocation.values("--format"));
    writer.endObject();
    return writer.take();
}

// The preset with what was given put over it.
Result<std::string> overPreset(Session &session, std::string_view preset, const std::string &given)
{
    const Result<json::Document> reply = session.ask("provider.preset.list");
    if (!reply)
        return reply.error();
    const Result<json::Document> patch = json::parse(given);
    if (!patch)
        return patch.error();
    for (const json::Value &known : reply->root()["presets"].elements()) {
        bool isWanted = known["name"].stringOr("") == preset;
        for (const json::Value &alias : known["aliases"].elements())
            isWanted = isWanted || alias.stringOr("") == preset;
        if (isWanted)
            return json::mergePatch(known["config"], patch->root());
    }
    return withPresetHint(errors::notFound("no such preset: " + json::toValidUtf8(preset)));
}

Result<json::Document> put(const Invocation &invocation, const std::string &name)
{
    Session &session = invocation.session();
    Result<std::string> config = givenConfig(invocation, name);
    if (config && invocation.has("--from-preset"))
        config = overPreset(session, *invocation.value("--from-preset"), *config);
    if (!config)
        return config.error();
    json::Writer request;
    request.beginObject().field("name", name).field("etag", "").key("config").raw(*config).endObject();
    Result<json::Document> reply = session.ask("provider.put", membersOf(request.text()));
    if (!reply && reply.error().number() == EEXIST) {
        return makeError(EEXIST, reply.error().message() + "; change it with: ctx provider edit " + shellWord(name),
                         reply.error().detail());
    }
    return reply;
}

bool hasOptions(const Invocation &invocation)
{
    for (const char *option : {"--base-url", "--from-preset", "--model", "--default-model", "--limit", "--format"}) {
        if (invocation.has(option))
            return true;
    }
    return false;
}

Result<json::Document> addOrInstall(const Invocation &invocation, const std::string &name)
{
    if (invocation.has("--base-url") || invocation.has("--from-preset"))
        return put(invocation, name);
    const Error missing = errors::invalid("where is it? say --base-url URL, or --from-preset for a ready-made one");
    if (hasOptions(invocation))
        return missing;
    // The name of a preset alone says everything.
    Result<json::Document> installed = installPreset(invocation.session(), name, false);
    return installed || installed.error().number() != ENOENT ? std::move(installed) : Result<json::Document>(missing);
}

Result<int> run(const Invocation &invocation)
{
    Session &session = invocation.session();
    Output &out = session.out();
    const Result<json::Document> reply = addOrInstall(invocation, json::toValidUtf8(invocation.word(0)));
    if (!reply)
        return reply.error();
    const std::string name(reply->root()["name"].stringOr(""));
    if (invocation.wantsJson()) {
        out.line(factsJson(reply->root()));
    } else {
        const std::string_view action = reply->root()["action"].stringOr("added");
        out.line(escaped(name) + ": " + escaped(action) + " (" + escaped(reply->root()["file"].stringOr("?")) + ")");
    }
    if (invocation.has("--key")) {
        const Result<json::Document> stored = askAndStoreKey(session, name, std::string(kDefaultSlot));
        if (!stored)
            return stored.error();
        if (!invocation.wantsJson())
            out.line("key of " + escaped(name) + ", slot default: stored");
    }
    if (!invocation.wantsJson()) {
        if (const std::string next = nextStep(session, name); !next.empty())
            out.line(next);
    }
    return kExitOk;
}

} // namespace

Command addCommand()
{
    return {
        .name = "add",
        .summary = "make a provider: any service or server that speaks a known format",
        .description =
            "Writes <config>/providers.d/NAME.json after the daemon has checked it, and uses it at once. The first "
            "--model is the default one unless --default-model says otherwise; without models, \"ctx provider models\" "
            "asks the service. With --from-preset the settings of a preset are the start, and what you give counts "
            "more. The name of a preset alone installs it.",
        .arguments = {{.name = "NAME", .help = "its name in the tree: model/NAME/", .completion = Completion::Preset}},
        .options = {{.name = "--base-url", .value = "URL", .help = "where it is, as its documentation says"},
                    {.name = "--format",
                     .value = "FORMAT",
                     .help = "a format it speaks, the best first; a wrong word lists them; may be repeated"},
                    {.name = "--model", .value = "MODEL", .help = "a model it has; may be repeated"},
                    {.name = "--default-model", .value = "MODEL", .help = "the one that is asked by default"},
                    {.name = "--limit",
                     .value = "MODEL=TOKENS",
                     .help = "the context limit of a model; may be repeated"},
                    {.name = "--from-preset",
                     .value = "PRESET",
                     .help = "start with the settings of a preset",
                     .completion = Completion::Preset},
                    {.name = "--key", .help = "ask for its key too, or read it from standard input"}},
        .examples = {{"ctx provider add local --base-url http://127.0.0.1:8317/v1 --model custom-model",
                      "A server on this machine."},
                     {"ctx provider add work --base-url https://llm.example/v1 --key", "One that wants a key."},
                     {"ctx provider add proxy --from-preset openai --base-url https://proxy.example/v1",
                      "A preset's models at another address."}},
        .exits = {{"1", "there is such a provider already, or no such preset"},
                  {"2", "wrong usage, or the settings are invalid: nothing was written"},
                  {"13", "only root, the daemon's user and the group cortexfs may"}},
        .files = {{"<config>/providers.d/*.json", "one file a provider"}},
        .printsFacts = true,
        .run = run,
    };
}

} // namespace cortexfs::ctx::provider_command
