#include "app/ctx/commands/status/status.h"

#include "app/ctx/core/invocation.h"
#include "app/ctx/core/problems.h"
#include "app/ctx/core/session.h"
#include "app/ctx/core/text.h"

namespace cortexfs::ctx::status_command {

namespace {

Result<int> run(const Invocation &invocation)
{
    Session &session = invocation.session();
    Output &out = session.out();
    const Result<json::Document> reply = session.ask("status");
    if (!reply)
        return reply.error();
    const json::Value facts = reply->root();
    if (invocation.wantsJson()) {
        out.line(factsJson(facts));
        return kExitOk;
    }
    const std::string state(facts["state"].stringOr("?"));
    const bool isReady = state == "ready";
    const auto number = [&](const char *key) { return facts[key].asInt().value_or(0); };
    const auto text = [&](const char *key) { return std::string(facts[key].stringOr("?")); };
    out.line("cortexd " + escaped(text("version")) + " is "
             + out.styled(isReady ? Style::Good : Style::Warning, escaped(state)) + ", pid "
             + std::to_string(number("pid")) + ", up " + duration(number("uptime_ms")));
    Table table;
    const bool hasMount = facts["fuse"].asBool().value_or(true);
    table.add({"  mount", hasMount ? text("mount") : "none (started with --no-fuse)"});
    table.add({"  config", text("config")});
    table.add({"  state", text("state_dir")});
    table.add({"  runtime", text("runtime")});
    table.add({"  providers", std::to_string(number("providers"))});
    table.add({"  models", std::to_string(number("models"))});
    table.add({"  runs", std::to_string(number("runs"))});
    out.write(table.text());
    writeProblems(out, facts["problems"]);
    return kExitOk;
}

} // namespace

const Command &command()
{
    static const Command made = {
        .name = "status",
        .group = Group::Look,
        .summary = "is cortexd running, where, and with how much",
        .description =
            "Asks the daemon for its version, its directories, how many providers and models it has, how many "
            "runs are live, and what is wrong with its configuration. A problem listed here does not stop the "
            "daemon: what is named is left out, the rest works.",
        .examples = {{"ctx status", "The running daemon and its directories."},
                     {"ctx status --json", "The same as one JSON object, for a script."},
                     {"cat \"$CTX_ROOT/status\"", "The short form, a file of the tree."}},
        .exits = {{"0", "cortexd answered, with or without problems"}},
        .files = {{"<mount>/status", "state=ready and a few more lines"},
                  {"<runtime>/control.sock", "the socket that is asked"}},
        .printsFacts = true,
        .run = run,
    };
    return made;
}

} // namespace cortexfs::ctx::status_command
