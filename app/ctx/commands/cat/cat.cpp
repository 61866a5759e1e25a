#include "app/ctx/commands/cat/cat.h"

#include "app/ctx/core/invocation.h"
#include "app/ctx/core/objects.h"
#include "app/ctx/core/session.h"
#include "app/ctx/core/tree.h"

#include <fcntl.h>

namespace cortexfs::ctx::cat_command {

namespace {

Result<void> copy(const Tree &tree, std::string_view name, Output &out)
{
    const Result<std::string> path = filePath(tree, name);
    if (!path)
        return path.error();
    const Result<UniqueFd> file = tree.open(*path, O_RDONLY);
    if (!file)
        return file.error();
    while (!out.isBroken()) {
        const Result<std::string> piece = tree.readPiece(*file, *path);
        if (!piece)
            return piece.error();
        if (piece->empty())
            break;
        out.write(*piece);
    }
    return {};
}

Result<int> run(const Invocation &invocation)
{
    const Tree tree(invocation.session());
    for (const std::string_view name : invocation.words()) {
        if (const Result<void> copied = copy(tree, name, invocation.session().out()); !copied)
            return copied.error();
    }
    return kExitOk;
}

} // namespace

const Command &command()
{
    static const Command made = {
        .name = "cat",
        .group = Group::Look,
        .summary = "print a file of the tree",
        .description =
            "Prints what a file below the mount holds, byte for byte. Of an object (a model, an agent, a tool) "
            "that is its description: name, limits, abilities, never code and never a key. A control file may be "
            "named with or without the \".d\" of its directory, and through an alias; an object as for \"ctx which\", "
            "without model/.",
        .arguments = {{.name = "PATH",
                       .help = "relative to the mount, or absolute below it",
                       .completion = Completion::TreePath,
                       .repeats = true}},
        .examples = {{"ctx cat model/debug/echo", "What the object is."},
                     {"ctx cat model/debug/echo.d/effort", "One of its control files."},
                     {"ctx cat model/main/limit", "Of the model that the alias main points at."}},
        .exits = {{"1", "no such file, or it is a directory"}},
        .files = {{"<mount>", "the tree; see \"man 7 cortexfs\""}},
        .run = run,
    };
    return made;
}

} // namespace cortexfs::ctx::cat_command
