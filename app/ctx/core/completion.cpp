#include "app/ctx/core/completion.h"

#include "app/ctx/core/arguments.h"
#include "app/ctx/core/command_line.h"
#include "app/ctx/core/models.h"
#include "app/ctx/core/mount_watch.h"
#include "app/ctx/core/registry.h"
#include "app/ctx/core/session.h"
#include "app/ctx/core/text.h"
#include "app/ctx/core/tree.h"

#include <algorithm>

namespace cortexfs::ctx {

namespace {

// A key press must not feel like a request.
constexpr std::chrono::milliseconds kAskTime{500};

// The sources of words that are not in the descriptors.
class DynamicWords {
public:
    DynamicWords(const UnfinishedLine &line, Session &session) : m_line(line), m_session(session) {}

    std::vector<Candidate> of(Completion kind)
    {
        switch (kind) {
        case Completion::Object: return objects();
        case Completion::TreePath: return paths(false);
        case Completion::Control: return paths(true);
        case Completion::ControlValue: return controlValues();
        case Completion::Provider: return providers();
        case Completion::Preset: return presets();
        case Completion::Slot: return slots();
        case Completion::Model: return modelsOfProvider();
        case Completion::Directory: return {{std::string(kDirectoriesWord), {}}};
        case Completion::Command: return subcommands();
        case Completion::None: return {};
        }
        return {};
    }

private:
    std::string_view firstWord() const { return m_line.words.empty() ? std::string_view() : m_line.words.front(); }

    std::vector<Candidate> modelNames(std::string_view provider = {})
    {
        std::vector<Candidate> out;
        const Result<ModelList> list = ModelList::fetch(m_session, provider, kAskTime);
        if (!list)
            return out;
        for (const json::Value &alias : list->aliases()) {
            if (provider.empty())
                out.push_back({std::string(alias["name"].stringOr("")),
                               "stands for " + std::string(alias["target"].stringOr(""))});
        }
        for (const json::Value &model : list->models())
            out.push_back({std::string(model["name"].stringOr("")), capText(model)});
        return out;
    }

    std::vector<Candidate> objects()
    {
        const std::string_view current = m_line.current;
        for (const std::string_view top : {"model/", "agent/", "tool/", "home/", "shared/", "/", "."}) {
            if (current.starts_with(top))
                return paths(false);
        }
        std::vector<Candidate> out = modelNames();
        if (current.find('/') == std::string_view::npos) {
            const Tree tree(m_session);
            for (const char *top : {"agent", "tool"}) {
                const Result<std::vector<TreeEntry>> entries = tree.exists(top) ? tree.list(top)
                                                                                : std::vector<TreeEntry>();
                if (!entries)
                    continue;
                for (const TreeEntry &entry : *entries) {
                    if (kindOf(entry) == top)
                        out.push_back({entry.name, top});
                }
            }
        }
        return out;
    }

    // Entries of the directory that the word has come to. For `set`: what leads to control files that can be written.
    std::vector<Candidate> paths(bool onlyControls)
    {
        std::vector<Candidate> out;
        const Tree tree(m_session);
        const std::size_t slash = m_line.current.rfind('/');
        const std::string typed(slash == std::string_view::npos ? "" : m_line.current.substr(0, slash + 1));
        const Result<std::string> directory = tree.pathOf(typed);
        if (!directory || !tree.exists(*directory))
            return out;
        const Result<std::vector<TreeEntry>> entries = tree.list(*directory);
        if (!entries)
            return out;
        for (const TreeEntry &entry : *entries) {
            const std::string kind = kindOf(entry);
            const bool isFolder = S_ISDIR(entry.info.st_mode);
            if (onlyControls && !isFolder && (kind != "control" || (entry.info.st_mode & 0222) == 0))
                continue;
            out.push_back({typed + entry.name + (isFolder ? "/" : ""), kind});
        }
        return out;
    }

    std::vector<Candidate> controlValues()
    {
        const std::string_view control = firstWord().substr(firstWord().rfind('/') + 1);
        const auto words = [](std::initializer_list<const char *> list) {
            std::vector<Candidate> out;
            for (const char *word : list)
                out.push_back({word, {}});
            return out;
        };
        if (control == "effort")
            return words({"auto", "none", "low", "medium", "high", "xhigh", "max"});
        if (control == "session")
            return words({"none", "socket"});
        if (control == "fallback")
            return modelNames();
        return {};
    }

    std::vector<Candidate> providers()
    {
        std::vector<Candidate> out;
        const Result<json::Document> reply = m_session.ask("provider.list", {}, kAskTime);
        if (!reply)
            return out;
        for (const json::Value &provider : reply->root()["providers"].elements())
            out.push_back({std::string(provider["name"].stringOr("")), std::string(provider["base_url"].stringOr(""))});
        return out;
    }

