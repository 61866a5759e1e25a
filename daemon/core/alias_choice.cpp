#include "daemon/core/alias_choice.h"

#include "common/abi/control_text.h"

#include <algorithm>
#include <functional>

namespace cortexfs {

namespace {

using models::ModelEntry;
using Predicate = std::function<bool(const ModelEntry &)>;

bool isBuiltIn(const ModelEntry &entry) { return entry.provider == nullptr; }

std::string lower(std::string text)
{
    for (char &c : text) {
        if (c >= 'A' && c <= 'Z')
            c = static_cast<char>(c - 'A' + 'a');
    }
    return text;
}

// The first model of that kind, a usable one before one whose key is missing.
const ModelEntry *firstOf(const std::vector<ModelEntry> &entries, const Predicate &wanted)
{
    const ModelEntry *unusable = nullptr;
    for (const ModelEntry &entry : entries) {
        if (isBuiltIn(entry) || !wanted(entry))
            continue;
        if (entry.isConfigured)
            return &entry;
        if (!unusable)
            unusable = &entry;
    }
    return unusable;
}

const ModelEntry *mainChoice(const std::vector<ModelEntry> &entries)
{
    const ModelEntry *chosen = firstOf(entries, [](const ModelEntry &entry) {
        return entry.isConfigured && entry.nativeId == entry.provider->defaultModel;
    });
    if (!chosen)
        chosen = firstOf(entries, [](const ModelEntry &) { return true; });
    if (chosen)
        return chosen;
    const auto echo = std::find_if(entries.begin(), entries.end(), [](const ModelEntry &entry) {
        return isBuiltIn(entry) && entry.ref.model == "echo";
    });
    return echo == entries.end() ? nullptr : &*echo;
}

Predicate kindOf(std::string_view alias)
{
    const auto byName = [](std::string word) {
        return [word = std::move(word)](const ModelEntry &entry) {
            return lower(entry.nativeId).find(word) != std::string::npos;
        };
    };
    const auto byCapability = [](std::string word) {
        return [word = std::move(word)](const ModelEntry &entry) {
            const std::vector<std::string> words = abi::linesOf(entry.cap);
            return std::find(words.begin(), words.end(), word) != words.end();
        };
    };
    if (alias == "fast" || alias == "code")
        return byName(std::string(alias));
    if (alias == "reason")
        return byCapability("reasoning");
    if (alias == "vision")
        return byCapability("vision");
    return [](const ModelEntry &) { return false; };
}

} // namespace

std::vector<models::ModelAlias> chooseAliases(const std::vector<ModelEntry> &entries,
                                              const std::map<std::string, abi::ModelRef> &userAliases,
                                              const std::string &mount)
{
    const auto isProjected = [&](const abi::ModelRef &ref) {
        return std::any_of(entries.begin(), entries.end(), [&](const ModelEntry &entry) { return entry.ref == ref; });
    };
    // A provider that came after the link was made takes the name: two entries of one name cannot both be listed.
    const auto isProvider = [&](const std::string &name) {
        return std::any_of(entries.begin(), entries.end(),
                           [&](const ModelEntry &entry) { return entry.ref.provider == name; });
    };
    const auto target = [&](const abi::ModelRef &ref) { return mount + "/model/" + ref.text(); };

    std::vector<models::ModelAlias> aliases;
    std::map<std::string, bool> done;
    for (const auto &[name, ref] : userAliases) {
        if (isProjected(ref) && !isProvider(name) && name != "route") {
            aliases.push_back({name, target(ref), true});
            done[name] = true;
        }
    }
    const ModelEntry *main = mainChoice(entries);
    for (const std::string_view name : abi::kModelAliases) {
        if (done.count(std::string(name)) != 0)
            continue;
        const ModelEntry *chosen = firstOf(entries, kindOf(name));
        if (!chosen)
            chosen = main;
        if (chosen)
            aliases.push_back({std::string(name), target(chosen->ref), false});
    }
    std::sort(aliases.begin(), aliases.end(),
              [](const models::ModelAlias &a, const models::ModelAlias &b) { return a.name < b.name; });
    return aliases;
}

} // namespace cortexfs
