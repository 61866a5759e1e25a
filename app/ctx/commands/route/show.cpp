#include "app/ctx/commands/route/route.h"

#include "app/ctx/core/invocation.h"
#include "app/ctx/core/session.h"
#include "app/ctx/core/text.h"

namespace cortexfs::ctx::route_command {

namespace {

Result<int> run(const Invocation &invocation)
{
    Output &out = invocation.session().out();
    const Result<json::Document> reply = invocation.session().ask("route.get");
    if (!reply)
        return reply.error();
    const json::Value facts = reply->root();
    if (invocation.wantsJson()) {
        out.line(factsJson(facts));
        return kExitOk;
    }
    const std::string text(facts["text"].stringOr(""));
    if (!facts["exists"].asBool().value_or(false)) {
        out.line("There is no route table: every request goes direct, with the key in the slot default.");
        out.line("\"ctx route edit\" makes one.");
        return kExitOk;
    }
    out.write(escapedLines(text));
    if (!text.empty() && !text.ends_with('\n'))
        out.write("\n");
    return kExitOk;
}

} // namespace

Command showCommand()
{
    return {
        .name = "show",
        .summary = "print the route table",
        .description = "Prints the table as it is stored, or says that there is none and what then holds.",
        .examples = {{"ctx route show", "The table."},
                     {"ctx route show --json | jq -r .text > my-routes", "Into a file."}},
        .files = {kRouteNote},
        .printsFacts = true,
        .run = run,
    };
}

} // namespace cortexfs::ctx::route_command
