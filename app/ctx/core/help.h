// Help texts, made from the descriptors.
#pragma once

#include "app/ctx/core/command.h"
#include "app/ctx/core/output.h"

#include <string>
#include <vector>

namespace cortexfs::ctx {

// `ctx --help`
std::string generalHelp(const Output &style);
// `ctx help COMMAND`: purpose, examples, options, exit codes, files
std::string commandHelp(const std::vector<const Command *> &path, const Output &style);
// "ctx provider key set [OPTIONS] NAME"
std::string usageLine(const std::vector<const Command *> &path);
// The codes of a command, the common ones included, ascending.
std::vector<Note> exitNotes(const Command &command);
std::string_view groupTitle(Group group);
// "-l, --long" or "--slot SLOT"
std::string optionText(const Option &option);

// What every place and variable means, for `ctx --help` and the manual page.
const std::vector<Note> &environmentNotes();
const std::vector<Note> &exitCodeNotes();

inline constexpr std::string_view kProgramSummary = "look at, run and configure CortexFS";
extern const std::string_view kProgramDescription;

} // namespace cortexfs::ctx
