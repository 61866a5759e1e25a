#include "app/ctx/commands/provider/provider.h"

#include "app/ctx/core/invocation.h"
#include "app/ctx/core/session.h"
#include "app/ctx/core/text.h"
#include "common/json/pretty.h"

namespace cortexfs::ctx::provider_command {

namespace {

Result<int> run(const Invocation &invocation)
{
    Session &session = invocation.session();
    Output &out = session.out();
    json::Writer request;
    request.beginObject().field("name", json::toValidUtf8(invocation.word(0))).endObject();
    const Result<json::Document> reply = session.ask("provider.get", membersOf(request.text()));
    if (!reply)
        return withProviderHint(reply.error());
    const json::Value facts = reply->root();
    if (invocation.wantsJson()) {
        out.line(factsJson(facts));
        return kExitOk;
    }
    Table table;
    table.add({"name", std::string(facts["name"].stringOr("?"))});
    table.add({"file", std::string(facts["file"].stringOr("?"))});
    const std::vector<json::Value> slots = facts["slots"].elements();
    if (slots.empty())
        table.add({"keys", "none stored"});
    for (const json::Value &slot : slots) {
        std::string text = "slot " + std::string(slot["name"].stringOr("?")) + " "
                           + std::string(slot["state"].stringOr("?"));
        if (const std::string_view reason = slot["reason"].stringOr(""); !reason.empty())
            text += ": " + std::string(reason);
        table.add({"key", text});
    }
    out.write(table.text());
    out.line(escapedLines(json::prettyText(facts["config"])));
    return kExitOk;
}

} // namespace

Command showCommand()
{
    return {
        .name = "show",
        .summary = "show one provider: its file, its settings, which key slots are filled",
        .description =
            "Prints the settings as they stand in the provider's file. A key is never shown, only whether its slot is "
            "filled.",
        .arguments = {{.name = "NAME", .help = "the provider", .completion = Completion::Provider}},
        .examples = {{"ctx provider show openai", "Settings and key slots."},
                     {"ctx provider show openai --json | jq .config.models", "One setting, for a script."}},
        .exits = {{"1", "no such provider"}},
        .files = {{"<config>/providers.d/*.json", "one file a provider"}},
        .printsFacts = true,
        .run = run,
    };
}

} // namespace cortexfs::ctx::provider_command
