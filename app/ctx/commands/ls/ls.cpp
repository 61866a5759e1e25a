#include "app/ctx/commands/ls/ls.h"

#include "app/ctx/commands/ls/entry_info.h"
#include "app/ctx/core/invocation.h"
#include "app/ctx/core/session.h"
#include "app/ctx/core/text.h"
#include "app/ctx/core/tree.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <set>

namespace cortexfs::ctx::ls_command {

namespace {

struct Row {
    TreeEntry entry;
    std::string kind;
    std::string info;
};

// NAME.d and NAME.sock belong to the object NAME: they are shown on request only.
void hideCompanions(std::vector<TreeEntry> &entries)
{
    std::set<std::string, std::less<>> objects;
    for (const TreeEntry &entry : entries) {
        const std::string kind = kindOf(entry);
        if (kind == "model" || kind == "agent" || kind == "tool")
            objects.insert(entry.name);
    }
    std::erase_if(entries, [&](const TreeEntry &entry) {
        const std::string_view name = entry.name;
        for (const std::string_view suffix : {".d", ".sock"}) {
            if (name.ends_with(suffix) && objects.contains(name.substr(0, name.size() - suffix.size())))
                return true;
        }
        return name.starts_with('.');
    });
}

std::string permissions(mode_t mode)
{
    std::string text = "-rwxrwxrwx";
    text[0] = S_ISDIR(mode) ? 'd' : S_ISLNK(mode) ? 'l' : S_ISSOCK(mode) ? 's' : '-';
    for (unsigned bit = 0; bit < 9; ++bit) {
        if ((mode & (0400U >> bit)) == 0)
            text[bit + 1] = '-';
    }
    return text;
}

std::string timeText(std::time_t seconds)
{
    std::tm parts = {};
    std::array<char, 32> buffer = {};
    ::localtime_r(&seconds, &parts);
    std::strftime(buffer.data(), buffer.size(), "%Y-%m-%d %H:%M", &parts);
    return buffer.data();
}

std::string rowsJson(const std::string &path, const std::vector<Row> &rows)
{
    json::Writer writer;
    writer.beginObject().field("path", json::toValidUtf8(path)).key("entries").beginArray();
    for (const Row &row : rows) {
        writer.beginObject().field("name", json::toValidUtf8(row.entry.name));
        writer.field("path", json::toValidUtf8(row.entry.path)).field("kind", row.kind);
        writer.field("mode", permissions(row.entry.info.st_mode));
        writer.field("uid", static_cast<std::int64_t>(row.entry.info.st_uid));
        writer.field("size", static_cast<std::int64_t>(row.entry.info.st_size));
        if (!row.entry.target.empty())
            writer.field("target", json::toValidUtf8(row.entry.target));
        if (!row.info.empty())
            writer.field("info", json::toValidUtf8(row.info));
        writer.endObject();
    }
    writer.endArray().endObject();
    return writer.take();
}

Table tableOf(const std::vector<Row> &rows, bool isLong)
{
    Table table(isLong ? std::vector<std::string>{"MODE", "UID", "SIZE", "CHANGED", "KIND", "NAME", "INFO"}
                       : std::vector<std::string>{"KIND", "NAME", "INFO"});
    if (isLong) {
        table.alignRight(1);
        table.alignRight(2);
    }
    for (const Row &row : rows) {
        std::vector<std::string> cells;
        const struct stat &info = row.entry.info;
        if (isLong) {
            cells = {permissions(info.st_mode), std::to_string(info.st_uid), std::to_string(info.st_size),
                     timeText(info.st_mtime)};
        }
        const bool isFolder = S_ISDIR(info.st_mode);
        cells.insert(cells.end(), {row.kind, row.entry.name + (isFolder ? "/" : ""), row.info});
        table.add(std::move(cells));
    }
    return table;
}

Result<int> run(const Invocation &invocation)
{
    Session &session = invocation.session();
    const Tree tree(session);
    const Result<std::string> path = tree.pathOf(invocation.wordCount() > 0 ? invocation.word(0) : "");
    if (!path)
        return path.error();
    Result<TreeEntry> top = tree.entry(*path);
    if (!top)
        return top.error();
    std::vector<TreeEntry> entries;
    if (S_ISDIR(top->info.st_mode)) {
        // The root of an absent mount is an empty directory like any other; its status file tells them apart.
        if (path->empty() && !tree.exists("status"))
            return tree.explain(ENOENT, "");
        Result<std::vector<TreeEntry>> listed = tree.list(*path);
        if (!listed)
            return listed.error();
        entries = std::move(*listed);
        if (!invocation.has("--all"))
            hideCompanions(entries);
    } else {
        entries.push_back(std::move(*top));
    }
    EntryInfo describe(session, tree, *path);
    std::vector<Row> rows;
    rows.reserve(entries.size());
    for (TreeEntry &entry : entries) {
        std::string kind = kindOf(entry);
        std::string info = describe.of(entry, kind);
        rows.push_back({std::move(entry), std::move(kind), std::move(info)});
    }
    Output &out = session.out();
    if (invocation.wantsJson())
        out.line(rowsJson(*path, rows));
    else if (!rows.empty())
        out.write(tableOf(rows, invocation.has("--long")).text(out.begin(Style::Dim), out.reset()));
    return kExitOk;
}

} // namespace

const Command &command()
{
    static const Command made = {
        .name = "ls",
        .group = Group::Look,
        .summary = "list a directory of the tree, and say what each entry is",
        .description =
            "Lists what is below a directory of the mount: the kind of each entry, its name, and the one thing that "
            "is most worth knowing about it: the abilities and context limit of a model, the target of a link, the "
            "value of a control file. The control directory NAME.d and the socket NAME.sock of an object are left "
            "out unless --all asks for them.",
        .arguments = {{.name = "PATH",
                       .help = "relative to the mount, or absolute below it (default: the mount itself)",
                       .completion = Completion::TreePath,
                       .isOptional = true}},
        .options = {{.name = "--long", .letter = 'l', .help = "also permissions, owner, size and time of change"},
                    {.name = "--all", .letter = 'a', .help = "also NAME.d, NAME.sock and hidden names"}},
        .examples = {{"ctx ls", "The parts of the tree."},
                     {"ctx ls model/openai", "The models of one provider."},
                     {"ctx ls model/debug/echo.d", "The control files of a model and their values."}},
        .exits = {{"1", "no such path"}},
        .files = {{"<mount>", "the tree; see \"man 7 cortexfs\""}},
        .printsFacts = true,
        .run = run,
    };
    return made;
}

} // namespace cortexfs::ctx::ls_command
