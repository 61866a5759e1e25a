#include "app/ctx/commands/history/history.h"

#include "app/ctx/core/conversation.h"
#include "app/ctx/core/invocation.h"
#include "app/ctx/core/numbers.h"
#include "app/ctx/core/session.h"
#include "app/ctx/core/stored_messages.h"

namespace cortexfs::ctx::history_command {

namespace {

Result<int> run(const Invocation &invocation)
{
    Session &session = invocation.session();
    Result<object::Conversation> conversation = conversationOf(invocation);
    if (!conversation)
        return conversation.error();
    const Result<std::int64_t> limit = countOption(invocation, "--limit", 0);
    if (!limit)
        return limit.error();
    const Result<std::string> object = conversingObject(session, invocation.word(0));
    if (!object)
        return object.error();
    const Result<void> written = writeHistory(session, *object, *conversation, *limit, invocation.wantsJson());
    if (!written)
        return written.error();
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
