#include "app/ctx/core/registry.h"

#include "app/ctx/commands/registry_includes.inc"

#include <algorithm>
#include <numeric>

namespace cortexfs::ctx {

const std::vector<const Command *> &commands()
{
    static const std::vector<const Command *> table = [] {
        std::vector<const Command *> all = {
#define X(entry) &entry(),
#include "app/ctx/commands/registry_entries.inc"
#undef X
        };
        std::sort(all.begin(), all.end(), [](const Command *a, const Command *b) { return a->name < b->name; });
        return all;
    }();
    return table;
}

Found findCommand(std::span<const std::string_view> words)
{
    Found found;
    for (const std::string_view word : words) {
        const Command *next = nullptr;
        if (found.path.empty()) {
            const auto at = std::find_if(commands().begin(), commands().end(),
                                         [&](const Command *command) { return command->name == word; });
            next = at == commands().end() ? nullptr : *at;
        } else {
            for (const Command &sub : found.path.back()->subcommands) {
                if (sub.name == word)
                    next = &sub;
            }
        }
        if (!next)
            break;
        found.path.push_back(next);
    }
    return found;
}

std::string pathText(const std::vector<const Command *> &path)
{
    std::string out;
    for (const Command *command : path) {
        if (!out.empty())
            out += ' ';
        out += command->name;
    }
    return out;
}

namespace {

// Edits (insert, remove, replace, swap of neighbours) between two short words.
std::size_t distance(std::string_view a, std::string_view b)
{
    std::vector<std::size_t> before(b.size() + 1);
    std::vector<std::size_t> current(b.size() + 1);
    std::vector<std::size_t> twoBefore;
    std::iota(before.begin(), before.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        current[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replace = before[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            current[j] = std::min({before[j] + 1, current[j - 1] + 1, replace});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                current[j] = std::min(current[j], twoBefore[j - 2] + 1);
        }
        twoBefore = before;
        std::swap(before, current);
    }
    return before[b.size()];
}

} // namespace

std::string_view nearest(std::string_view word, const std::vector<std::string_view> &names)
{
    constexpr std::size_t kLongestWord = 64;
    if (word.empty() || word.size() > kLongestWord)
        return {};
    std::string_view best;
    std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
    for (const std::string_view name : names) {
        if (const std::size_t edits = distance(word, name); edits < least) {
            least = edits;
            best = name;
        }
    }
    return best;
}

} // namespace cortexfs::ctx
