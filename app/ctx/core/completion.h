// What the shell may offer for the word under the cursor. Static words come from the descriptors; objects, providers and
// models from the daemon or the tree, fast, and silently nothing when they do not answer.
#pragma once

#include "common/base/places.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cortexfs::ctx {

class Output;

struct Candidate {
    std::string word; // one that ends in '/' may be gone on with
    std::string says; // may be empty
};

// A word that tells the shell's script to complete directories by itself.
inline constexpr std::string_view kDirectoriesWord = ":dirs";

// `words`: the command line without the program, up to and with the word to complete (possibly empty).
std::vector<Candidate> completionsOf(std::span<const std::string_view> words, const Environment &environment,
                                     Output &out);

// The script for "bash", "zsh" or "fish".
std::string completionScript(std::string_view shell);

} // namespace cortexfs::ctx
