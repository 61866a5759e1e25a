// What a command of ctx is: data for the parser, the help, the manual page and the completion, and one function.
//
// A member of the family is a folder below app/ctx/commands/ whose function `const Command &command()` gives one of
// these. All text is UTF-8, lives as long as the program, and is written for a person who sees CortexFS the first time.
#pragma once

#include "common/base/result.h"

#include <string_view>
#include <vector>

namespace cortexfs::ctx {

class Invocation;

// Headings of `ctx --help`, in their order.
enum class Group { Look, Use, Configure, Shell };

// What may stand at a place of the command line.
enum class Completion {
    None,
    Command,
    Object,
    TreePath,
    Control,
    ControlValue,
    Provider,
    Preset,
    Slot,
    Model,
    Directory
};

struct Argument {
    std::string_view name; // "PATH"
    std::string_view help;
    Completion completion = Completion::None;
    bool isOptional = false;
    bool repeats = false;
    std::vector<std::string_view> choices = {}; // not empty: nothing else is accepted
};

struct Option {
    std::string_view name;       // "--slot"
    char letter = 0;             // 'l' for -l; 0: none
    std::string_view value = {}; // "SLOT"; empty: a flag
    std::string_view help;
    Completion completion = Completion::None;
    std::vector<std::string_view> choices = {};
};

struct Example {
    std::string_view line;
    std::string_view says;
};

// An exit code or a file and what it means.
struct Note {
    std::string_view term;
    std::string_view text;
};

// The function of a command: the exit code, or the error that becomes the one line on stderr.
using Run = Result<int> (*)(const Invocation &);

struct Command {
    std::string_view name;
    Group group = Group::Look; // of top-level commands
    std::string_view summary;  // one line, no full stop
    std::string_view description;
    std::vector<Argument> arguments = {};
    std::vector<Option> options = {};
    std::vector<Example> examples = {};
    std::vector<Note> exits = {}; // those that need saying beside the common ones
    std::vector<Note> files = {};
    std::vector<Command> subcommands = {};
    bool printsFacts = false; // has --json: one object
    bool printsLines = false; // has --json: a line an event or a record, as they come; none when there are none
    bool asksDaemon = true;   // may fail because cortexd is not there
    bool passesRest = false;  // what follows the first word belongs to the object, options included
    bool isHidden = false;
    bool hasJson() const { return printsFacts || printsLines; }
    // Not empty: an argument too many may be a secret. It is never quoted, its bytes are wiped, and this is said.
    std::string_view refusesSecrets = {};
    Run run = nullptr; // null: only its subcommands run
};

} // namespace cortexfs::ctx
