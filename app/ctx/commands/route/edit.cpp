#include "app/ctx/commands/route/route.h"

#include "app/ctx/core/editor.h"
#include "app/ctx/core/invocation.h"
#include "app/ctx/core/session.h"
#include "app/ctx/core/text.h"
#include "common/base/limits.h"

namespace cortexfs::ctx::route_command {

namespace {

// What a person sees who has no table yet.
constexpr char kTemplate[] = "# One rule a line, the first that matches wins; see: ctx route --help\n"
                             "#\n"
                             "# group(office) -> http(http://127.0.0.1:8080/v1), key(office)\n"
                             "# domain(example.com) -> office\n"
                             "fallback: direct\n";

Result<void> check(Session &session, const std::string &text)
{
    if (!json::isValidUtf8(text))
        return errors::invalid("not valid UTF-8").withDetail("route");
    json::Writer request;
    request.beginObject().field("text", text).endObject();
    const Result<json::Document> reply = session.ask("route.check", membersOf(request.text()));
    if (!reply)
        return reply.error();
    if (reply->root()["ok"].asBool().value_or(false))
        return {};
    return errors::invalid(faultText("route", reply->root()["error"]));
}

Result<void> put(Session &session, const std::string &text, const std::string &etag)
{
    json::Writer request;
    request.beginObject().field("text", text).field("etag", etag).endObject();
    const Result<json::Document> reply = session.ask("route.put", membersOf(request.text()));
    if (reply)
        return {};
    if (reply.error().number() == ESTALE)
        return errors::stale("the table was changed by somebody else meanwhile, and yours was not stored");
    return reply.error();
}

Result<int> run(const Invocation &invocation)
{
    Session &session = invocation.session();
    const Result<StoredTable> stored = storedTable(invocation);
    if (!stored)
        return stored.error();
    const EditSteps steps = {
        .fileName = "route",
        .maxBytes = limits::kRouteFile,
        .check = [&session](const std::string &text) { return check(session, text); },
        .store = [&session, etag = stored->etag](const std::string &text) { return put(session, text, etag); },
    };
    const Result<EditOutcome> outcome = editAndStore(stored->exists ? stored->text : std::string(kTemplate), steps,
                                                     session.environment());
    if (!outcome)
        return outcome.error();
    session.out().line(*outcome == EditOutcome::Stored ? "model/route: stored; it holds from the next request on"
                                                       : "model/route: not changed");
    return kExitOk;
}

} // namespace

Command editCommand()
{
    return {
        .name = "edit",
        .summary = "change the route table in your editor",
        .description =
            "Opens $VISUAL or $EDITOR on a copy. What you write is checked before it is stored; with a fault in it you "
            "are asked whether to go on editing. When the table was changed by somebody else meanwhile, or the daemon "
            "does not take it, nothing is stored and your text stays in a file that is named. An empty text removes "
            "the table.",
        .examples = {{"ctx route edit", "In the usual editor."},
                     {"EDITOR=\"code --wait\" ctx route edit", "In another one."}},
        .exits = {{"1", "the table was changed meanwhile, or the editor failed"},
                  {"2", "the text is no valid table"},
                  {"13", "only root, the daemon's user and the group cortexfs may"}},
        .files = {kRouteNote},
        .run = run,
    };
}

} // namespace cortexfs::ctx::route_command
