#include "app/ctx/commands/ls/entry_info.h"

#include "app/ctx/core/text.h"
#include "common/abi/control_text.h"

#include <algorithm>

namespace cortexfs::ctx::ls_command {

namespace {

constexpr std::chrono::milliseconds kAskTime{1'000};
constexpr std::size_t kInfoWidth = 60;
constexpr std::size_t kControlBytes = 4096;
constexpr std::string_view kModelTop = "model";

std::string_view rootInfo(std::string_view name)
{
    static constexpr std::pair<std::string_view, std::string_view> kParts[] = {
        {"status", "is the daemon ready, in a few lines"},
        {"bin", "the installed programs"},
        {"model", "models by provider, and aliases such as main"},
        {"agent", "agents: models with a task and tools"},
        {"tool", "what agents may use"},
        {"home", "private histories, one directory a user"},
        {"shared", "what users share"}};
    for (const auto &[part, text] : kParts) {
        if (part == name)
            return text;
    }
    return {};
}

// At most kInfoWidth bytes, cut between characters.
std::string shortened(std::string text)
{
    if (text.size() <= kInfoWidth)
        return text;
    std::size_t end = kInfoWidth - 3;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
        --end;
    return text.substr(0, end) + "...";
}

} // namespace

EntryInfo::EntryInfo(Session &session, const Tree &tree, const std::string &path) : m_tree(tree)
{
    const std::string_view top = std::string_view(path).substr(0, path.find('/'));
    if (top != kModelTop || path.ends_with(".d"))
        return;
    std::string_view provider;
    if (path.size() > kModelTop.size())
        provider = std::string_view(path).substr(kModelTop.size() + 1);
    provider = provider.substr(0, provider.find('/'));
    Result<ModelList> models = ModelList::fetch(session, provider, kAskTime);
    if (!models)
        return;
    m_models = std::move(*models);
    for (const json::Value &model : m_models->models()) {
        const std::string name(model["name"].stringOr(""));
        ++m_countByProvider[name.substr(0, name.find('/'))];
        m_byName.emplace(name, model);
    }
}

std::string EntryInfo::of(const TreeEntry &entry, const std::string &kind) const
{
    if (!entry.target.empty())
        return "-> " + entry.target;
    if (entry.path.find('/') == std::string::npos)
        return std::string(rootInfo(entry.name));
    if (kind == "model")
        return ofModel(entry.path);
    if (kind == "control")
        return ofControl(entry);
    if (kind == "provider") {
        const auto count = m_countByProvider.find(entry.name);
        return count == m_countByProvider.end() ? std::string() : counted(count->second, "model", "models");
    }
    return {};
}

std::string EntryInfo::ofModel(const std::string &path) const
{
    const auto found = m_byName.find(std::string_view(path).substr(kModelTop.size() + 1));
    if (found == m_byName.end())
        return {};
    const json::Value &model = found->second;
    std::string text = capText(model);
    if (model["limit"].asInt())
        text += (text.empty() ? "" : ", ") + limitText(model) + " tokens";
    const std::string state(model["state"].stringOr(""));
    if (!state.empty() && state != "ready")
        text += (text.empty() ? "" : ", ") + state;
    return text;
}

std::string EntryInfo::ofControl(const TreeEntry &entry) const
{
    if (!S_ISREG(entry.info.st_mode))
        return {};
    const Result<std::string> text = m_tree.read(entry.path, kControlBytes);
    if (!text)
        return "(" + std::string(text.error().name()) + ")";
    std::string joined;
    for (const std::string &line : abi::linesOf(*text))
        joined += (joined.empty() ? "" : ", ") + line;
    return shortened(json::toValidUtf8(joined));
}

} // namespace cortexfs::ctx::ls_command
