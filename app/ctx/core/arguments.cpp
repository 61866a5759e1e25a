#include "app/ctx/core/arguments.h"

#include "app/ctx/core/registry.h"

#include <algorithm>
#include <cstring>

namespace cortexfs::ctx {

const std::vector<Option> &globalOptions()
{
    static const std::vector<Option> options = {
        {.name = "--root",
         .value = "DIR",
         .help = "the mounted tree (default: $CTX_ROOT, else by mode)",
         .completion = Completion::Directory},
        {.name = "--runtime",
         .value = "DIR",
         .help = "where cortexd has its control socket (default: $CORTEXFS_RUNTIME_DIR, else by mode)",
         .completion = Completion::Directory},
        {.name = "--system", .help = "talk to the machine's cortexd: /ctx and /run/cortexfs"},
        {.name = "--user", .help = "talk to your own cortexd, below $XDG_RUNTIME_DIR/cortexfs"},
        {.name = "--help", .letter = 'h', .help = "show this help"},
        {.name = "--version", .letter = 'V', .help = "print the version and end"},
    };
    return options;
}

const Option &jsonOption(const Command &command)
{
    static const Option facts = {.name = "--json", .help = "print one line of JSON"};
    static const Option lines = {.name = "--json", .help = "print the lines of JSON as they come"};
    return command.printsLines ? lines : facts;
}

class Parser {
public:
    explicit Parser(std::span<char *const> arguments) : m_arguments(arguments) {}

    Result<Invocation> parse()
    {
        while (m_next < m_arguments.size()) {
            const std::string_view argument = m_arguments[m_next++];
            const bool isOption = !m_onlyWords && argument.size() > 1 && argument.front() == '-';
            const Result<void> taken = isOption ? takeOption(argument) : takeWord(argument);
            if (!taken)
                return taken.error();
        }
        if (m_made.m_global.wantsHelp || m_made.m_global.wantsVersion || m_made.m_path.empty())
            return std::move(m_made);
        if (const Result<void> complete = checkCounts(); !complete)
            return complete.error();
        return std::move(m_made);
    }

private:
    const Command *command() const { return m_made.m_path.empty() ? nullptr : m_made.m_path.back(); }

    Error usage(std::string text) const
    {
        const std::string path = pathText(m_made.m_path);
        text += path.empty() ? "; see \"ctx --help\"" : "; see \"ctx help " + path + "\"";
        return errors::invalid(std::move(text));
    }

    Error secretRefused() const
    {
        for (char *argument : m_arguments)
            wipeUnlessKnown(argument);
        return errors::invalid(std::string(command()->refusesSecrets));
    }

    // Words of the command line itself stay readable in the process list; everything else may be the secret.
    void wipeUnlessKnown(char *argument) const
    {
        const std::string_view text = argument;
        const bool isKnown = std::any_of(m_made.m_path.begin(), m_made.m_path.end(),
                                         [&](const Command *part) { return part->name == text; });
        if (!isKnown)
            ::explicit_bzero(argument, std::strlen(argument));
    }

    const Option *findOption(std::string_view name, char letter) const
    {
        const auto matches = [&](const Option &option) {
            return letter ? option.letter == letter : option.name == name;
        };
        if (command()) {
            for (const Option &option : command()->options) {
                if (matches(option))
                    return &option;
            }
            if (command()->hasJson() && matches(jsonOption(*command())))
                return &jsonOption(*command());
        }
        for (const Option &option : globalOptions()) {
            if (matches(option))
                return &option;
        }
        return nullptr;
    }

    Error unknownOption(std::string_view name) const
    {
        if (command() && !command()->refusesSecrets.empty())
            return secretRefused();
        std::vector<std::string_view> names;
        for (const Option &option : globalOptions())
            names.push_back(option.name);
        if (command()) {
            for (const Option &option : command()->options)
                names.push_back(option.name);
            if (command()->hasJson())
                names.push_back(jsonOption(*command()).name);
        }
        std::string text = "unknown option " + std::string(name);
        if (const std::string_view meant = nearest(name, names); !meant.empty())
            text += ", did you mean " + std::string(meant) + "?";
        return usage(std::move(text));
    }

    Result<void> takeOption(std::string_view argument)
    {
        if (argument == "--") {
            m_onlyWords = true;
            return {};
        }
        if (argument.starts_with("--")) {
            const std::size_t equals = argument.find('=');
            const std::string_view name = argument.substr(0, equals);
            const Option *option = findOption(name, 0);
            if (!option)
                return unknownOption(name);
            if (equals == std::string_view::npos)
                return setOption(*option, std::nullopt);
            return setOption(*option, argument.substr(equals + 1));
        }
        for (std::size_t i = 1; i < argument.size(); ++i) {
            const Option *option = findOption({}, argument[i]);
            if (!option)
                return unknownOption("-" + std::string(1, argument[i]));
            if (!option->value.empty() && i + 1 < argument.size())
                return setOption(*option, argument.substr(i + 1));
            if (const Result<void> set = setOption(*option, std::nullopt); !set)
                return set;
        }
        return {};
    }

