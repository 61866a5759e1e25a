#include "app/ctx/commands/resume/resume.h"

#include "app/ctx/core/conversation.h"
#include "app/ctx/core/follower.h"
#include "app/ctx/core/invocation.h"
#include "app/ctx/core/session.h"

namespace cortexfs::ctx::resume_command {

namespace {

Result<int> run(const Invocation &invocation)
{
    Session &session = invocation.session();
    Result<object::Conversation> conversation = conversationOf(invocation);
    if (!conversation)
        return conversation.error();
    const std::string after(invocation.value("--after").value_or(""));
    if (!json::isValidUtf8(after))
        return errors::invalid("the id is not valid UTF-8");
    const Result<std::string> object = conversingObject(session, invocation.word(0));
    if (!object)
        return object.error();
    const Result<std::string> socket = objectSocket(session, *object);
    if (!socket)
        return socket.error();
    Follower follower(session, *socket, std::move(*conversation), invocation.wantsJson() ? Show::Lines : Show::Text);
    const std::string id = follower.link().resume(after);
    return follower.ended(follower.follow(object::RequestKind::Resume, id));
}

std::vector<Option> options()
{
    std::vector<Option> all = conversationOptions();
    all.push_back({.name = "--after",
                   .value = "ID",
                   .help = "only what came after the event with this id (default: everything)"});
    return all;
}

} // namespace

const Command &command()
{
    static const Command made = {
        .name = "resume",
        .group = Group::Use,
        .summary = "print a conversation's answers again and follow the live one",
        .description = "Prints what the object said in a conversation, from the beginning or after an event, and then "
                       "what it says now, until that run ends. Event ids stand in the lines of --json. Ctrl-C cancels "
                       "the live run; a second one leaves at once.",
        .arguments = {objectArgument()},
        .options = options(),
        .examples = {{"ctx resume main", "Go back to an answer whose terminal was closed."},
                     {"ctx resume main --json --after e000000000012", "The events that a program has not seen."}},
        .exits = {{"0", "everything was printed; a live run ended well"},
                  {"1", "no such conversation, or an id that it never gave out"},
                  {"130", "interrupted"}},
        .files = {kSocketNote, kStoredNote},
        .printsLines = true,
        .run = run,
    };
    return made;
}

} // namespace cortexfs::ctx::resume_command
