#include "daemon/providers/wire/core/call_ids.h"

#include <algorithm>
#include <set>
#include <vector>

namespace cortexfs::wire {

CallIds::CallIds(const models::Conversation &conversation, const std::function<bool(char)> &isAllowed, std::size_t most)
{
    const auto isFine = [&](const std::string &id) {
        return !id.empty() && id.size() <= most && std::all_of(id.begin(), id.end(), isAllowed);
    };
    std::vector<const std::string *> others;
    std::set<std::string> taken;
    const auto look = [&](const std::string &id) {
        if (isFine(id))
            taken.insert(id);
        else
            others.push_back(&id);
    };
    for (const models::Message &message : conversation.messages) {
        for (const models::ToolCall &call : message.toolCalls)
            look(call.callId);
        if (message.role == models::Message::Role::Tool)
            look(message.callId);
    }
    for (const std::string *id : others) {
        if (m_changed.contains(*id))
            continue;
        std::string base = id->substr(0, most);
        std::replace_if(
            base.begin(), base.end(), [&](char c) { return !isAllowed(c); }, '_');
        if (base.empty())
            base = "call";
        std::string candidate = base;
        for (int count = 2; !taken.insert(candidate).second; ++count) {
            const std::string suffix = "_" + std::to_string(count);
            candidate = base.substr(0, most - suffix.size()) + suffix;
        }
        m_changed.emplace(*id, std::move(candidate));
    }
}

std::string_view CallIds::wireId(const std::string &own) const
{
    const auto it = m_changed.find(own);
    return it == m_changed.end() ? std::string_view(own) : std::string_view(it->second);
}

} // namespace cortexfs::wire
