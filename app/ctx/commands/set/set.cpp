#include "app/ctx/commands/set/set.h"

#include "app/ctx/core/invocation.h"
#include "app/ctx/core/mount_watch.h"
#include "app/ctx/core/objects.h"
#include "app/ctx/core/session.h"
#include "app/ctx/core/text.h"
#include "app/ctx/core/tree.h"
#include "common/abi/control_text.h"
#include "common/base/limits.h"

#include <fcntl.h>
#include <unistd.h>

namespace cortexfs::ctx::set_command {

namespace {

// The control file that need not be there yet, and the only large one.
constexpr std::string_view kRoute = "model/route";

std::size_t mostBytes(std::string_view path) { return path == kRoute ? limits::kRouteFile : limits::kControlFile; }

Result<std::string> readStandardInput(std::size_t most)
{
    std::string text;
    std::string piece(64 * limits::kKiB, '\0');
    for (;;) {
        const ssize_t count = ::read(STDIN_FILENO, piece.data(), piece.size());
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return errors::fromErrno(errno, "standard input");
        if (count == 0)
            return text;
        text.append(piece, 0, static_cast<std::size_t>(count));
        if (text.size() > most) {
            return errors::tooLarge("too long: this file holds at most " + std::to_string(most / limits::kKiB) + " KiB")
                .withDetail("standard input");
        }
    }
}

// Several values are several lines, as in `fallback` and `default`; one empty value empties the file.
Result<std::string> newContent(const Invocation &invocation, std::string_view path)
{
    if (invocation.wordCount() == 2 && invocation.word(1) == "-")
        return readStandardInput(mostBytes(path));
    std::string text;
    for (std::size_t i = 1; i < invocation.wordCount(); ++i) {
        if (!invocation.word(i).empty() || invocation.wordCount() > 2)
            text += std::string(invocation.word(i)) + "\n";
    }
    return text;
}

// What the daemon has refused, said with the rule of that file where it is known here too.
Error refusedValue(const std::string &path, const std::string &content)
{
    const std::string control = path.substr(path.rfind('/') + 1);
    std::string reason = "the value is not accepted";
    const auto explain = [&](const Result<std::string> &checked) {
        if (!checked)
            reason = checked.error().text();
    };
    if (control == "effort")
        explain(abi::checkEffort(content));
    else if (control == "session")
        explain(abi::checkSession(content));
    else if (control == "default")
        explain(abi::checkDefaults(content));
    else if (control == "fallback")
        explain(abi::checkFallback(content));
    else if (path == kRoute)
        reason = "not a route table; \"ctx route check\" with the text says in which line";
    else if (control == "driver")
        reason = "not a driver this model has; \"ctx cat\" of the file shows the present one";
    return errors::invalid(reason + "; the old value stays").withDetail(path);
}

// 0 or the errno of the step that failed. Content of several lines is judged when the file is closed.
int writeFile(const UniqueFd &file, const std::string &content)
{
    std::string_view rest = content;
    while (!rest.empty()) {
        const ssize_t count = ::write(file.get(), rest.data(), rest.size());
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return errno;
        rest.remove_prefix(static_cast<std::size_t>(count));
    }
    return 0;
}

Result<void> replaceContent(const Tree &tree, const std::string &path, const std::string &content)
{
    Result<UniqueFd> file = tree.open(path, O_WRONLY | O_TRUNC | O_NOFOLLOW | (path == kRoute ? O_CREAT : 0));
    if (!file) {
        if (file.error().number() == EROFS)
            return errors::readOnly("read-only: CortexFS works it out itself").withDetail(path);
        return file.error();
    }
    int failure = 0;
    {
        const MountWatch watch(tree.mount(), kMountTime);
        failure = writeFile(*file, content);
        const int closed = ::close(file->release()) == 0 ? 0 : errno;
        if (failure == 0)
            failure = closed;
    }
    if (failure == EINVAL)
        return refusedValue(path, content);
    if (failure != 0)
        return tree.explain(failure, path);
    return {};
}

Result<void> checkIsControl(const Tree &tree, const std::string &path)
{
    const Result<TreeEntry> entry = tree.entry(path);
    if (!entry && entry.error().number() == ENOENT && path == kRoute)
        return {};
    if (!entry)
        return entry.error();
    const std::string kind = kindOf(*entry);
    if (kind == "control")
        return {};
    if (kind == "alias")
        return errors::invalid("an alias is a link; point it elsewhere with: ln -sfn " + shellWord(tree.mount())
                               + "/model/PROVIDER/MODEL " + shellWord(tree.absolute(path)))
            .withDetail(path);
    std::string next = "not a control file";
    if (kind == "model" || kind == "agent" || kind == "tool" || kind == "control directory") {
        const std::string directory = kind == "control directory" ? path : path + ".d";
        next += " but of kind " + kind + "; \"ctx ls " + shellWord(directory) + "\" lists what can be set";
    } else if (kind == "file") {
        next += "; write it with the usual tools";
    }
    return errors::invalid(std::move(next)).withDetail(path);
}

Result<int> run(const Invocation &invocation)
{
    Session &session = invocation.session();
    const Tree tree(session);
    const Result<std::string> path = filePath(tree, invocation.word(0));
    if (!path)
        return path.error();
    if (const Result<void> isControl = checkIsControl(tree, *path); !isControl)
        return isControl.error();
    const Result<std::string> content = newContent(invocation, *path);
    if (!content)
        return content.error();
    if (const Result<void> replaced = replaceContent(tree, *path, *content); !replaced)
        return replaced.error();
    const Result<std::string> stored = tree.read(*path, mostBytes(*path));
    if (!stored)
        return stored.error();

    Output &out = session.out();
    if (invocation.wantsJson()) {
        json::Writer writer;
        writer.beginObject().field("path", json::toValidUtf8(*path));
        writer.field("value", json::toValidUtf8(*stored)).endObject();
        out.line(writer.text());
    } else if (!invocation.has("--quiet")) {
        const std::vector<std::string> lines = abi::linesOf(*stored);
        if (lines.size() == 1) {
            out.line(escaped(*path) + " = " + escaped(lines.front()));
        } else {
            out.line(escaped(*path) + (lines.empty() ? " is now empty" : " ="));
            for (const std::string &line : lines)
                out.line("  " + escaped(line));
        }
    }
    return kExitOk;
}

} // namespace

const Command &command()
{
    static const Command made = {
        .name = "set",
        .group = Group::Use,
        .summary = "write a control file of the tree, and show what it holds then",
        .description =
            "Replaces the content of a control file in one step. The daemon checks it first: what it does not accept "
            "changes nothing. Several values become several lines. The \".d\" of the control directory may be left "
            "out, an alias may stand for its model, and the object may be named as for \"ctx which\", without model/.",
        .arguments = {{.name = "PATH",
                       .help = "the control file, such as model/debug/echo/effort",
                       .completion = Completion::Control},
                      {.name = "VALUE",
                       .help = "the new lines; \"-\" alone reads them from standard input, '' empties the file",
                       .completion = Completion::ControlValue,
                       .repeats = true}},
        .options = {{.name = "--quiet", .letter = 'q', .help = "do not show the value that is stored now"}},
        .examples =
            {{"ctx set model/debug/echo/effort high", "How hard a model thinks: auto none low medium high xhigh max."},
             {"ctx set main/fallback openai/gpt-5.6 debug/echo", "Whom to ask when main's model fails, in order."},
             {"ctx set model/openai/gpt-5.6/default temperature=0.2", "A parameter of every call of this model."},
             {"ctx set model/route - < my-routes", "From a file."}},
        .exits = {{"1", "no such file, or read-only (as limit is for everybody)"},
                  {"2", "wrong usage, no control file, or the value is not accepted"},
                  {"13", "not your file"}},
        .files = {{"<mount>/model/PROVIDER/MODEL.d/", "effort default fallback driver session can be written"}},
        .printsFacts = true,
        .run = run,
    };
    return made;
}

} // namespace cortexfs::ctx::set_command
