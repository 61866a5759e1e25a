#include "app/ctx/core/program.h"

#include "app/ctx/core/arguments.h"
#include "app/ctx/core/help.h"
#include "app/ctx/core/output.h"
#include "app/ctx/core/session.h"
#include "app/ctx/core/text.h"

#include <algorithm>
#include <csignal>

#include <fcntl.h>
#include <unistd.h>

namespace cortexfs::ctx {

namespace {

// A closed standard descriptor would be taken by the next socket, and output would go into it. The dummies are opened
// the wrong way round, so that using them is still an error that is reported.
void holdStandardDescriptors()
{
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(fd, F_GETFD) >= 0)
            continue;
        const int opened = ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        if (opened != fd && opened >= 0)
            ::close(opened);
    }
}

[[noreturn]] void endOfReader()
{
    std::signal(SIGPIPE, SIG_DFL);
    ::raise(SIGPIPE);
    ::_exit(128 + SIGPIPE); // the signal was blocked by our parent
}

// "what went wrong (ENAME); what to do": the last part stays last, where it can be copied from.
void printFailure(const Error &error)
{
    std::string text = error.text();
    text.insert(std::min(text.find("; "), text.size()), " (" + std::string(error.name()) + ")");
    printError(text);
}

int finish(Output &out, int code)
{
    const Result<void> flushed = out.flush();
    if (flushed)
        return code;
    if (flushed.error().number() == EPIPE)
        endOfReader();
    printFailure(flushed.error());
    return exitCodeFor(flushed.error().number());
}

} // namespace

void printError(std::string_view text)
{
    const std::string line = "ctx: " + escaped(text) + "\n";
    // A stderr that fails leaves nobody to tell.
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

int runProgram(std::span<char *const> arguments, const Environment &environment)
{
    holdStandardDescriptors();
    std::signal(SIGPIPE, SIG_IGN);
    Output out(STDOUT_FILENO, Output::wantsColour(STDOUT_FILENO, environment));

    Result<Invocation> invocation = parseArguments(arguments);
    if (!invocation) {
        printError(invocation.error().text());
        return kExitUsage;
    }
    if (invocation->global().wantsVersion) {
        out.line("ctx " CORTEXFS_VERSION);
        return finish(out, kExitOk);
    }
    if (invocation->path().empty()) {
        out.write(generalHelp(out));
        return finish(out, kExitOk);
    }
    if (invocation->global().wantsHelp) {
        out.write(commandHelp(invocation->path(), out));
        return finish(out, kExitOk);
    }
    Result<Session> session = Session::create(invocation->global(), environment, out);
    if (!session) {
        printFailure(session.error());
        return exitCodeFor(session.error().number());
    }
    invocation->setSession(*session);
    const Result<int> ended = invocation->command().run(*invocation);
    if (!ended && ended.error().number() == EPIPE)
        endOfReader();
    const int code = finish(out, ended ? *ended : exitCodeFor(ended.error().number()));
    if (!ended)
        printFailure(ended.error());
    return code;
}

} // namespace cortexfs::ctx
