#include "app/ctx/commands/completion/completion.h"

#include "app/ctx/core/completion.h"
#include "app/ctx/core/invocation.h"
#include "app/ctx/core/session.h"
#include "app/ctx/core/text.h"

#include <fcntl.h>
#include <unistd.h>

namespace cortexfs::ctx::completion_command {

namespace {

Result<int> printScript(const Invocation &invocation)
{
    invocation.session().out().write(completionScript(invocation.command().name));
    return kExitOk;
}

// Never a message and never a failure: it would land in the middle of a line that is being typed.
Result<int> query(const Invocation &invocation)
{
    const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null >= 0)
        ::dup2(null, STDERR_FILENO);
    Output &out = invocation.session().out();
    const std::vector<Candidate> found = completionsOf(invocation.words(), invocation.session().environment(), out);
    for (const Candidate &candidate : found) {
        // A name with a control character cannot be offered in a line protocol.
        if (escaped(candidate.word) == candidate.word)
            out.line(candidate.word + "\t" + escaped(candidate.says));
    }
    return kExitOk;
}

Command scriptCommand(std::string_view shell, std::string_view summary, Example example, Note file)
{
    return {
        .name = shell,
        .summary = summary,
        .description =
            "Prints the script. It asks ctx for every word, so it knows the commands, options, objects, providers and "
            "models of the ctx and the daemon that are there.",
        .examples = {example},
        .files = {file},
        .asksDaemon = false,
        .run = printScript,
    };
}

} // namespace

const Command &command()
{
    static const Command made = {
        .name = "completion",
        .group = Group::Shell,
        .summary = "print the script that completes ctx in your shell",
        .description =
            "With it, the Tab key knows commands, options, objects, control files, providers, key slots and models. "
            "Packages install these scripts; a build tree has them in packaging/completions.",
        .examples = {{"source <(ctx completion bash)", "In the bash that runs now."}},
        .subcommands = {scriptCommand("bash", "the script for bash",
                                      {"source <(ctx completion bash)", "Put it into ~/.bashrc to keep it."},
                                      {"/usr/share/bash-completion/completions/ctx", "where a package puts it"}),
                        scriptCommand("zsh", "the script for zsh",
                                      {"source <(ctx completion zsh)", "After compinit, in ~/.zshrc to keep it."},
                                      {"/usr/share/zsh/vendor-completions/_ctx", "where a package puts it"}),
                        scriptCommand("fish", "the script for fish",
                                      {"ctx completion fish | source", "In ~/.config/fish/config.fish to keep it."},
                                      {"/usr/share/fish/vendor_completions.d/ctx.fish", "where a package puts it"}),
                        Command{
                            .name = "query",
                            .summary = "what may stand at the end of a command line",
                            .description =
                                "For the scripts: prints WORD, TAB, EXPLANATION a line for the last WORD given.",
                            .arguments = {{.name = "WORD",
                                           .help = "the words of the line, without ctx itself",
                                           .isOptional = true,
                                           .repeats = true}},
                            .examples = {{"ctx completion query -- provider k", "Offers: key"}},
                            .asksDaemon = false,
                            .isHidden = true,
                            .run = query,
                        }},
        .asksDaemon = false,
    };
    return made;
}

} // namespace cortexfs::ctx::completion_command
