#include "app/ctx/core/stored_messages.h"

#include "app/ctx/core/conversation.h"
#include "app/ctx/core/text.h"

#include <unistd.h>

namespace cortexfs::ctx {

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

} // namespace

Result<void> writeHistory(Session &session, const std::string &object, const object::Conversation &conversation,
                          std::int64_t limit, bool wantsJson)
{
    Output &out = session.out();
    std::string more = R"("what":"messages")";
    if (limit > 0)
        more += ",\"limit\":" + std::to_string(limit);
    Result<control::Client> client = session.connect();
    if (!client)
        return client.error();
    const bool isTerminal = ::isatty(STDOUT_FILENO) == 1;
    const auto take = [&](const json::Value &frame) -> Result<void> {
        const json::Value line = frame["line"];
        if (frame["type"].stringOr("") != "line" || !line.isObject())
            return {};
        if (wantsJson)
            out.line(isTerminal ? escapedLines(line.toJson()) : line.toJson());
        else
            writeMessage(out, line, isTerminal);
        return out.isBroken() ? out.flush() : Result<void>();
    };
    const Result<json::Document> reply = client->call(
        "session.show", storedMembers(object, conversation.session, conversation.shared, more), control::kReplyTime,
        take);
    if (!reply)
        return reply.error();
    return {};
}

} // namespace cortexfs::ctx
