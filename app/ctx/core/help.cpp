#include "app/ctx/core/help.h"

#include "app/ctx/core/arguments.h"
#include "app/ctx/core/registry.h"
#include "app/ctx/core/text.h"

#include <algorithm>
#include <array>

namespace cortexfs::ctx {

const std::string_view kProgramDescription = "CortexFS shows AI models, agents and tools as files below one directory. "
                                             "You run a model by executing its file, look "
                                             "at it with cat, and change it by writing small text files beside it. The "
                                             "daemon cortexd makes the files; ctx is the "
                                             "short way to look at them, run them and set them up.";

namespace {

constexpr std::size_t kWidth = 78;
constexpr std::array kGroups = {Group::Look, Group::Use, Group::Configure, Group::Shell};

std::string heading(const Output &style, std::string_view text)
{
    return "\n" + style.styled(Style::Strong, text) + "\n";
}

// "  term    text", the text wrapped in its own column.
std::string definitions(const std::vector<std::pair<std::string, std::string_view>> &rows)
{
    // A term that is too long has a line of its own and does not push the others' text aside.
    constexpr std::size_t kLongestTerm = 26;
    std::size_t column = 6;
    for (const auto &[term, text] : rows) {
        if (const std::size_t width = displayWidth(term); width <= kLongestTerm)
            column = std::max(column, width + 4);
    }
    std::string out;
    for (const auto &[term, text] : rows) {
        std::string body = wrapped(text, kWidth, column);
        const std::size_t used = 2 + displayWidth(term);
        if (used + 2 > column)
            out += "  " + term + "\n" + body;
        else
            out += "  " + term + std::string(column - used, ' ') + body.substr(std::min(column, body.size()));
    }
    return out;
}

std::string examples(const std::vector<Example> &rows)
{
    std::string out;
    for (const Example &example : rows) {
        out += "  " + std::string(example.line) + "\n";
        out += wrapped(example.says, kWidth, 6);
    }
    return out;
}

std::string noteRows(const std::vector<Note> &notes)
{
    std::vector<std::pair<std::string, std::string_view>> rows;
    for (const Note &note : notes)
        rows.emplace_back(note.term, note.text);
    return definitions(rows);
}

std::string optionRows(const std::vector<Option> &options)
{
    std::vector<std::pair<std::string, std::string_view>> rows;
    for (const Option &option : options)
        rows.emplace_back(optionText(option), option.help);
    return definitions(rows);
}

std::string subcommandRows(const std::vector<Command> &subcommands, const std::string &prefix)
{
    std::vector<std::pair<std::string, std::string_view>> rows;
    const auto collect = [&](const auto &self, const std::vector<Command> &list, const std::string &before) -> void {
        for (const Command &sub : list) {
            if (sub.isHidden)
                continue;
            if (sub.run)
                rows.emplace_back(before + std::string(sub.name), sub.summary);
            self(self, sub.subcommands, before + std::string(sub.name) + " ");
        }
    };
    collect(collect, subcommands, prefix);
    return definitions(rows);
}

} // namespace

std::string_view groupTitle(Group group)
{
    switch (group) {
    case Group::Look: return "Look around";
    case Group::Use: return "Use and change";
    case Group::Configure: return "Models and providers";
    case Group::Shell: return "Help and shell";
    }
    return {};
}

std::string optionText(const Option &option)
{
    std::string text;
    if (option.letter)
        text = "-" + std::string(1, option.letter) + ", ";
    text += option.name;
    if (!option.value.empty())
        text += " " + std::string(option.value);
    return text;
}

std::string usageLine(const std::vector<const Command *> &path)
{
    const Command &command = *path.back();
    std::string text = "ctx " + pathText(path);
    if (!command.options.empty() || command.hasJson())
        text += " [OPTIONS]";
    if (!command.run && !command.subcommands.empty())
        return text + " COMMAND";
    for (const Argument &argument : command.arguments) {
        std::string word(argument.name);
        if (!argument.choices.empty()) {
            word.clear();
            for (const std::string_view choice : argument.choices)
                word += (word.empty() ? "" : "|") + std::string(choice);
        }
        if (argument.repeats)
            word += "...";
        text += argument.isOptional ? " [" + word + "]" : " " + word;
    }
    return text;
}

const std::vector<Note> &exitCodeNotes()
{
    static const std::vector<Note> notes = {
        {"0", "done"},
        {"1", "failed: no such file or object, read-only, changed meanwhile, and so on"},
        {"2", "wrong usage, or a value that is not accepted"},
        {"13", "permission denied"},
        {"69", "cortexd is not running, or a service behind it cannot be reached"},
        {"70", "internal fault, or a reply that makes no sense"},
        {"130", "interrupted"},
    };
    return notes;
}

std::vector<Note> exitNotes(const Command &command)
{
    std::vector<Note> notes = command.exits;
    const auto add = [&](std::string_view code, std::string_view text) {
        const bool isSaid = std::any_of(notes.begin(), notes.end(),
                                        [&](const Note &note) { return note.term == code; });
        if (!isSaid)
            notes.push_back({code, text});
    };
    add("0", "done");
    add("2", "wrong usage");
    if (command.asksDaemon) {
        add("13", "permission denied");
        add("69", "cortexd is not running; the message says how to start it");
        add("70", "cortexd answered something that makes no sense");
    }
    std::stable_sort(notes.begin(), notes.end(), [](const Note &a, const Note &b) {
        return a.term.size() != b.term.size() ? a.term.size() < b.term.size() : a.term < b.term;
    });
    return notes;
}

const std::vector<Note> &environmentNotes()
{
    static const std::vector<Note> notes = {
        {"CTX_ROOT", "the mounted tree, as --root"},
        {"CORTEXFS_RUNTIME_DIR", "the directory of control.sock, as --runtime"},
        {"NO_COLOR", "when set, no colour even on a terminal"},
    };
    return notes;
}

std::string generalHelp(const Output &style)
{
    std::string out = "ctx - " + std::string(kProgramSummary) + "\n\n";
    out += "Usage: ctx [OPTIONS] COMMAND [ARGUMENTS]\n\n";
    out += wrapped(kProgramDescription, kWidth, 0);

    out += heading(style, "Start here");
    out += definitions({
        {"cortexd &", "start the daemon, when it is not running yet"},
        {"ctx status", "is it running, and where is the tree?"},
        {"ctx exec debug/echo hello", "run a model that needs no key"},
        {"ctx ls model", "which models are there?"},
        {"ctx provider key set NAME", "give a provider its API key"},
        {"ctx doctor", "something is wrong: find out what"},
    });
    for (const Group group : kGroups) {
        std::vector<std::pair<std::string, std::string_view>> rows;
        for (const Command *command : commands()) {
            if (command->group == group && !command->isHidden)
                rows.emplace_back(command->name, command->summary);
        }
        if (!rows.empty())
            out += heading(style, groupTitle(group)) + definitions(rows);
    }
    out += heading(style, "Options");
    out += optionRows(globalOptions());
    out += heading(style, "Environment") + noteRows(environmentNotes());
    out += heading(style, "Exit codes") + noteRows(exitCodeNotes());
    out += "\n\"ctx help COMMAND\" tells about one command, \"man 7 cortexfs\" about the tree.\n";
    return out;
}

std::string commandHelp(const std::vector<const Command *> &path, const Output &style)
{
    const Command &command = *path.back();
    std::string out = "ctx " + pathText(path) + " - " + std::string(command.summary) + "\n\n";
    out += "Usage: " + usageLine(path) + "\n\n";
    out += wrapped(command.description, kWidth, 0);
    if (!command.subcommands.empty())
        out += heading(style, "Commands") + subcommandRows(command.subcommands, {});

    std::vector<std::pair<std::string, std::string_view>> arguments;
    for (const Argument &argument : command.arguments)
        arguments.emplace_back(argument.name, argument.help);
    if (!arguments.empty())
        out += heading(style, "Arguments") + definitions(arguments);

    std::vector<Option> options = command.options;
    if (command.hasJson())
        options.push_back(jsonOption(command));
    if (!options.empty())
        out += heading(style, "Options") + optionRows(options);
    if (!command.examples.empty())
        out += heading(style, "Examples") + examples(command.examples);
    if (command.run)
        out += heading(style, "Exit codes") + noteRows(exitNotes(command));
    if (!command.files.empty()) {
        out += heading(style, "Files") + noteRows(command.files);
        const bool hasPlace = std::any_of(command.files.begin(), command.files.end(),
                                          [](const Note &note) { return note.term.starts_with('<'); });
        if (hasPlace && command.name != "status")
            out += "  \"ctx status\" shows where <mount>, <config>, <state> and <runtime> are.\n";
    }
    if (command.run)
        out += "\n--root, --runtime, --system and --user work here too; see \"ctx --help\".\n";
    else
        out += "\n\"ctx help " + pathText(path) + " COMMAND\" tells about one of them.\n";
    return out;
}

} // namespace cortexfs::ctx
