#include "app/ctx/commands/ping/ping.h"

#include "app/ctx/core/conversation.h"
#include "app/ctx/core/follower.h"
#include "app/ctx/core/invocation.h"
#include "app/ctx/core/session.h"
#include "app/ctx/core/text.h"

#include <chrono>

namespace cortexfs::ctx::ping_command {

namespace {

Result<int> run(const Invocation &invocation)
{
    Session &session = invocation.session();
    const Result<std::string> object = conversingObject(session, invocation.word(0));
    if (!object)
        return object.error();
    const Result<std::string> socket = objectSocket(session, *object);
    if (!socket)
        return socket.error();
    Follower follower(session, *socket, {}, invocation.wantsJson() ? Show::Lines : Show::Nothing);
    const auto start = std::chrono::steady_clock::now();
    const std::string id = follower.link().ping();
    if (const Result<void> ended = follower.follow(object::RequestKind::Ping, id, control::kReplyTime); !ended)
        return ended.error();
    const auto took = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start);
    if (!invocation.wantsJson())
        session.out().line(escaped(*object) + " answered in " + std::to_string(took.count()) + " us");
    return kExitOk;
}

} // namespace

const Command &command()
{
    static const Command made = {
        .name = "ping",
        .group = Group::Use,
        .summary = "does an object's socket answer",
        .description =
            "Connects to the socket of a model or an agent and asks for a sign of life. No provider is asked: "
            "for that there is \"ctx provider test\".",
        .arguments = {objectArgument()},
        .examples = {{"ctx ping main", "Is there somebody to talk to?"}},
        .exits = {{"0", "it answered"}, {"1", "no such object, or it keeps no conversations"}},
        .files = {kSocketNote},
        .printsLines = true,
        .run = run,
    };
    return made;
}

} // namespace cortexfs::ctx::ping_command
