#include "app/ctx/commands/route/route.h"

#include "app/ctx/core/invocation.h"
#include "app/ctx/core/session.h"
#include "app/ctx/core/text.h"
#include "common/base/limits.h"
#include "common/base/unique_fd.h"

#include <optional>

#include <fcntl.h>
#include <unistd.h>

namespace cortexfs::ctx::route_command {

namespace {

constexpr char kStored[] = "model/route";

Result<std::string> readInput(const std::string &name)
{
    const bool isStandardInput = name == "-";
    const UniqueFd file(isStandardInput ? ::dup(STDIN_FILENO) : ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!file.isValid())
        return errors::fromErrno(errno, name);
    std::string text;
    std::string piece(64 * limits::kKiB, '\0');
    for (;;) {
        const ssize_t count = ::read(file.get(), piece.data(), piece.size());
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return errors::fromErrno(errno, isStandardInput ? "standard input" : name);
        if (count == 0)
            return text;
        text.append(piece, 0, static_cast<std::size_t>(count));
        if (text.size() > limits::kRouteFile)
            return errors::tooLarge("a route table has at most 1 MiB").withDetail(name);
    }
}

void writeWarnings(Output &out, const std::string &file, const json::Value &warnings)
{
    for (const json::Value &warning : warnings.elements()) {
        const std::int64_t line = warning["line"].asInt().value_or(0);
        const std::string where = line > 0 ? file + ":" + std::to_string(line) : file;
        out.line(escaped(where) + ": " + out.styled(Style::Warning, "warning") + ": "
                 + escaped(warning["message"].stringOr("?")));
    }
}

Result<int> run(const Invocation &invocation)
{
    Session &session = invocation.session();
    Output &out = session.out();
    std::string file(invocation.word(0));
    json::Writer request;
    request.beginObject();
    if (!file.empty()) {
        const Result<std::string> text = readInput(file);
        if (!text)
            return text.error();
        if (!json::isValidUtf8(*text))
            return errors::invalid("not valid UTF-8").withDetail(file);
        request.field("text", *text);
    } else {
        file = kStored;
    }
    request.endObject();
    const Result<json::Document> reply = session.ask("route.check", membersOf(request.text()));
    if (!reply)
        return reply.error();
    const json::Value facts = reply->root();
    const bool isOk = facts["ok"].asBool().value_or(false);
    if (invocation.wantsJson()) {
        out.line(factsJson(facts));
        return isOk ? kExitOk : kExitUsage;
    }
    if (file == "-")
        file = "(standard input)";
    if (!isOk) {
        out.line(escaped(faultText(file, facts["error"])));
        return kExitUsage;
    }
    writeWarnings(out, file, facts["warnings"]);
    out.line(escaped(file) + ": " + counted(facts["rules"].asInt().value_or(0), "rule", "rules") + ", "
             + counted(facts["groups"].asInt().value_or(0), "group", "groups") + ", "
             + out.styled(Style::Good, "valid"));
    return kExitOk;
}

} // namespace

Command checkCommand()
{
    return {
        .name = "check",
        .summary = "check a route table, the stored one or a file",
        .description =
            "Prints the first fault as FILE:LINE:COLUMN: what is wrong, as compilers do. A valid table may still have "
            "warnings: rules that are never reached, groups that nothing leads to, geosite: and geoip: names without "
            "data. Nothing is stored.",
        .arguments = {{.name = "FILE",
                       .help = "the file to check, \"-\" for standard input (default: the stored table)",
                       .completion = Completion::None,
                       .isOptional = true}},
        .examples = {{"ctx route check", "The stored table."},
                     {"ctx route check my-routes && ctx set model/route - < my-routes",
                      "Check a file, then store it."}},
        .exits = {{"0", "valid, perhaps with warnings"}, {"2", "wrong usage, or the table is not valid"}},
        .files = {kRouteNote},
        .printsFacts = true,
        .run = run,
    };
}

} // namespace cortexfs::ctx::route_command
