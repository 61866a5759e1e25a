#include "app/ctx/commands/sessions/sessions.h"

#include "app/ctx/core/conversation.h"
#include "app/ctx/core/invocation.h"
#include "app/ctx/core/numbers.h"
#include "app/ctx/core/session.h"
#include "app/ctx/core/text.h"

#include <limits>

namespace cortexfs::ctx::sessions_command {

namespace {

constexpr std::int64_t kShown = 50;
constexpr std::int64_t kEverything = std::numeric_limits<std::int64_t>::max();

struct Listing {
    std::vector<json::Document> pages; // hold what `sessions` looks at
    std::vector<json::Value> sessions;
    bool hasMore = false;
};

// The daemon gives what fits into a frame; the rest is asked for page by page.
Result<Listing> fetch(Session &session, const std::string &object, const std::string &shared, std::int64_t most)
{
    Listing listing;
    std::string after;
    do {
        json::Writer more;
        more.beginObject().field("limit", most - std::ssize(listing.sessions));
        if (!after.empty())
            more.field("after", after);
        more.endObject();
        Result<json::Document> page = session.ask("session.list",
                                                  storedMembers(object, {}, shared, membersOf(more.text())));
        if (!page)
            return page.error();
        const json::Value root = page->root();
        for (const json::Value &one : root["sessions"].elements())
            listing.sessions.push_back(one);
        listing.hasMore = root["more"].asBool().value_or(false) && root["sessions"].size() > 0;
        listing.pages.push_back(std::move(*page));
        if (listing.hasMore)
            after = listing.sessions.back()["session"].stringOr("");
    } while (listing.hasMore && std::ssize(listing.sessions) < most);
    return listing;
}

void writeTable(Output &out, const Listing &listing)
{
    if (listing.sessions.empty()) {
        out.line("no conversations yet; \"ctx send\" begins one");
        return;
    }
    Table table({"SESSION", "STATE", "LAST USED", "DIRECTORY"});
    for (const json::Value &session : listing.sessions) {
        const auto text = [&](const char *key) { return std::string(session[key].stringOr("-")); };
        table.add({text("session"), text("state"), text("updated_at"), text("cwd")});
    }
    out.write(table.text(out.begin(Style::Dim), out.reset()));
    if (listing.hasMore)
        out.line("There are more: --limit N or --all.");
}

std::string listingJson(const Listing &listing)
{
    json::Writer writer;
    writer.beginObject().key("sessions").beginArray();
    for (const json::Value &session : listing.sessions)
        writer.value(session);
    writer.endArray().field("more", listing.hasMore).endObject();
    return writer.take();
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
    const Result<Listing> listing = fetch(session, *object, conversation->shared, *limit);
    if (!listing)
        return listing.error();
    if (invocation.wantsJson())
        session.out().line(listingJson(*listing));
    else
        writeTable(session.out(), *listing);
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
