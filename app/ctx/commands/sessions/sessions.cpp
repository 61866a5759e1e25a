#include "app/ctx/commands/sessions/sessions.h"

#include "app/ctx/core/conversation.h"
#include "app/ctx/core/invocation.h"
#include "app/ctx/core/numbers.h"
#include "app/ctx/core/session.h"
#include "app/ctx/core/text.h"

namespace cortexfs::ctx::sessions_command {

namespace {

constexpr std::int64_t kShown = 50;
constexpr std::int64_t kEverything = 1'000'000;

void writeTable(Output &out, const json::Value &facts)
{
    const std::vector<json::Value> sessions = facts["sessions"].elements();
    if (sessions.empty()) {
        out.line("no conversations yet; \"ctx send\" begins one");
        return;
    }
    Table table({"SESSION", "STATE", "MESSAGES", "LAST USED", "DIRECTORY"});
    table.alignRight(2);
    for (const json::Value &session : sessions) {
        const auto text = [&](const char *key) { return std::string(session[key].stringOr("-")); };
        const auto count = session["messages"].asInt();
        table.add(
            {text("session"), text("state"), count ? std::to_string(*count) : "-", text("updated_at"), text("cwd")});
    }
    out.write(table.text(out.begin(Style::Dim), out.reset()));
    if (facts["more"].asBool().value_or(false))
        out.line("There are more: --limit N or --all.");
}

Result<int> run(const Invocation &invocation)
{
    Session &session = invocation.session();
    if (invocation.has("--all") && invocation.has("--limit"))
        return errors::invalid("--all and --limit exclude each other");
    const Result<std::int64_t> limit = countOption(invocation, "--limit",
                                                   invocation.has("--all") ? kEverything : kShown);
    if (!limit)
        return limit.error();
    Result<object::Conversation> conversation = conversationOf(invocation);
    if (!conversation)
        return conversation.error();
    const Result<std::string> object = conversingObject(session, invocation.word(0));
    if (!object)
        return object.error();
    const Result<json::Document> reply = session.ask(
        "session.list", storedMembers(*object, {}, conversation->shared, "\"limit\":" + std::to_string(*limit)));
    if (!reply)
        return reply.error();
    if (invocation.wantsJson())
        session.out().line(factsJson(reply->root()));
    else
        writeTable(session.out(), reply->root());
    return kExitOk;
}

} // namespace

const Command &command()
{
    static const Command made = {
        .name = "sessions",
        .group = Group::Use,
        .summary = "list the conversations with an object",
        .description =
            "Lists your conversations with a model or an agent, the last used first, with their state: idle, "
            "active (a run is live), done, error, cancelled.",
        .arguments = {objectArgument()},
        .options = {{.name = "--limit", .letter = 'n', .value = "N", .help = "at most so many (default: 50)"},
                    {.name = "--all", .help = "all of them"},
                    sharedOption()},
        .examples = {{"ctx sessions main", "What was talked about last?"},
                     {"ctx sessions main --all --json | jq -r '.sessions[].session'", "Their names."}},
        .exits = {{"1", "no such object"}},
        .files = {kStoredNote},
        .printsFacts = true,
        .run = run,
    };
    return made;
}

} // namespace cortexfs::ctx::sessions_command
