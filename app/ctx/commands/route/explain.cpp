#include "app/ctx/commands/route/route.h"

#include "app/ctx/core/invocation.h"
#include "app/ctx/core/session.h"
#include "app/ctx/core/text.h"

namespace cortexfs::ctx::route_command {

namespace {

std::string keyText(const json::Value &facts)
{
    const std::string_view key = facts["key"].stringOr("?");
    if (facts["slot"].stringOr("").empty())
        return "none is sent: key(none)";
    if (key == "none")
        return "none is there, and none is needed";
    return std::string(key);
}

std::string lineText(const json::Value &facts)
{
    const std::int64_t line = facts["line"].asInt().value_or(0);
    return line > 0 ? std::to_string(line) : "- (no line of the table)";
}

void writeFacts(Output &out, const json::Value &facts)
{
    Table table;
    const auto add = [&](const char *name, const char *key) {
        table.add({name, std::string(facts[key].stringOr("?"))});
    };
    add("model", "model");
    table.add({"line", lineText(facts)});
    add("rule", "rule");
    add("group", "group");
    add("transport", "transport");
    add("base URL", "base_url");
    if (!facts["socket"].isMissing())
        add("socket", "socket");
    table.add({"key slot", facts["slot"].stringOr("").empty() ? "-" : std::string(facts["slot"].stringOr(""))});
    table.add({"key", keyText(facts)});
    out.write(table.text());
    for (const json::Value &warning : facts["warnings"].elements())
        out.line(out.styled(Style::Warning, "warning") + ": " + escaped(warning.stringOr("?")));
}

Result<int> run(const Invocation &invocation)
{
    Session &session = invocation.session();
    std::string_view model = invocation.word(0);
    if (model.starts_with("model/"))
        model.remove_prefix(6);
    json::Writer request;
    request.beginObject().field("model", json::toValidUtf8(model));
    if (const auto name = invocation.value("--pname"))
        request.field("pname", json::toValidUtf8(*name));
    if (const auto address = invocation.value("--ip"))
        request.field("ip", json::toValidUtf8(*address));
    request.endObject();
    const Result<json::Document> reply = session.ask("route.explain", membersOf(request.text()));
    if (!reply) {
        if (reply.error().number() != ENOENT)
            return reply.error();
        return makeError(ENOENT, reply.error().message() + "; \"ctx model ls\" lists the models",
                         reply.error().detail());
    }
    if (invocation.wantsJson())
        session.out().line(factsJson(reply->root()));
    else
        writeFacts(session.out(), reply->root());
    return kExitOk;
}

} // namespace

Command explainCommand()
{
    return {
        .name = "explain",
        .summary = "show which rule a model's requests meet, and what it does",
        .description =
            "Asks the stored table as a request would, and sends nothing: no name is resolved and nobody is called. A "
            "dip(...) rule needs the address of the service; give one with --ip. A pname(...) rule sees the program "
            "that you name with --pname.",
        .arguments = {{.name = "MODEL", .help = "PROVIDER/MODEL or an alias", .completion = Completion::Model}},
        .options = {{.name = "--pname", .value = "NAME", .help = "the program that would ask"},
                    {.name = "--ip", .value = "ADDRESS", .help = "what the service's name would resolve to"}},
        .examples = {{"ctx route explain main", "As a program that no rule names."},
                     {"ctx route explain local/custom-model --pname curl --ip 192.0.2.7",
                      "For curl, if the service were there."}},
        .exits = {{"1", "no such model"}, {"2", "wrong usage, or the table is not valid"}},
        .files = {kRouteNote},
        .printsFacts = true,
        .run = run,
    };
}

} // namespace cortexfs::ctx::route_command
