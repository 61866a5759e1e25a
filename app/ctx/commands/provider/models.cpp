#include "app/ctx/commands/provider/provider.h"

#include "app/ctx/core/invocation.h"
#include "app/ctx/core/session.h"
#include "app/ctx/core/text.h"

namespace cortexfs::ctx::provider_command {

namespace {

void writeFacts(Output &out, const json::Value &facts, const std::string &name)
{
    Table table({"MODEL", "LIMIT", ""});
    table.alignRight(1);
    for (const json::Value &model : facts["models"].elements()) {
        const auto limit = model["limit"].asInt();
        table.add({std::string(model["id"].stringOr("?")), limit ? tokens(*limit) : "-",
                   model["new"].asBool().value_or(false) ? "new" : ""});
    }
    if (!table.isEmpty())
        out.write(table.text(out.begin(Style::Dim), out.reset()));
    for (const json::Value &id : facts["removed"].elements())
        out.line(out.styled(Style::Warning, "declared, but not in the list: " + escaped(id.stringOr("?"))));
    const std::int64_t added = facts["added"].asInt().value_or(0);
    std::string line = counted(static_cast<std::int64_t>(facts["models"].size()), "model", "models") + ", "
                       + std::to_string(added) + " new";
    if (facts["saved"].asBool().value_or(false))
        line += added > 0 ? ": added to the provider's file" : ": nothing to add";
    else if (added > 0)
        line += "; add them with: ctx provider models " + shellWord(name) + " --save";
    out.line(line);
}

Result<int> run(const Invocation &invocation)
{
    Session &session = invocation.session();
    const std::string name = json::toValidUtf8(invocation.word(0));
    json::Writer request;
    request.beginObject().field("name", name).field("save", invocation.has("--save")).endObject();
    const Result<json::Document> reply = session.ask("provider.models.refresh", membersOf(request.text()),
                                                     control::kProviderTestTime);
    if (!reply)
        return withProviderHint(reply.error());
    if (invocation.wantsJson())
        session.out().line(factsJson(reply->root()));
    else
        writeFacts(session.out(), reply->root(), name);
    return kExitOk;
}

} // namespace

Command modelsCommand()
{
    return {
        .name = "models",
        .summary = "ask a provider which models it has, and add them",
        .description =
            "Asks the provider's own list the way every call goes: through the route table, with the key slot it "
            "picks. Without --save nothing is changed. With it, models that the file does not declare yet are added "
            "to it, with their context limit where the provider documents one; none is ever taken away.",
        .arguments = {{.name = "NAME", .help = "the provider", .completion = Completion::Provider}},
        .options = {{.name = "--save", .help = "add what is new to the provider's file"}},
        .examples = {{"ctx provider models openai", "Look only."},
                     {"ctx provider models local --save", "Everything that a server of your own has."},
                     {"ctx provider models openai --json | jq -r '.models[]|select(.new).id'", "For a script."}},
        .exits = {{"1", "no such provider, or it has no list of models"},
                  {"13", "the key is refused"},
                  {"69", "cortexd is not running, the key is missing, or the service cannot be reached"},
                  {"70", "the service answers nonsense"}},
        .files = {{"<config>/providers.d/*.json", "where --save adds the models"}},
        .printsFacts = true,
        .run = run,
    };
}

} // namespace cortexfs::ctx::provider_command
