#include "app/ctx/core/command_line.h"

#include "app/ctx/core/arguments.h"
#include "app/ctx/core/registry.h"

namespace cortexfs::ctx {

namespace {

const Option *findOption(const UnfinishedLine &line, std::string_view text)
{
    const auto matches = [&](const Option &option) {
        return option.name == text || (text.size() == 2 && option.letter != 0 && text[1] == option.letter);
    };
    if (!line.path.empty()) {
        for (const Option &option : line.path.back()->options) {
            if (matches(option))
                return &option;
        }
    }
    for (const Option &option : globalOptions()) {
        if (matches(option))
            return &option;
    }
    return nullptr;
}

void noteGlobal(GlobalOptions &global, std::string_view option, std::string_view value)
{
    if (option == "--root")
        global.places.mount = std::string(value);
    else if (option == "--runtime")
        global.places.runtime = std::string(value);
    else if (option == "--system")
        global.places.mode = Mode::System;
    else if (option == "--user")
        global.places.mode = Mode::User;
}

void takeWord(UnfinishedLine &line, std::string_view word)
{
    std::vector<std::string_view> names;
    for (const Command *part : line.path)
        names.push_back(part->name);
    names.push_back(word);
    Found found = findCommand(names);
    if (found.depth() == names.size())
        line.path = std::move(found.path);
    else
        line.words.push_back(word);
}

} // namespace

UnfinishedLine readUnfinished(std::span<const std::string_view> words)
{
    UnfinishedLine line;
    if (words.empty())
        return line;
    bool onlyWords = false;
    const Option *open = nullptr; // waits for its value
    for (const std::string_view word : words.first(words.size() - 1)) {
        if (open) {
            if (word == "=") // bash splits --option=value at its word breaks
                continue;
            noteGlobal(line.global, open->name, word);
            open = nullptr;
        } else if (onlyWords || word.size() < 2 || word.front() != '-') {
            takeWord(line, word);
            onlyWords = onlyWords || (!line.path.empty() && line.path.back()->passesRest && !line.words.empty());
        } else if (word == "--") {
            onlyWords = true;
        } else {
            const std::size_t equals = word.find('=');
            const Option *option = findOption(line, word.substr(0, equals));
            if (!option)
                continue;
            if (option->value.empty() || equals != std::string_view::npos)
                noteGlobal(line.global, option->name,
                           equals == std::string_view::npos ? std::string_view() : word.substr(equals + 1));
            else
                open = option;
        }
    }
    line.current = words.back();
    if (open) {
        line.valueOf = open;
        if (line.current == "=")
            line.current = {};
        return line;
    }
    if (onlyWords || !line.current.starts_with('-'))
        return line;
    const std::size_t equals = line.current.find('=');
    if (equals != std::string_view::npos) {
        line.valueOf = findOption(line, line.current.substr(0, equals));
        line.prefix = line.current.substr(0, equals + 1);
        line.current.remove_prefix(equals + 1);
    }
    line.isOption = !line.valueOf;
    return line;
}

} // namespace cortexfs::ctx
