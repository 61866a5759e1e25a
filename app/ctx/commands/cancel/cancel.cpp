#include "app/ctx/commands/cancel/cancel.h"

#include "app/ctx/core/conversation.h"
#include "app/ctx/core/follower.h"
#include "app/ctx/core/invocation.h"
#include "app/ctx/core/session.h"
#include "app/ctx/core/text.h"

namespace cortexfs::ctx::cancel_command {

namespace {

Result<int> run(const Invocation &invocation)
{
    Session &session = invocation.session();
    Result<object::Conversation> conversation = conversationOf(invocation);
    if (!conversation)
        return conversation.error();
    const std::string id(invocation.word(1));
    if (!json::isValidUtf8(id))
        return errors::invalid("the id is not valid UTF-8");
    const Result<std::string> object = conversingObject(session, invocation.word(0));
    if (!object)
        return object.error();
    const Result<std::string> socket = objectSocket(session, *object);
    if (!socket)
        return socket.error();
    Follower follower(session, *socket, std::move(*conversation), invocation.wantsJson() ? Show::Lines : Show::Nothing);
    follower.link().cancel(id);
    if (const Result<void> ended = follower.follow(object::RequestKind::Cancel, id, control::kReplyTime); !ended)
        return ended.error();
    if (!invocation.wantsJson())
        session.out().line("run " + escaped(follower.reply().run) + " is being cancelled");
    return kExitOk;
}

} // namespace

const Command &command()
{
    static const Command made = {
        .name = "cancel",
        .group = Group::Use,
        .summary = "end a run of a conversation, or take a waiting message back",
        .description =
            "Asks the object to end a run that is live, or to forget a message that waits for its turn. What "
            "was said so far stays in the conversation. The id is the run's, as it stands in events, or the "
            "message's own (ctx send --id).",
        .arguments = {objectArgument(), {.name = "ID", .help = "of a run or a message"}},
        .options = conversationOptions(),
        .examples = {{"ctx cancel main r0001", "A run, by the id in its events."},
                     {"ctx send main --id m1 \"A long story\" & ctx cancel main m1",
                      "A message, by the id it was given."}},
        .exits = {{"0", "it will end as cancelled"}, {"1", "no live run and no waiting message has that id"}},
        .files = {kSocketNote},
        .printsLines = true,
        .run = run,
    };
    return made;
}

} // namespace cortexfs::ctx::cancel_command
