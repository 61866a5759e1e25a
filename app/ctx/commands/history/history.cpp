#include "app/ctx/commands/history/history.h"

#include "app/ctx/core/conversation.h"
#include "app/ctx/core/invocation.h"
#include "app/ctx/core/numbers.h"
#include "app/ctx/core/session.h"
#include "app/ctx/core/text.h"

#include <unistd.h>

namespace cortexfs::ctx::history_command {

namespace {

// A string, or the texts of parts; a part without one by its type.
std::string contentText(const json::Value &content)
{
    if (const auto text = content.asString())
        return std::string(*text);
    std::string all;
    for (const json::Value &part : content.elements()) {
        if (!all.empty() && !all.ends_with('\n'))
            all += '\n';
        const auto text = part["text"].asString();
        all += text ? std::string(*text) : "[" + std::string(part["type"].stringOr("?")) + "]";
    }
    return all;
}

void writeMessage(Output &out, const json::Value &message, bool isTerminal)
{
    const auto shown = [&](std::string_view text) { return isTerminal ? escapedLines(text) : std::string(text); };
    const std::string_view role = message["role"].stringOr("?");
    std::string title(role);
    if (const std::string_view model = message["model"].stringOr(""); !model.empty())
        title += " (" + std::string(model) + ")";
    if (const std::string_view name = message["name"].stringOr(""); !name.empty())
        title += " " + std::string(name);
    if (const std::string_view status = message["status"].stringOr(""); !status.empty() && status != "ok")
        title += ", " + std::string(status);
    out.line(out.styled(role == "user" ? Style::Good : Style::Strong, escaped(title) + ":"));
    const std::string text = contentText(message["content"]);
    if (!text.empty())
        out.write(shown(text) + (text.ends_with('\n') ? "" : "\n"));
    for (const json::Value &call : message["tool_calls"].elements()) {
        const json::Value arguments = call["arguments"];
        const std::string given = arguments.isString() ? std::string(*arguments.asString()) : arguments.toJson();
        out.line("[calls " + escaped(call["name"].stringOr("?")) + " " + shown(given) + "]");
    }
    out.line("");
}

Result<int> run(const Invocation &invocation)
{
    Session &session = invocation.session();
    Output &out = session.out();
    Result<object::Conversation> conversation = conversationOf(invocation);
    if (!conversation)
        return conversation.error();
    const Result<std::int64_t> limit = countOption(invocation, "--limit", 0);
    if (!limit)
        return limit.error();
    const Result<std::string> object = conversingObject(session, invocation.word(0));
    if (!object)
        return object.error();
    std::string more = R"("what":"messages")";
    if (*limit > 0)
        more += ",\"limit\":" + std::to_string(*limit);
    Result<control::Client> client = session.connect();
    if (!client)
        return client.error();
    const bool isTerminal = ::isatty(STDOUT_FILENO) == 1;
    const auto take = [&](const json::Value &frame) -> Result<void> {
        const json::Value line = frame["line"];
        if (frame["type"].stringOr("") != "line" || !line.isObject())
            return {};
        if (invocation.wantsJson())
            out.line(isTerminal ? escapedLines(line.toJson()) : line.toJson());
        else
            writeMessage(out, line, isTerminal);
        return out.isBroken() ? out.flush() : Result<void>();
    };
    const Result<json::Document> reply = client->call(
        "session.show", storedMembers(*object, conversation->session, conversation->shared, more), control::kReplyTime,
        take);
    if (!reply)
        return reply.error();
    return kExitOk;
}

} // namespace

const Command &command()
{
    static const Command made = {
        .name = "history",
        .group = Group::Use,
        .summary = "print what was said in a conversation",
        .description = "Prints the messages that are kept of a conversation, oldest first: what was asked, what was "
                       "answered, which tools were called. The object need not be running. --json gives the lines of "
                       "the conversation's messages.jsonl.",
        .arguments = {objectArgument()},
        .options = {sessionOption(),
                    {.name = "--limit", .letter = 'n', .value = "N", .help = "only the last N messages"},
                    sharedOption()},
        .examples = {{"ctx history main", "The conversation \"default\"."},
                     {"ctx history main -s review -n 2", "The last question and its answer."}},
        .exits = {{"1", "no such object or conversation"}},
        .files = {kStoredNote},
        .printsLines = true,
        .run = run,
    };
    return made;
}

} // namespace cortexfs::ctx::history_command
