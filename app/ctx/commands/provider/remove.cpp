#include "app/ctx/commands/provider/opened.h"
#include "app/ctx/commands/provider/provider.h"

#include "app/ctx/core/invocation.h"
#include "app/ctx/core/text.h"
#include "common/base/files.h"
#include "common/base/unique_fd.h"

#include <fcntl.h>
#include <unistd.h>

namespace cortexfs::ctx::provider_command {

namespace {

// On the terminal. EINVAL without one: a script says --yes.
Result<bool> isConfirmed(const OpenedProvider &opened)
{
    const UniqueFd terminal(::isatty(STDIN_FILENO) == 1 ? ::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY) : -1);
    if (!terminal.isValid())
        return errors::invalid("nothing was removed: say --yes, there is no terminal to ask on");
    const std::string question = "Remove the provider file " + escaped(opened.file()) + " for good? [y/N] ";
    if (const Result<void> asked = files::writeAll(terminal.get(), question); !asked)
        return asked.error();
    char answer[64] = {};
    const ssize_t size = ::read(terminal.get(), answer, sizeof answer);
    return size > 0 && (answer[0] == 'y' || answer[0] == 'Y');
}

Result<int> run(const Invocation &invocation)
{
    Session &session = invocation.session();
    const Result<OpenedProvider> opened = OpenedProvider::open(session, json::toValidUtf8(invocation.word(0)));
    if (!opened)
        return opened.error();
    if (!invocation.has("--yes")) {
        const Result<bool> confirmed = isConfirmed(*opened);
        if (!confirmed)
            return confirmed.error();
        if (!*confirmed)
            return errors::cancelled("nothing was removed");
    }
    const Result<json::Document> reply = opened->remove(session);
    if (!reply)
        return reply.error();
    if (invocation.wantsJson()) {
        session.out().line(factsJson(reply->root()));
        return kExitOk;
    }
    const std::string name = opened->name();
    std::string line = escaped(opened->file()) + ": removed";
    if (!name.empty())
        line += "; a stored key stays until: ctx provider key remove " + shellWord(name);
    session.out().line(line);
    return kExitOk;
}

} // namespace

Command removeCommand()
{
    return {
        .name = "remove",
        .summary = "remove a provider's file; its models go, its keys stay",
        .description =
            "Asks on a terminal; a script says --yes. The keys in the secret store are not touched, so that the "
            "provider can come back; \"ctx provider key remove\" deletes them. \"ctx provider disable\" takes the "
            "models away and keeps the file.",
        .arguments = {{.name = "NAME",
                       .help = "the provider; for an invalid file, the file's name",
                       .completion = Completion::Provider}},
        .options = {{.name = "--yes", .letter = 'y', .help = "do not ask"}},
        .examples = {{"ctx provider remove local", "Asks first."},
                     {"ctx provider remove local --yes", "For a script."}},
        .exits = {{"1", "no such provider, you said no, or the file has changed meanwhile"},
                  {"2", "there is no terminal to ask on, and no --yes"},
                  {"13", "only root, the daemon's user and the group cortexfs may"}},
        .files = {{"<config>/providers.d/*.json", "one file a provider"}},
        .printsFacts = true,
        .run = run,
    };
}

} // namespace cortexfs::ctx::provider_command