    std::vector<Candidate> presets()
    {
        std::vector<Candidate> out;
        const Result<json::Document> reply = m_session.ask("provider.preset.list", {}, kAskTime);
        if (!reply)
            return out;
        for (const json::Value &preset : reply->root()["presets"].elements()) {
            const std::string name(preset["name"].stringOr(""));
            out.push_back({name, std::string(preset["state"].stringOr(""))});
            for (const json::Value &alias : preset["aliases"].elements())
                out.push_back({std::string(alias.stringOr("")), "another name of " + name});
        }
        return out;
    }

    std::vector<Candidate> slots()
    {
        std::vector<Candidate> out = {{"default", {}}};
        json::Writer request;
        request.beginObject().field("name", json::toValidUtf8(firstWord())).endObject();
        const Result<json::Document> reply = m_session.ask("provider.get", membersOf(request.text()), kAskTime);
        if (!reply)
            return out;
        for (const json::Value &slot : reply->root()["slots"].elements()) {
            const std::string name(slot["name"].stringOr(""));
            if (name != "default")
                out.push_back({name, std::string(slot["state"].stringOr(""))});
        }
        return out;
    }

    std::vector<Candidate> modelsOfProvider()
    {
        const std::string provider = json::toValidUtf8(firstWord());
        std::vector<Candidate> out = modelNames(provider);
        for (Candidate &candidate : out)
            candidate.word.erase(0, candidate.word.find('/') + 1);
        return out;
    }

    std::vector<Candidate> subcommands()
    {
        std::vector<Candidate> out;
        const Found found = findCommand(m_line.words);
        if (found.depth() != m_line.words.size())
            return out;
        if (!found.last()) {
            for (const Command *command : commands())
                out.push_back({std::string(command->name), std::string(command->summary)});
        } else {
            for (const Command &sub : found.last()->subcommands) {
                if (!sub.isHidden)
                    out.push_back({std::string(sub.name), std::string(sub.summary)});
            }
        }
        return out;
    }

    const UnfinishedLine &m_line;
    Session &m_session;
};

void addOptions(std::vector<Candidate> &out, const std::vector<Option> &options)
{
    for (const Option &option : options)
        out.push_back({std::string(option.name), std::string(option.help)});
}

std::vector<Candidate> staticWords(const UnfinishedLine &line, Completion &dynamic)
{
    std::vector<Candidate> out;
    const auto addChoices = [&](const std::vector<std::string_view> &choices) {
        for (const std::string_view choice : choices)
            out.push_back({std::string(choice), {}});
    };
    if (line.valueOf) {
        addChoices(line.valueOf->choices);
        dynamic = line.valueOf->completion;
        return out;
    }
    const Command *command = line.path.empty() ? nullptr : line.path.back();
    if (line.isOption) {
        if (command) {
            addOptions(out, command->options);
            if (command->hasJson())
                addOptions(out, {jsonOption(*command)});
        }
        addOptions(out, globalOptions());
        return out;
    }
    if (!command && line.words.empty()) {
        for (const Command *candidate : commands()) {
            if (!candidate->isHidden)
                out.push_back({std::string(candidate->name), std::string(candidate->summary)});
        }
        return out;
    }
    if (!command)
        return out;
    if (!command->subcommands.empty() && line.words.empty()) {
        for (const Command &sub : command->subcommands) {
            if (!sub.isHidden)
                out.push_back({std::string(sub.name), std::string(sub.summary)});
        }
        return out;
    }
    const std::vector<Argument> &arguments = command->arguments;
    if (arguments.empty() || (line.words.size() >= arguments.size() && !arguments.back().repeats))
        return out;
    const Argument &argument = arguments[std::min(line.words.size(), arguments.size() - 1)];
    addChoices(argument.choices);
    dynamic = argument.completion;
    return out;
}

} // namespace

std::vector<Candidate> completionsOf(std::span<const std::string_view> words, const Environment &environment,
                                     Output &out)
{
    const UnfinishedLine line = readUnfinished(words);
    Completion dynamic = Completion::None;
    std::vector<Candidate> candidates = staticWords(line, dynamic);
    if (dynamic != Completion::None) {
        if (Result<Session> session = Session::create(line.global, environment, out)) {
            const MountWatch watch(session->places().mount, 2 * kAskTime);
            std::vector<Candidate> more = DynamicWords(line, *session).of(dynamic);
            candidates.insert(candidates.end(), std::make_move_iterator(more.begin()),
                              std::make_move_iterator(more.end()));
        }
    }
    std::erase_if(candidates, [&](const Candidate &candidate) {
        return candidate.word != kDirectoriesWord && !candidate.word.starts_with(line.current);
    });
    for (Candidate &candidate : candidates) {
        if (candidate.word != kDirectoriesWord)
            candidate.word.insert(0, line.prefix);
    }
    return candidates;
}

} // namespace cortexfs::ctx
