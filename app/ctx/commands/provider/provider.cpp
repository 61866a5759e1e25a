#include "app/ctx/commands/provider/provider.h"

namespace cortexfs::ctx::provider_command {

Error withProviderHint(const Error &error)
{
    if (error.number() != ENOENT)
        return error;
    return makeError(ENOENT, error.message() + "; \"ctx provider list\" shows the providers", error.detail());
}

const Command &command()
{
    static const Command made = {
        .name = "provider",
        .group = Group::Configure,
        .summary = "the services that models come from, and their keys",
        .description =
            "A provider is one JSON file in <config>/providers.d: where the service is, which models it has, which "
            "formats it speaks. Keys are not in that file but in the daemon's secret store; \"ctx provider key set\" "
            "puts one there.",
        .examples = {{"ctx provider list", "Which providers are there, and do they have a key?"},
                     {"ctx provider key set openai", "Type the key; it is not shown."},
                     {"ctx provider test openai", "Ask a model of it for one word."}},
        .subcommands = {listCommand(), showCommand(), keyCommand(), testCommand()},
    };
    return made;
}

} // namespace cortexfs::ctx::provider_command
