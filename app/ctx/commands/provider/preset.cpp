#include "app/ctx/commands/provider/provider.h"

#include "app/ctx/core/invocation.h"
#include "app/ctx/core/session.h"
#include "app/ctx/core/text.h"
#include "common/json/pretty.h"

namespace cortexfs::ctx::provider_command {

namespace {

std::string aliasesOf(const json::Value &preset)
{
    std::string out;
    for (const json::Value &alias : preset["aliases"].elements())
        out += (out.empty() ? "" : " ") + std::string(alias.stringOr("?"));
    return out;
}

bool isCalled(const json::Value &preset, std::string_view name)
{
    if (preset["name"].stringOr("") == name)
        return true;
    for (const json::Value &alias : preset["aliases"].elements()) {
        if (alias.stringOr("") == name)
            return true;
    }
    return false;
}

Result<int> list(const Invocation &invocation)
{
    Session &session = invocation.session();
    Output &out = session.out();
    const Result<json::Document> reply = session.ask("provider.preset.list");
    if (!reply)
        return reply.error();
    if (invocation.wantsJson()) {
        out.line(factsJson(reply->root()));
        return kExitOk;
    }
    Table table({"PRESET", "ALSO", "STATE", "DEFAULT MODEL", "BASE URL"});
    for (const json::Value &preset : reply->root()["presets"].elements()) {
        const std::string aliases = aliasesOf(preset);
        table.add({std::string(preset["name"].stringOr("?")), aliases.empty() ? "-" : aliases,
                   std::string(preset["state"].stringOr("?")),
                   std::string(preset["config"]["default_model"].stringOr("-")),
                   std::string(preset["config"]["base_url"].stringOr("?"))});
    }
    out.write(table.text(out.begin(Style::Dim), out.reset()));
    return kExitOk;
}

Result<int> show(const Invocation &invocation)
{
    Session &session = invocation.session();
    const Result<json::Document> reply = session.ask("provider.preset.list");
    if (!reply)
        return reply.error();
    const std::string name = json::toValidUtf8(invocation.word(0));
    for (const json::Value &preset : reply->root()["presets"].elements()) {
        if (!isCalled(preset, name))
            continue;
        session.out().line(invocation.wantsJson() ? preset.toJson() : escapedLines(json::prettyText(preset["config"])));
        return kExitOk;
    }
    return withPresetHint(errors::notFound("no such preset: " + name));
}

Result<int> install(const Invocation &invocation)
{
    Session &session = invocation.session();
    const Result<json::Document> reply = installPreset(session, json::toValidUtf8(invocation.word(0)),
                                                       invocation.has("--force"));
    if (!reply)
        return reply.error();
    if (invocation.wantsJson())
        session.out().line(factsJson(reply->root()));
    else
        session.out().write(installedText(session, reply->root()));
    return kExitOk;
}

Command listPresets()
{
    return {
        .name = "list",
        .summary = "list the ready-made provider files",
        .description =
            "STATE is absent, installed, or changed when a file of that provider is there and differs from the preset.",
        .examples = {{"ctx provider preset list", "Which ones are there?"}},
        .files = {{"<config>/providers.d/*.json", "where an installed one is"}},
        .printsFacts = true,
        .run = list,
    };
}

Command showPreset()
{
    return {
        .name = "show",
        .summary = "show a preset as it would be installed",
        .description = "Prints the file. Nothing is changed.",
        .arguments = {{.name = "NAME", .help = "the preset", .completion = Completion::Preset}},
        .examples = {{"ctx provider preset show openai", "Look before you install it."},
                     {"ctx provider preset show codex", "By another name of it."}},
        .exits = {{"1", "no such preset"}},
        .files = {{"<config>/providers.d/*.json", "where it would be installed"}},
        .printsFacts = true,
        .run = show,
    };
}

Command installPresetCommand()
{
    return {
        .name = "install",
        .summary = "install a ready-made provider file",
        .description =
            "Writes <config>/providers.d/NAME.json and uses it at once; what is left to do is its key. Doing it again "
            "changes nothing. A file that differs from the preset is replaced with --force only.",
        .arguments = {{.name = "NAME", .help = "the preset", .completion = Completion::Preset}},
        .options = {{.name = "--force", .letter = 'f', .help = "replace a file that has been changed"}},
        .examples = {{"ctx provider preset install openai && ctx provider key set openai", "All that it needs."},
                     {"ctx provider preset install claude", "By another name of it."},
                     {"ctx provider preset install openai --force", "Back to the preset."}},
        .exits = {{"1", "no such preset, or a changed file is there and --force was not given"},
                  {"13", "only root, the daemon's user and the group cortexfs may"}},
        .files = {{"<config>/providers.d/*.json", "one file a provider"}},
        .printsFacts = true,
        .run = install,
    };
}

} // namespace

Error withPresetHint(const Error &error)
{
    if (error.number() == ENOENT)
        return makeError(ENOENT, error.message() + "; \"ctx provider preset list\" shows them", error.detail());
    return error;
}

Result<json::Document> installPreset(Session &session, const std::string &name, bool isForced)
{
    json::Writer request;
    request.beginObject().field("name", name).field("force", isForced).endObject();
    Result<json::Document> reply = session.ask("provider.preset.install", membersOf(request.text()));
    if (reply)
        return reply;
    const Error &error = reply.error();
    if (error.number() == EEXIST) {
        return makeError(EEXIST, error.message() + "; --force replaces it, \"ctx provider edit\" changes it",
                         error.detail());
    }
    return withPresetHint(error);
}

std::string installedText(Session &session, const json::Value &facts)
{
    const std::string name(facts["name"].stringOr("?"));
    std::string text = escaped(name) + ": " + escaped(facts["action"].stringOr("?")) + " ("
                       + escaped(facts["file"].stringOr("?")) + ")\n";
    if (const std::string next = nextStep(session, name); !next.empty())
        text += next + "\n";
    return text;
}

Command presetCommand()
{
    return {
        .name = "preset",
        .summary = "ready-made provider files",
        .description =
            "A preset is a provider file that comes with CortexFS. It is copied into <config>/providers.d when you "
            "install it; what you change there is yours.",
        .examples = {{"ctx provider preset list", "Which ones are there?"},
                     {"ctx provider preset install openai", "Install one."}},
        .subcommands = {listPresets(), showPreset(), installPresetCommand()},
    };
}

} // namespace cortexfs::ctx::provider_command
