#include "app/ctx/commands/exec/exec.h"

#include "app/ctx/commands/exec/object_run.h"
#include "app/ctx/core/invocation.h"
#include "app/ctx/core/objects.h"
#include "app/ctx/core/session.h"

namespace cortexfs::ctx::exec_command {

namespace {

Result<int> run(const Invocation &invocation)
{
    Session &session = invocation.session();
    return ObjectRun(session, objectOf(session, invocation.word(0)), invocation.words().subspan(1)).run();
}

} // namespace

const Command &command()
{
    static const Command made = {
        .name = "exec",
        .group = Group::Use,
        .summary = "run an object, such as a model, and print its events",
        .description =
            "Does what executing the object's file does, over the control socket, so it works without a mount too. "
            "The words after OBJECT are the input; without any, standard input is: plain text, or a JSON object with "
            "\"messages\". Standard output carries one JSON event a line, from start to done, and nothing else. "
            "Ctrl-C cancels the run and waits for its end; a second one leaves at once.",
        .arguments = {{.name = "OBJECT",
                       .help = "alias, PROVIDER/MODEL, agent, tool or path of the tree",
                       .completion = Completion::Object},
                      {.name = "ARG",
                       .help = "input; options belong to the object from here on",
                       .isOptional = true,
                       .repeats = true}},
        .examples = {{"ctx exec debug/echo hello", "The model that needs no key and no network."},
                     {"git diff | ctx exec main", "Standard input as the message."},
                     {"ctx exec main \"Say hi\" | jq -rj 'select(.type==\"delta\").text'",
                      "Only the text, as it comes."}},
        .exits = {{"0", "the run ended well"},
                  {"1", "failed: no such object, and so on"},
                  {"2", "no input, or input that is not accepted"},
                  {"13", "the provider or the daemon denies it"},
                  {"69", "cortexd, the provider or its key is not available"},
                  {"70", "internal fault, or the provider answers nonsense"},
                  {"130", "interrupted"}},
        .files = {{"<mount>/model/PROVIDER/MODEL", "the same object as an executable file"}},
        .passesRest = true,
        .run = run,
    };
    return made;
}

} // namespace cortexfs::ctx::exec_command
