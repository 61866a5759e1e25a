// A command line that is still being typed: what the last word can be.
#pragma once

#include "app/ctx/core/invocation.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cortexfs::ctx {

struct UnfinishedLine {
    std::vector<const Command *> path;
    GlobalOptions global;
    std::vector<std::string_view> words; // of the command, before the last one
    std::string_view current;            // the last one, without a "--option=" before it
    std::string prefix;                  // that "--option="
    const Option *valueOf = nullptr;     // the last word is the value of this option
    bool isOption = false;               // it begins an option
};

// Never fails: what does not fit is skipped.
UnfinishedLine readUnfinished(std::span<const std::string_view> words);

} // namespace cortexfs::ctx
