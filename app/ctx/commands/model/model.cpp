#include "app/ctx/commands/model/model.h"

#include "app/ctx/core/invocation.h"
#include "app/ctx/core/models.h"
#include "app/ctx/core/session.h"
#include "app/ctx/core/text.h"

#include <algorithm>

namespace cortexfs::ctx::model_command {

namespace {

struct Selection {
    std::vector<json::Value> shown;
    std::int64_t hidden = 0; // they cannot run: no key
};

Selection select(const ModelList &list, bool wantsAll)
{
    Selection selection;
    for (const json::Value &model : list.models()) {
        if (wantsAll || model["state"].stringOr("ready") != "unconfigured")
            selection.shown.push_back(model);
        else
            ++selection.hidden;
    }
    return selection;
}

std::string selectionJson(const ModelList &list, const Selection &selection)
{
    json::Writer writer;
    writer.beginObject().key("models").beginArray();
    for (const json::Value &model : selection.shown)
        writer.value(model);
    writer.endArray().key("aliases").beginArray();
    for (const json::Value &alias : list.aliases())
        writer.value(alias);
    writer.endArray().field("hidden", selection.hidden).endObject();
    return writer.take();
}

Result<int> list(const Invocation &invocation)
{
    Session &session = invocation.session();
    const std::string_view provider = invocation.word(0);
    const Result<ModelList> models = ModelList::fetch(session, provider);
    if (!models)
        return models.error();
    if (!provider.empty() && models->models().empty()) {
        return errors::notFound("no models of this provider; \"ctx provider list\" shows the providers")
            .withDetail(std::string(provider));
    }
    const Selection selection = select(*models, invocation.has("--all") || !provider.empty());
    Output &out = session.out();
    if (invocation.wantsJson()) {
        out.line(selectionJson(*models, selection));
        return kExitOk;
    }
    Table table({"MODEL", "LIMIT", "EFFORT", "STATE", "CAPABILITIES", "ALIASES"});
    table.alignRight(1);
    for (const json::Value &model : selection.shown) {
        const std::string name(model["name"].stringOr("?"));
        table.add({name, limitText(model), std::string(model["effort"].stringOr("?")),
                   std::string(model["state"].stringOr("?")), capText(model), models->aliasesOf(name)});
    }
    out.write(table.text(out.begin(Style::Dim), out.reset()));
    if (selection.hidden > 0) {
        out.line(out.styled(Style::Dim, counted(selection.hidden, "more model has", "more models have")
                                            + " no key yet; --all shows them, \"ctx provider list\" says whose"));
    }
    return kExitOk;
}

constexpr std::chrono::milliseconds kLimitsTime{60'000}; // the daemon gives up before

Result<int> refreshLimits(const Invocation &invocation)
{
    Session &session = invocation.session();
    const Result<json::Document> reply = session.ask("limits.refresh", {}, kLimitsTime);
    if (!reply) {
        return makeError(reply.error().number(), reply.error().message() + "; the limits of before hold",
                         reply.error().detail());
    }
    const json::Value facts = reply->root();
    if (invocation.wantsJson()) {
        session.out().line(factsJson(facts));
    } else {
        session.out().line("limits of " + counted(facts["models"].asInt().value_or(0), "model", "models") + " from "
                           + escaped(facts["url"].stringOr("?")));
    }
    return kExitOk;
}

Command limitsCommand()
{
    return {
        .name = "limits",
        .summary = "the context limits of well-known models",
        .description = "The hard limit of a model, in its control file \"limit\", is what the provider's file says "
                       "(model_limits), else what the cache of the public catalogue models.dev says, else unknown.",
        .examples = {{"ctx model limits refresh", "Fetch the catalogue."}},
        .subcommands = {{
            .name = "refresh",
            .summary = "fetch the catalogue of context limits and use it at once",
            .description =
                "Replaces the cache as a whole, or leaves it as it is when anything fails. Nothing else ever fetches "
                "it: no run waits for it. The address is models_dev_url of cortexd.json.",
            .examples = {{"ctx model limits refresh", "Takes a few seconds."},
                         {"ctx model limits refresh && cat $CTX_ROOT/model/main.d/limit", "And look."}},
            .exits = {{"13", "only root, the daemon's user and the group cortexfs may"},
                      {"69", "cortexd is not running, or the catalogue cannot be reached"},
                      {"70", "what came is no such catalogue"}},
            .files = {{"<state>/cache/model-limits.json", "the cache"},
                      {"<config>/cortexd.json", "models_dev_url, another address for it"}},
            .printsFacts = true,
            .run = refreshLimits,
        }},
    };
}

} // namespace

const Command &command()
{
    static const Command made = {
        .name = "model",
        .group = Group::Configure,
        .summary = "the models of all providers",
        .description =
            "A model is a file, <mount>/model/PROVIDER/MODEL, with a directory of control files beside it. This "
            "command sees them as a table; \"ctx set\" changes one.",
        .examples = {{"ctx model ls", "All models that can run now."}},
        .subcommands =
            {{
                 .name = "ls",
                 .summary = "list models with context limit, effort, state and capabilities",
                 .description =
                     "LIMIT is the hard context limit in tokens, of which \"unknown\" says that nobody has told it; "
                     "272k "
                     "is 272000. STATE is ready, or unconfigured when the provider's key is missing. ALIASES are the "
                     "short "
                     "names that stand for the model now. Models without a key are counted only, unless --all or a "
                     "PROVIDER is given.",
                 .arguments = {{.name = "PROVIDER",
                                .help = "only the models of this one",
                                .completion = Completion::Provider,
                                .isOptional = true}},
                 .options = {{.name = "--all", .letter = 'a', .help = "also models whose provider has no key yet"}},
                 .examples = {{"ctx model ls", "All models that can run now."},
                              {"ctx model ls openai", "Those of one provider, with or without a key."},
                              {"ctx model ls --all --json | jq -r '.models[].name'", "Every name, for a script."}},
                 .exits = {{"1", "no such provider, or it has no models"}},
                 .files = {{"<mount>/model/", "the same models as files"},
                           {"<config>/providers.d/*.json", "where models and their limits are declared"},
                           {"<state>/cache/model-limits.json",
                            "limits of well-known models: ctx model limits refresh"}},
                 .printsFacts = true,
                 .run = list,
             },
             limitsCommand()},
    };
    return made;
}

} // namespace cortexfs::ctx::model_command
