#include "app/ctx/commands/send/send.h"

#include "app/ctx/core/conversation.h"
#include "app/ctx/core/follower.h"
#include "app/ctx/core/invocation.h"
#include "app/ctx/core/process.h"
#include "app/ctx/core/session.h"
#include "common/base/limits.h"

#include <unistd.h>

namespace cortexfs::ctx::send_command {

namespace {

Result<std::string> messageOf(const Invocation &invocation)
{
    const auto words = invocation.words().subspan(1);
    const bool isDash = words.size() == 1 && words.front() == "-";
    if (words.empty() && ::isatty(STDIN_FILENO) == 1)
        return errors::invalid("no message; give it as words, or as standard input");
    std::string text;
    if (words.empty() || isDash) {
        Result<std::string> input = readInput(limits::kFrame);
        if (!input)
            return input;
        text = std::move(*input);
    } else {
        for (const std::string_view word : words)
            text += (text.empty() ? "" : " ") + std::string(word);
    }
    if (text.empty())
        return errors::invalid("the message is empty");
    return text;
}

Result<int> run(const Invocation &invocation)
{
    Session &session = invocation.session();
    Result<object::Conversation> conversation = conversationOf(invocation);
    if (!conversation)
        return conversation.error();
    Result<std::string> message = messageOf(invocation);
    if (!message)
        return message.error();
    const Result<std::string> object = conversingObject(session, invocation.word(0));
    if (!object)
        return object.error();
    const Result<std::string> socket = objectSocket(session, *object);
    if (!socket)
        return socket.error();
    object::SendRequest request;
    request.id = invocation.has("--id") ? std::string(*invocation.value("--id")) : object::randomId("ctx");
    request.input = std::move(*message);
    request.cwd = workingDirectory();
    Follower follower(session, *socket, std::move(*conversation), invocation.wantsJson() ? Show::Lines : Show::Text);
    if (const Result<void> sent = follower.link().send(request); !sent)
        return sent.error();
    return follower.ended(follower.follow(object::RequestKind::Send, request.id));
}

std::vector<Option> options()
{
    std::vector<Option> all = conversationOptions();
    all.push_back({.name = "--id",
                   .value = "ID",
                   .help = "the message's own id: sent again with the same text, nothing runs a second time"});
    return all;
}

} // namespace

const Command &command()
{
    static const Command made = {
        .name = "send",
        .group = Group::Use,
        .summary = "say something in a conversation and print the answer",
        .description =
            "Adds a message to a conversation of a model or an agent, which remembers what was said before, and "
            "prints the answer as it comes. The words after OBJECT are the message; with \"-\" or without any, "
            "standard "
            "input is. When the daemon is lost on the way, it is found again and the answer goes on where it was. "
            "Ctrl-C cancels the run and waits for its end; a second one leaves at once. A model keeps conversations "
            "once its control file session says socket.",
        .arguments =
            {objectArgument(),
             {.name = "TEXT", .help = "the message, or - for standard input", .isOptional = true, .repeats = true}},
        .options = options(),
        .examples = {{"ctx set model/debug/echo.d/session socket", "Let a model keep conversations."},
                     {"ctx send debug/echo hello", "In the conversation \"default\"."},
                     {"ctx send main -s review \"Which file is worst?\"", "In another one."},
                     {"git diff | ctx send main -s review -", "Standard input as the message."}},
        .exits = {{"0", "the run ended well"},
                  {"1", "failed: no such object, it keeps no conversations, the run was cancelled elsewhere"},
                  {"2", "no message, or one that is not accepted"},
                  {"13", "the provider or the daemon denies it"},
                  {"69", "cortexd, the provider or its key is not available"},
                  {"70", "internal fault, or the provider answers nonsense"},
                  {"130", "interrupted"}},
        .files = {kSocketNote, kStoredNote},
        .printsLines = true,
        .run = run,
    };
    return made;
}

} // namespace cortexfs::ctx::send_command
