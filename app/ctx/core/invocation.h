// A parsed command line: the command, its words and options. Made by parseArguments(); read by the commands.
#pragma once

#include "app/ctx/core/command.h"
#include "common/base/places.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cortexfs::ctx {

class Session;

// Where the daemon is, as far as the command line says.
struct GlobalOptions {
    PlaceOptions places;
    bool wantsHelp = false;
    bool wantsVersion = false;
    bool wantsJson = false;
};

class Invocation {
public:
    const std::vector<const Command *> &path() const { return m_path; }
    const Command &command() const { return *m_path.back(); }
    const GlobalOptions &global() const { return m_global; }

    std::size_t wordCount() const { return m_words.size(); }
    // Empty when there are fewer.
    std::string_view word(std::size_t index) const
    {
        return index < m_words.size() ? m_words[index] : std::string_view();
    }
    std::span<const std::string_view> words() const { return m_words; }

    bool has(std::string_view option) const { return value(option).has_value(); }
    // The last value given; an empty one for a flag.
    std::optional<std::string_view> value(std::string_view option) const
    {
        std::optional<std::string_view> last;
        for (const auto &[name, text] : m_options) {
            if (name == option)
                last = text;
        }
        return last;
    }
    // Every value of an option that may be given several times, in order.
    std::vector<std::string_view> values(std::string_view option) const
    {
        std::vector<std::string_view> all;
        for (const auto &[name, text] : m_options) {
            if (name == option)
                all.push_back(text);
        }
        return all;
    }
    bool wantsJson() const { return m_global.wantsJson; }

    Session &session() const { return *m_session; }
    void setSession(Session &session) { m_session = &session; }

private:
    friend class Parser;

    std::vector<const Command *> m_path; // empty: no command was given
    GlobalOptions m_global;
    std::vector<std::string_view> m_words;
    std::vector<std::pair<std::string_view, std::string_view>> m_options; // long name, value
    Session *m_session = nullptr;
};

} // namespace cortexfs::ctx
