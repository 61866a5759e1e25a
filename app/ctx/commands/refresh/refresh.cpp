#include "app/ctx/commands/refresh/refresh.h"

#include "app/ctx/core/invocation.h"
#include "app/ctx/core/problems.h"
#include "app/ctx/core/session.h"
#include "app/ctx/core/text.h"

namespace cortexfs::ctx::refresh_command {

namespace {

Result<int> run(const Invocation &invocation)
{
    Session &session = invocation.session();
    Output &out = session.out();
    const Result<json::Document> reply = session.ask("refresh");
    if (!reply)
        return reply.error();
    const json::Value facts = reply->root();
    const bool hasProblems = facts["problems"].size() > 0;
    if (invocation.wantsJson()) {
        out.line(factsJson(facts));
    } else {
        out.line("configuration read again: " + counted(facts["providers"].asInt().value_or(0), "provider", "providers")
                 + ", " + counted(facts["models"].asInt().value_or(0), "model", "models"));
        writeProblems(out, facts["problems"]);
    }
    return hasProblems ? kExitGeneral : kExitOk;
}

} // namespace

const Command &command()
{
    static const Command made = {
        .name = "refresh",
        .group = Group::Configure,
        .summary = "make cortexd read its configuration again",
        .description =
            "Nothing watches the configuration files: an edit counts from the next refresh (or SIGHUP) on. Runs "
            "that are live go on as they began. What is invalid is left out and listed; the rest is used.",
        .examples = {{"ctx refresh", "After an edit below <config>/providers.d/."},
                     {"ctx refresh || ctx doctor", "Tell more when a file was refused."}},
        .exits = {{"0", "read, nothing to complain about"},
                  {"1", "read, but something in it is invalid and was left out"}},
        .files = {{"<config>/providers.d/*.json", "one file a provider"},
                  {"<config>/cortexd.json", "the daemon's settings"}},
        .printsFacts = true,
        .run = run,
    };
    return made;
}

} // namespace cortexfs::ctx::refresh_command
