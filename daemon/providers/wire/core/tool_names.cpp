#include "daemon/providers/wire/core/tool_names.h"

#include <algorithm>
#include <set>

namespace cortexfs::wire {

namespace {

constexpr std::size_t kMaxName = 64;

bool isAllowed(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

bool isAllowedName(std::string_view name)
{
    return !name.empty() && name.size() <= kMaxName && std::all_of(name.begin(), name.end(), isAllowed);
}

std::vector<std::string> distinctNames(const models::Conversation &conversation)
{
    std::vector<std::string> out;
    std::set<std::string_view> seen;
    const auto add = [&](const std::string &name) {
        if (seen.insert(name).second)
            out.push_back(name);
    };
    for (const models::Tool &tool : conversation.tools)
        add(tool.name);
    for (const models::Message &message : conversation.messages) {
        for (const models::ToolCall &call : message.toolCalls)
            add(call.name);
    }
    return out;
}

} // namespace

std::string allowedName(std::string_view name, std::string_view fallback)
{
    std::string out(name.substr(0, kMaxName));
    std::replace_if(
        out.begin(), out.end(), [](char c) { return !isAllowed(c); }, '_');
    return out.empty() ? std::string(fallback) : out;
}

ToolNames toolNamesFor(const models::Conversation &conversation)
{
    const std::vector<std::string> names = distinctNames(conversation);
    std::set<std::string> taken;
    for (const std::string &name : names) {
        if (isAllowedName(name))
            taken.insert(name);
    }
    ToolNames out;
    for (const std::string &name : names) {
        if (isAllowedName(name))
            continue;
        const std::string base = allowedName(name, "tool");
        std::string candidate = base;
        for (int count = 2; !taken.insert(candidate).second; ++count) {
            const std::string suffix = "_" + std::to_string(count);
            candidate = base.substr(0, kMaxName - suffix.size()) + suffix;
        }
        out.emplace_back(candidate, name);
    }
    return out;
}

std::string_view wireName(const ToolNames &names, std::string_view own)
{
    const auto it = std::find_if(names.begin(), names.end(), [&](const auto &pair) { return pair.second == own; });
    return it == names.end() ? own : std::string_view(it->first);
}

std::string_view ownName(const ToolNames &names, std::string_view wire)
{
    const auto it = std::find_if(names.begin(), names.end(), [&](const auto &pair) { return pair.first == wire; });
    return it == names.end() ? wire : std::string_view(it->second);
}

} // namespace cortexfs::wire
