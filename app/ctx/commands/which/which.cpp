#include "app/ctx/commands/which/which.h"

#include "app/ctx/core/invocation.h"
#include "app/ctx/core/objects.h"
#include "app/ctx/core/session.h"
#include "app/ctx/core/text.h"
#include "app/ctx/core/tree.h"

namespace cortexfs::ctx::which_command {

namespace {

struct Answer {
    TreeEntry entry;
    std::string kind;
    std::string object; // the path that a link ends at, below the mount; or the entry's own
    bool isBroken = false;
};

// An object's own description: the value of "# cortexfs.description=" in its metadata.
std::string descriptionOf(const Tree &tree, const std::string &path)
{
    constexpr std::size_t kMetadataBytes = 16 * 1024;
    constexpr std::string_view kKey = "# cortexfs.description=";
    const Result<std::string> text = tree.read(path, kMetadataBytes);
    if (!text)
        return {};
    const std::size_t start = text->find(kKey);
    if (start == std::string::npos)
        return {};
    const std::size_t value = start + kKey.size();
    return text->substr(value, text->find('\n', value) - value);
}

std::vector<Answer> findAll(const Tree &tree, std::string_view name)
{
    std::vector<Answer> answers;
    for (const std::string &path : objectPaths(name, tree.mount())) {
        if (!tree.pathOf(path) || !tree.exists(path))
            continue;
        Result<TreeEntry> entry = tree.entry(path);
        if (!entry)
            continue;
        Answer answer;
        answer.kind = kindOf(*entry);
        answer.object = tree.linkPath(*entry).value_or(path);
        answer.isBroken = !entry->target.empty() && !tree.exists(answer.object);
        answer.entry = std::move(*entry);
        answers.push_back(std::move(answer));
    }
    return answers;
}

std::string answersJson(const Tree &tree, const std::vector<Answer> &answers)
{
    json::Writer writer;
    writer.beginObject().key("found").beginArray();
    for (const Answer &answer : answers) {
        writer.beginObject().field("path", json::toValidUtf8(tree.absolute(answer.entry.path)));
        writer.field("kind", answer.kind).field("object", json::toValidUtf8(answer.object));
        if (!answer.entry.target.empty())
            writer.field("target", json::toValidUtf8(answer.entry.target)).field("broken", answer.isBroken);
        writer.endObject();
    }
    writer.endArray().endObject();
    return writer.take();
}

void writeAnswer(Output &out, const Tree &tree, const Answer &answer)
{
    out.line(out.styled(Style::Strong, escaped(tree.absolute(answer.entry.path))));
    Table table;
    if (!answer.entry.target.empty())
        table.add({"  leads to", answer.entry.target + (answer.isBroken ? " (which does not exist)" : "")});
    table.add({"  kind", answer.kind});
    const std::string description = answer.isBroken ? std::string() : descriptionOf(tree, answer.object);
    if (!description.empty())
        table.add({"  is", description});
    const std::string controls = answer.object + ".d";
    if (tree.exists(controls))
        table.add({"  controls", tree.absolute(controls)});
    const std::string socket = answer.object + ".sock";
    if (tree.exists(socket))
        table.add({"  socket", tree.absolute(socket)});
    out.write(table.text());
}

Result<int> run(const Invocation &invocation)
{
    Session &session = invocation.session();
    const Tree tree(session);
    const std::string_view name = invocation.word(0);
    const std::vector<Answer> answers = findAll(tree, name);
    if (answers.empty()) {
        if (!tree.exists("status"))
            return tree.explain(ENOENT, "");
        return errors::notFound(
                   "no model, alias, agent or tool of this name; \"ctx model ls --all\" and \"ctx ls\" show what "
                   "there is")
            .withDetail(std::string(name));
    }
    Output &out = session.out();
    if (invocation.wantsJson()) {
        out.line(answersJson(tree, answers));
    } else if (invocation.has("--path")) {
        out.line(tree.absolute(answers.front().entry.path));
    } else {
        for (const Answer &answer : answers)
            writeAnswer(out, tree, answer);
    }
    return kExitOk;
}

} // namespace

const Command &command()
{
    static const Command made = {
        .name = "which",
        .group = Group::Look,
        .summary = "find the object of a name: its path, what it is, where a link leads",
        .description =
            "A name may be an alias such as main, a model as provider/model, an agent, a tool, or a path of the tree. "
            "Where several objects have the name, all are shown, models first.",
        .arguments = {{.name = "NAME",
                       .help = "alias, PROVIDER/MODEL, agent, tool or path",
                       .completion = Completion::Object}},
        .options = {{.name = "--path", .letter = 'p', .help = "print the path of the first one and nothing else"}},
        .examples = {{"ctx which main", "Which model does main stand for?"},
                     {"ctx which openai/gpt-5.6", "Where is it, and where are its control files?"},
                     {"\"$(ctx which -p debug/echo)\" hello", "Run an object by its file."}},
        .exits = {{"1", "nothing has this name"}},
        .files = {{"<mount>/model, agent, tool", "where is looked, in this order"}},
        .printsFacts = true,
        .run = run,
    };
    return made;
}

} // namespace cortexfs::ctx::which_command