    Result<void> setOption(const Option &option, std::optional<std::string_view> value)
    {
        if (option.value.empty()) {
            if (value)
                return usage(std::string(option.name) + " takes no value");
            value = std::string_view();
        } else if (!value) {
            if (m_next == m_arguments.size())
                return usage(std::string(option.name) + " needs a " + std::string(option.value));
            value = m_arguments[m_next++];
        }
        if (const Result<void> chosen = checkChoice(option.name, option.choices, *value); !chosen)
            return chosen;
        GlobalOptions &global = m_made.m_global;
        if (option.name == "--help")
            global.wantsHelp = true;
        else if (option.name == "--version")
            global.wantsVersion = true;
        else if (option.name == "--json")
            global.wantsJson = true;
        else if (option.name == "--root")
            global.places.mount = std::string(*value);
        else if (option.name == "--runtime")
            global.places.runtime = std::string(*value);
        else if (option.name == "--system")
            global.places.mode = Mode::System;
        else if (option.name == "--user")
            global.places.mode = Mode::User;
        else
            m_made.m_options.emplace_back(option.name, *value);
        return {};
    }

    Result<void> checkChoice(std::string_view what, const std::vector<std::string_view> &choices,
                             std::string_view value) const
    {
        if (choices.empty() || std::find(choices.begin(), choices.end(), value) != choices.end())
            return {};
        std::string text = std::string(what) + " is not \"" + std::string(value) + "\" but one of:";
        for (const std::string_view choice : choices)
            text += " " + std::string(choice);
        return usage(std::move(text));
    }

    Result<void> takeWord(std::string_view word)
    {
        if (!command() || !command()->subcommands.empty())
            return takeCommand(word);
        const std::vector<Argument> &arguments = command()->arguments;
        const bool isTooMany = m_made.m_words.size() >= arguments.size()
                               && (arguments.empty() || !arguments.back().repeats);
        if (isTooMany) {
            if (!command()->refusesSecrets.empty())
                return secretRefused();
            return usage("unexpected argument \"" + std::string(word) + "\"");
        }
        const Argument &argument = arguments[std::min(m_made.m_words.size(), arguments.size() - 1)];
        if (const Result<void> chosen = checkChoice(argument.name, argument.choices, word); !chosen)
            return chosen;
        m_made.m_words.push_back(word);
        if (command()->passesRest)
            m_onlyWords = true;
        return {};
    }

    Result<void> takeCommand(std::string_view word)
    {
        std::vector<std::string_view> names;
        const auto consider = [&](const Command &candidate) {
            if (candidate.name == word)
                m_made.m_path.push_back(&candidate);
            else if (!candidate.isHidden)
                names.push_back(candidate.name);
            return candidate.name == word;
        };
        if (command()) {
            for (const Command &sub : command()->subcommands) {
                if (consider(sub))
                    return {};
            }
        } else {
            for (const Command *candidate : commands()) {
                if (consider(*candidate))
                    return {};
            }
        }
        std::string text = "unknown command \"" + pathText(m_made.m_path) + (command() ? " " : "") + std::string(word)
                           + "\"";
        if (const std::string_view meant = nearest(word, names); !meant.empty())
            text += ", did you mean \"" + std::string(meant) + "\"?";
        return usage(std::move(text));
    }

    Result<void> checkCounts() const
    {
        if (!command()->subcommands.empty() && !command()->run) {
            std::string text = "\"ctx " + pathText(m_made.m_path) + "\" needs one of:";
            for (const Command &sub : command()->subcommands) {
                if (!sub.isHidden)
                    text += " " + std::string(sub.name);
            }
            return usage(std::move(text));
        }
        for (std::size_t i = m_made.m_words.size(); i < command()->arguments.size(); ++i) {
            if (!command()->arguments[i].isOptional)
                return usage(std::string(command()->arguments[i].name) + " is missing");
        }
        return {};
    }

    std::span<char *const> m_arguments;
    std::size_t m_next = 0;
    bool m_onlyWords = false;
    Invocation m_made;
};

Result<Invocation> parseArguments(std::span<char *const> arguments) { return Parser(arguments).parse(); }

} // namespace cortexfs::ctx
