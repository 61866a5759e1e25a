#include "app/ctx/commands/output/output.h"

#include "app/ctx/core/conversation.h"
#include "app/ctx/core/invocation.h"
#include "app/ctx/core/session.h"
#include "app/ctx/core/text.h"

#include <unistd.h>

namespace cortexfs::ctx::output_command {

namespace {

Result<int> run(const Invocation &invocation)
{
    Session &session = invocation.session();
    Output &out = session.out();
    Result<object::Conversation> conversation = conversationOf(invocation);
    if (!conversation)
        return conversation.error();
    const Result<std::string> object = conversingObject(session, invocation.word(0));
    if (!object)
        return object.error();
    const Result<json::Document> reply = session.ask(
        "session.show", storedMembers(*object, conversation->session, conversation->shared, R"("what":"output")"));
    if (!reply)
        return reply.error();
    if (invocation.wantsJson()) {
        out.line(factsJson(reply->root()));
        return kExitOk;
    }
    const std::string_view text = reply->root()["text"].stringOr("");
    const bool isTerminal = ::isatty(STDOUT_FILENO) == 1;
    out.write(isTerminal ? escapedLines(text) : std::string(text));
    if (isTerminal && !text.empty() && !text.ends_with('\n'))
        out.write("\n");
    return kExitOk;
}

} // namespace

const Command &command()
{
    static const Command made = {
        .name = "output",
        .group = Group::Use,
        .summary = "print the last answer of a conversation",
        .description = "Prints what the object answered last in a conversation, and nothing around it: the file "
                       "latest.md of the conversation, byte for byte when it goes into a file or a pipe.",
        .arguments = {objectArgument()},
        .options = {sessionOption(), sharedOption()},
        .examples = {{"ctx output main > answer.md", "Into a file."},
                     {"ctx output main -s review | less", "Of another conversation."}},
        .exits = {{"1", "no such object or conversation, or nothing was answered yet"}},
        .files = {kStoredNote},
        .printsFacts = true,
        .run = run,
    };
    return made;
}

} // namespace cortexfs::ctx::output_command
