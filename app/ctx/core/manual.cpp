#include "app/ctx/core/manual.h"

#include "app/ctx/core/arguments.h"
#include "app/ctx/core/help.h"
#include "app/ctx/core/registry.h"
#include "app/ctx/core/text.h"

namespace cortexfs::ctx {

namespace {

constexpr std::string_view kDate = "December 1, 2026"; // of the text; change it with the text
constexpr std::size_t kLineWidth = 76;

// roff escapes; a hyphen stays one that can be copied.
std::string roff(std::string_view text)
{
    std::string out;
    for (const char c : text) {
        if (c == '\\')
            out += "\\e";
        else if (c == '-')
            out += "\\-";
        else
            out += c;
    }
    return out;
}

// One macro argument.
std::string quoted(std::string_view text)
{
    std::string out = "\"";
    for (const char c : roff(text)) {
        if (c == '"')
            out += "\\(dq";
        else
            out += c;
    }
    return out + "\"";
}

// Text lines: a new sentence on a new line, none beginning like a request.
std::string paragraph(std::string_view text)
{
    std::string out;
    while (!text.empty()) {
        std::size_t end = text.find(". ");
        end = end == std::string_view::npos ? text.size() : end + 1;
        std::string lines = wrapped(roff(text.substr(0, end)), kLineWidth, 0);
        text.remove_prefix(std::min(end + 1, text.size()));
        std::size_t start = 0;
        while (start < lines.size()) {
            if (lines[start] == '.' || lines[start] == '\'')
                lines.insert(start, "\\&");
            start = lines.find('\n', start) + 1;
        }
        out += lines;
    }
    return out;
}

std::string item(std::string_view heading, std::string_view text)
{
    return ".It " + std::string(heading) + "\n" + paragraph(text);
}

std::string optionHeading(const Option &option)
{
    std::string out;
    if (option.letter)
        out = "Fl " + std::string(1, option.letter) + " , ";
    out += "Fl " + roff(option.name.substr(1));
    if (!option.value.empty())
        out += " Ar " + std::string(option.value);
    return out;
}

std::string optionList(const std::vector<Option> &options)
{
    std::string out = ".Bl -tag -width Ds\n";
    for (const Option &option : options)
        out += item(optionHeading(option), option.help);
    return out + ".El\n";
}

std::string noteList(const std::vector<Note> &notes, std::string_view macro)
{
    std::string out = ".Bl -tag -width Ds\n";
    for (const Note &note : notes)
        out += item(std::string(macro) + " " + quoted(note.term), note.text);
    return out + ".El\n";
}

std::string exampleBlock(const std::vector<Example> &examples)
{
    std::string out;
    for (const Example &example : examples) {
        out += paragraph(example.says);
        std::string line = roff(example.line);
        if (line.starts_with('.') || line.starts_with('\''))
            line.insert(0, "\\&");
        out += ".Pp\n.Dl " + quoted(example.line) + "\n.Pp\n";
    }
    // The macro that follows makes its own distance.
    if (out.ends_with(".Pp\n"))
        out.erase(out.size() - 4);
    return out;
}

std::string synopsis(const std::vector<const Command *> &path)
{
    const Command &command = *path.back();
    std::string out = ".Nm ctx\n.Cm " + pathText(path) + "\n";
    for (const Option &option : command.options)
        out += ".Op " + optionHeading(option) + "\n";
    if (command.hasJson())
        out += ".Op " + optionHeading(jsonOption(command)) + "\n";
    for (const Argument &argument : command.arguments) {
        out += argument.isOptional ? ".Op Ar " : ".Ar ";
        out += std::string(argument.name) + (argument.repeats ? " ..." : "") + "\n";
    }
    return out;
}

void appendCommand(std::string &out, std::vector<const Command *> path)
{
    const Command &command = *path.back();
    if (command.isHidden)
        return;
    if (command.run) {
        out += ".Ss ctx " + pathText(path) + "\n";
        out += synopsis(path) + ".Pp\n" + paragraph(command.description);
        std::vector<Option> options = command.options;
        if (command.hasJson())
            options.push_back(jsonOption(command));
        if (!options.empty())
            out += optionList(options);
        out += ".Pp\nExit status:\n" + noteList(exitNotes(command), "Li");
        if (!command.files.empty())
            out += ".Pp\nFiles:\n" + noteList(command.files, "Pa");
        if (!command.examples.empty())
            out += ".Pp\nExamples:\n.Pp\n" + exampleBlock(command.examples);
    }
    for (const Command &sub : command.subcommands) {
        path.push_back(&sub);
        appendCommand(out, path);
        path.pop_back();
    }
}

} // namespace

std::string manualPage()
{
    std::string out = ".Dd " + std::string(kDate) + "\n.Dt CTX 1\n.Os\n";
    out += ".Sh NAME\n.Nm ctx\n.Nd " + std::string(kProgramSummary) + "\n";
    out += ".Sh SYNOPSIS\n.Nm\n";
    for (const Option &option : globalOptions())
        out += ".Op " + optionHeading(option) + "\n";
    out += ".Ar COMMAND\n.Op Ar ARGUMENT ...\n";
    out += ".Sh DESCRIPTION\n" + paragraph(kProgramDescription);
    out += ".Pp\nThe options of ctx itself stand before or after the command:\n" + optionList(globalOptions());
    out += ".Sh COMMANDS\n";
    for (const Command *command : commands())
        appendCommand(out, {command});
    out += ".Sh ENVIRONMENT\n" + noteList(environmentNotes(), "Ev");
    out += ".Sh EXIT STATUS\n" + noteList(exitCodeNotes(), "Li");
    out += ".Sh SEE ALSO\n.Xr cortexfs-object-runner 1 ,\n.Xr cortexfs 7 ,\n.Xr cortexd 8\n";
    return out;
}

} // namespace cortexfs::ctx
