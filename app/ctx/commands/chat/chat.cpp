#include "app/ctx/commands/chat/chat.h"

#include "app/ctx/commands/chat/dialogue.h"
#include "app/ctx/core/conversation.h"
#include "app/ctx/core/invocation.h"
#include "app/ctx/core/process.h"
#include "common/base/limits.h"

#include <unistd.h>

namespace cortexfs::ctx::chat_command {

namespace {

// Without a terminal to type on there is one message: all of standard input.
Result<int> sayOnce(Session &session, const std::string &socket, object::Conversation conversation)
{
    Result<std::string> message = readInput(limits::kFrame);
    if (!message)
        return message.error();
    if (message->empty())
        return errors::invalid("standard input is empty");
    object::SendRequest request;
    request.id = object::randomId("chat");
    request.input = std::move(*message);
    request.cwd = workingDirectory();
    Follower follower(session, socket, std::move(conversation), Show::Text);
    if (const Result<void> sent = follower.link().send(request); !sent)
        return sent.error();
    return follower.ended(follower.follow(object::RequestKind::Send, request.id));
}

Result<int> run(const Invocation &invocation)
{
    Session &session = invocation.session();
    Result<object::Conversation> conversation = conversationOf(invocation);
    if (!conversation)
        return conversation.error();
    const bool isInteractive = ::isatty(STDIN_FILENO) == 1;
    if (isInteractive && ::isatty(STDOUT_FILENO) != 1)
        return errors::invalid("a chat needs a terminal on both sides; \"ctx send\" writes an answer to a file");
    const Result<std::string> object = conversingObject(session, invocation.word(0));
    if (!object)
        return object.error();
    const Result<std::string> socket = objectSocket(session, *object);
    if (!socket)
        return socket.error();
    if (!isInteractive)
        return sayOnce(session, *socket, std::move(*conversation));
    return Dialogue(session, *object, *socket, std::move(*conversation)).run();
}

} // namespace

const Command &command()
{
    static const Command made = {
        .name = "chat",
        .group = Group::Use,
        .summary = "talk with a model or an agent",
        .description =
            "Opens a conversation on the terminal: what you type is sent with Enter, the answer comes as it is made. "
            "Alt-Enter begins a new line, a paste of several lines is one message, the arrow keys edit the line and "
            "bring earlier ones back. Ctrl-C cancels an answer, and leaves at the prompt; Ctrl-D leaves. Commands: "
            "/help, /history, /new, /quit. With a pipe or a file as standard input, all of it is one message, and the "
            "command ends with its answer.",
        .arguments = {objectArgument()},
        .options = conversationOptions(),
        .examples = {{"ctx chat main", "Go on where you left off."},
                     {"ctx chat main -s review", "In a conversation of its own."},
                     {"ctx chat main < question.txt", "One question from a file."}},
        .exits = {{"0", "you left, or the one answer is complete"},
                  {"1", "no such object, or it keeps no conversations"},
                  {"130", "left with Ctrl-C"}},
        .files = {kSocketNote,
                  kStoredNote,
                  {"~/.local/state/cortexfs/chat_history", "what was typed ($XDG_STATE_HOME is respected)"}},
        .run = run,
    };
    return made;
}

} // namespace cortexfs::ctx::chat_command
