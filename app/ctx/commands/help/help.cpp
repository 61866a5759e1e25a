#include "app/ctx/commands/help/help.h"

#include "app/ctx/core/help.h"
#include "app/ctx/core/invocation.h"
#include "app/ctx/core/manual.h"
#include "app/ctx/core/registry.h"
#include "app/ctx/core/session.h"

namespace cortexfs::ctx::help_command {

namespace {

Result<int> run(const Invocation &invocation)
{
    Output &out = invocation.session().out();
    if (invocation.has("--man")) {
        out.write(manualPage());
        return kExitOk;
    }
    if (invocation.wordCount() == 0) {
        out.write(generalHelp(out));
        return kExitOk;
    }
    const Found found = findCommand(invocation.words());
    if (found.depth() < invocation.wordCount()) {
        std::vector<std::string_view> names;
        if (found.last()) {
            for (const Command &sub : found.last()->subcommands)
                names.push_back(sub.name);
        } else {
            for (const Command *command : commands())
                names.push_back(command->name);
        }
        std::string text = "no command \"";
        for (std::size_t i = 0; i <= found.depth(); ++i)
            text += (i ? " " : "") + std::string(invocation.word(i));
        text += '"';
        if (const std::string_view meant = nearest(invocation.word(found.depth()), names); !meant.empty())
            text += ", did you mean \"" + std::string(meant) + "\"?";
        return errors::invalid(text + "; \"ctx help\" lists all");
    }
    out.write(commandHelp(found.path, out));
    return kExitOk;
}

} // namespace

const Command &command()
{
    static const Command made = {
        .name = "help",
        .group = Group::Shell,
        .summary = "what ctx can do, or one command of it",
        .description =
            "Without COMMAND, an overview. With one, its purpose, arguments, options, examples, exit codes and files; "
            "\"ctx COMMAND --help\" shows the same.",
        .arguments = {{.name = "COMMAND",
                       .help = "the words of a command",
                       .completion = Completion::Command,
                       .isOptional = true,
                       .repeats = true}},
        .options = {{.name = "--man", .help = "print the manual page of ctx, in mdoc, and end"}},
        .examples = {{"ctx help", "The overview."},
                     {"ctx help provider key set", "One command."},
                     {"ctx help --man | man -l -", "Everything on one page."}},
        .exits = {{"2", "no such command"}},
        .asksDaemon = false,
        .run = run,
    };
    return made;
}

} // namespace cortexfs::ctx::help_command
