#include "daemon/providers/wire/core/tool_call_accumulator.h"

#include "common/base/limits.h"
#include "common/json/json.h"

#include <cstdio>
#include <set>

namespace cortexfs::wire {

namespace {

// Arguments stand inside an event, a message and a session's line: they nest a little less than a text of ours may.
constexpr int kArgumentsDepth = limits::kJsonDepth - 16;
// Far more than any model asks for at once; an endless list is not an answer.
constexpr std::size_t kMaxCalls = 1024;

bool isSafeObject(std::string_view text)
{
    if (nestingDepth(text) > kArgumentsDepth)
        return false;
    const auto document = json::parse(text);
    return document && document->root().isObject();
}

// Some servers put the whole object into one more string.
std::optional<std::string> unwrapped(std::string_view text)
{
    if (!text.starts_with('"'))
        return std::nullopt;
    const auto document = json::parse(text);
    if (!document)
        return std::nullopt;
    const std::string inner(trimmed(document->root().stringOr("")));
    return isSafeObject(inner) ? std::optional(inner) : std::nullopt;
}

void settleArguments(CollectedCall &call, std::string_view collected)
{
    // Halves of a surrogate pair may have come in two pieces.
    json::Wtf8Joiner joiner;
    std::string text = joiner.push(collected);
    text += joiner.flush();
    const std::string_view body = trimmed(text);
    if (body.empty() || body == "null")
        call.arguments = "{}";
    else if (isSafeObject(body))
        call.arguments = minified(body);
    else if (const auto inner = unwrapped(body))
        call.arguments = minified(*inner);
    else
        call.rawArguments = text;
}

std::string generatedId(std::uint64_t seed, std::size_t position)
{
    std::uint64_t mixed = seed + 0x9e3779b97f4a7c15u * (position + 1);
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    mixed ^= mixed >> 31;
    char text[32];
    std::snprintf(text, sizeof text, "call_%016llx", static_cast<unsigned long long>(mixed));
    return text;
}

std::string uniqueId(std::uint64_t seed, std::size_t position, const std::set<std::string> &taken)
{
    std::string id = generatedId(seed, position);
    while (taken.contains(id))
        id = generatedId(++seed, position);
    return id;
}

} // namespace

std::optional<std::size_t> ToolCallAccumulator::find(const ToolCallFragment &fragment) const
{
    if (m_calls.empty())
        return std::nullopt;
    const auto onIndex = [&]() -> std::optional<std::size_t> {
        if (!fragment.index)
            return std::nullopt;
        const auto it = m_byIndex.find(*fragment.index);
        return it == m_byIndex.end() ? std::nullopt : std::optional(it->second);
    };
    if (!fragment.id.empty()) {
        if (const auto it = m_byId.find(std::string(fragment.id)); it != m_byId.end())
            return it->second;
        const auto there = onIndex();
        return there && m_calls[*there].id.empty() && !m_calls[*there].sharesId ? there : std::nullopt;
    }
    if (fragment.index)
        return onIndex();
    return fragment.name.empty() ? std::optional(m_calls.size() - 1) : std::nullopt;
}

std::size_t ToolCallAccumulator::begin(const ToolCallFragment &fragment)
{
    m_calls.emplace_back();
    const std::size_t position = m_calls.size() - 1;
    if (fragment.index)
        m_byIndex[*fragment.index] = position;
    return position;
}

Result<std::size_t> ToolCallAccumulator::add(const ToolCallFragment &fragment)
{
    auto target = find(fragment);
    if (!target && m_calls.size() >= kMaxCalls)
        return errors::tooLarge("more than " + std::to_string(kMaxCalls) + " tool calls in one reply");
    if (target && !fragment.name.empty() && m_calls[*target].balance.isWhole()
        && trimmed(fragment.arguments).starts_with('{')) {
        const Call &known = m_calls[*target];
        if (!fragment.id.empty() && known.id == fragment.id && known.name == fragment.name
            && known.arguments == fragment.arguments)
            return *target;
        target.reset();
    }
    const std::size_t position = target ? *target : begin(fragment);
    Call &call = m_calls[position];
    if (!fragment.id.empty()) {
        const auto [known, isNew] = m_byId.try_emplace(std::string(fragment.id), position);
        if (isNew && call.id.empty()) {
            call.id = fragment.id;
        } else if (known->second != position) {
            // Another call has that id: this one gets an id of ours, or their results could not be told apart.
            call.sharesId = true;
            known->second = position;
        }
    }
    if (call.name.empty())
        call.name = fragment.name;
    if (call.arguments.size() + fragment.arguments.size() > limits::kToolArguments)
        return errors::tooLarge("the arguments of a tool call are longer than 256 KiB");
    call.arguments += fragment.arguments;
    call.balance.feed(fragment.arguments);
    return position;
}

Result<std::vector<CollectedCall>> ToolCallAccumulator::collect(std::uint64_t idSeed, bool dropBroken) const
{
    std::set<std::string> taken;
    for (const Call &call : m_calls)
        taken.insert(call.id);
    std::vector<CollectedCall> out;
    for (std::size_t i = 0; i < m_calls.size(); ++i) {
        CollectedCall call;
        call.position = i;
        settleArguments(call, m_calls[i].arguments);
        if (dropBroken && (!call.rawArguments.empty() || m_calls[i].name.empty()))
            continue;
        if (m_calls[i].name.empty())
            return errors::badMessage("a tool call without a name");
        call.name = json::toValidUtf8(m_calls[i].name);
        call.callId = json::toValidUtf8(m_calls[i].id);
        if (call.callId.empty()) {
            call.isGeneratedId = true;
            call.callId = uniqueId(idSeed, i, taken);
            taken.insert(call.callId);
        }
        out.push_back(std::move(call));
    }
    return out;
}

} // namespace cortexfs::wire
