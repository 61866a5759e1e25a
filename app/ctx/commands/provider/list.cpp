#include "app/ctx/commands/provider/provider.h"

#include "app/ctx/core/invocation.h"
#include "app/ctx/core/session.h"
#include "app/ctx/core/text.h"

namespace cortexfs::ctx::provider_command {

namespace {

Result<int> run(const Invocation &invocation)
{
    Session &session = invocation.session();
    Output &out = session.out();
    const Result<json::Document> reply = session.ask("provider.list");
    if (!reply)
        return reply.error();
    const json::Value facts = reply->root();
    if (invocation.wantsJson()) {
        out.line(factsJson(facts));
        return kExitOk;
    }
    Table table({"PROVIDER", "STATE", "KEY", "MODELS", "DEFAULT MODEL", "BASE URL"});
    table.alignRight(3);
    for (const json::Value &provider : facts["providers"].elements()) {
        const std::string key(provider["key"].stringOr("?"));
        const std::string model(provider["default_model"].stringOr(""));
        table.add({std::string(provider["name"].stringOr("?")),
                   provider["enabled"].asBool().value_or(true) ? "enabled" : "disabled",
                   key == "none" ? "not needed" : key, std::to_string(provider["models"].asInt().value_or(0)),
                   model.empty() ? "-" : model, std::string(provider["base_url"].stringOr("?"))});
    }
    if (table.isEmpty() && facts["invalid"].size() == 0) {
        out.line("no providers yet: \"ctx provider preset list\" shows ready-made ones, \"ctx provider add\" makes "
                 "others");
        return kExitOk;
    }
    if (!table.isEmpty())
        out.write(table.text(out.begin(Style::Dim), out.reset()));
    if (facts["invalid"].size() > 0) {
        out.line(out.styled(Style::Bad, "invalid files, left out:"));
        Table invalid;
        for (const json::Value &file : facts["invalid"].elements()) {
            invalid.add({"  " + std::string(file["file"].stringOr("?")), std::string(file["code"].stringOr("?")),
                         std::string(file["message"].stringOr("?"))});
        }
        out.write(invalid.text());
    }
    return kExitOk;
}

} // namespace

Command listCommand()
{
    return {
        .name = "list",
        .summary = "list the providers: key, models, address",
        .description =
            "One row a provider file that is valid; the invalid ones follow with the reason. KEY is filled, missing, "
            "or not needed.",
        .examples = {{"ctx provider list", "All providers."},
                     {"ctx provider list --json | jq -r '.providers[]|select(.key==\"missing\").name'",
                      "Those that wait for a key."}},
        .files = {{"<config>/providers.d/*.json", "one file a provider"}},
        .printsFacts = true,
        .run = run,
    };
}

} // namespace cortexfs::ctx::provider_command
