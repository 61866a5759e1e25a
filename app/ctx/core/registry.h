// All commands, in the order of their names. The table is generated from app/ctx/commands/*/member.cmake.
#pragma once

#include "app/ctx/core/command.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cortexfs::ctx {

const std::vector<const Command *> &commands();

// The command that `words` name ("provider key set"), as deep as they go. Null when the first one is unknown; `depth` is
// how many words were used.
struct Found {
    std::vector<const Command *> path; // empty: nothing found
    std::size_t depth() const { return path.size(); }
    const Command *last() const { return path.empty() ? nullptr : path.back(); }
};
Found findCommand(std::span<const std::string_view> words);

// "provider key set"
std::string pathText(const std::vector<const Command *> &path);

// The name among `names` that a mistyped `word` most likely meant; empty when none is near.
std::string_view nearest(std::string_view word, const std::vector<std::string_view> &names);

} // namespace cortexfs::ctx
