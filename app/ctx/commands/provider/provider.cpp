#include "app/ctx/commands/provider/provider.h"

#include "app/ctx/core/session.h"
#include "app/ctx/core/text.h"

namespace cortexfs::ctx::provider_command {

Error withProviderHint(const Error &error)
{
    if (error.number() != ENOENT)
        return error;
    return makeError(ENOENT, error.message() + "; \"ctx provider list\" shows the providers", error.detail());
}

std::string nextStep(Session &session, const std::string &provider)
{
    const Result<json::Document> reply = session.ask("provider.list");
    if (!reply)
        return {};
    for (const json::Value &entry : reply->root()["providers"].elements()) {
        if (entry["name"].stringOr("") != provider)
            continue;
        if (entry["key"].stringOr("") == "missing")
            return "next: ctx provider key set " + shellWord(provider);
        if (entry["models"].asInt().value_or(0) == 0)
            return "next: ctx provider models " + shellWord(provider) + " --save";
        return "next: ctx provider test " + shellWord(provider);
    }
    return {};
}

const Command &command()
{
    static const Command made = {
        .name = "provider",
        .group = Group::Configure,
        .summary = "the services that models come from, and their keys",
        .description =
            "A provider is one JSON file in <config>/providers.d: where the service is, which models it has, which "
            "formats it speaks. Presets are such files, ready made; \"ctx provider add\" makes one for any other "
            "service. Keys are not in that file but in the daemon's secret store; \"ctx provider key set\" puts one "
            "there. Nothing here needs \"ctx refresh\" afterwards.",
        .examples = {{"ctx provider preset install openai && ctx provider key set openai",
                      "All that a service of the presets needs."},
                     {"ctx provider add local --base-url http://127.0.0.1:8317/v1 --model custom-model",
                      "A server of your own."},
                     {"ctx provider list", "Which providers are there, and do they have a key?"},
                     {"ctx provider test openai", "Ask a model of it for one word."}},
        .subcommands = {listCommand(), showCommand(), addCommand(), editCommand(), enableCommand(), disableCommand(),
                        removeCommand(), presetCommand(), keyCommand(), modelsCommand(), testCommand()},
    };
    return made;
}

} // namespace cortexfs::ctx::provider_command
