// Formats of the control files of a model (model ABI; decisions, sections 5 and 11). Pure text rules; each function
// gives the text as it is stored, with its final LF, or EINVAL naming the line.
#pragma once

#include "common/base/result.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cortexfs::abi {

// auto none low medium high xhigh max
Result<std::string> checkEffort(std::string_view text);
// none socket
Result<std::string> checkSession(std::string_view text);
// KEY=VALUE a line; KEY is [A-Za-z_][A-Za-z0-9_.-]*; an empty file is legal.
Result<std::string> checkDefaults(std::string_view text);
// provider/model a line, at most 16; an empty file is legal.
Result<std::string> checkFallback(std::string_view text);
// One driver word, or KEY=WORD[,WORD...] lines with the keys default, exec, socket, agent.
Result<std::string> checkDriver(std::string_view text, const std::vector<std::string> &knownDrivers);

// KEY=VALUE lines of a text that passed checkDefaults().
std::vector<std::pair<std::string, std::string>> parseDefaults(std::string_view text);
// The drivers of one purpose: its own line, else `default`, else the single word.
std::vector<std::string> driversFor(std::string_view text, std::string_view purpose);
// Lines without their LF; empty ones are left out.
std::vector<std::string> linesOf(std::string_view text);

} // namespace cortexfs::abi
