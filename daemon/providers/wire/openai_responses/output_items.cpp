#include "daemon/providers/wire/openai_responses/output_items.h"

#include <algorithm>

namespace cortexfs::wire::openai_responses {

OutputItem::Kind kindOf(const json::Value &item)
{
    const std::string_view type = item["type"].stringOr("");
    if (type == "message")
        return OutputItem::Kind::Message;
    if (type == "function_call")
        return OutputItem::Kind::Call;
    return type == "reasoning" ? OutputItem::Kind::Reasoning : OutputItem::Kind::Other;
}

OutputItem *OutputItems::byId(std::string_view id)
{
    if (id.empty() || m_items.empty())
        return nullptr;
    // Nearly every event is about the item of the one before.
    if (m_items[m_last].id == id)
        return &m_items[m_last];
    const auto it = m_byId.find(std::string(id));
    if (it == m_byId.end())
        return nullptr;
    m_last = it->second;
    return &m_items[m_last];
}

OutputItem *OutputItems::byIndex(std::optional<std::int64_t> index, OutputItem::Kind kind)
{
    if (!index)
        return nullptr;
    const auto it = m_byIndex.find(*index);
    if (it == m_byIndex.end() || m_items[it->second].kind != kind)
        return nullptr;
    m_last = it->second;
    return &m_items[m_last];
}

OutputItem *OutputItems::add(OutputItem::Kind kind, std::string_view id, std::int64_t index)
{
    if (m_items.size() >= kMost)
        return nullptr;
    m_last = m_items.size();
    OutputItem &item = m_items.emplace_back();
    item.kind = kind;
    item.id = id;
    item.index = index;
    if (!item.id.empty())
        m_byId.try_emplace(item.id, m_last);
    m_byIndex[index] = m_last;
    return &item;
}

OutputItem *OutputItems::begin(const json::Value &event)
{
    const json::Value value = event["item"];
    const std::string_view id = value["id"].stringOr("");
    if (OutputItem *known = byId(id); known && known->kind == kindOf(value))
        return known;
    return add(kindOf(value), id, event["output_index"].asInt().value_or(static_cast<std::int64_t>(m_items.size())));
}

OutputItem *OutputItems::forEvent(const json::Value &event, OutputItem::Kind kind)
{
    const json::Value item = event["item"];
    const std::string_view id = item.isObject() ? item["id"].stringOr("") : event["item_id"].stringOr("");
    const auto index = event["output_index"].asInt();
    if (OutputItem *known = byId(id); known && known->kind == kind)
        return known;
    if (OutputItem *known = byIndex(index, kind))
        return known;
    // Neither number nor id: about the last one of its kind, unless that one is finished.
    if (!index && id.empty()) {
        const auto last = std::find_if(m_items.rbegin(), m_items.rend(),
                                       [&](const OutputItem &known) { return known.kind == kind; });
        if (last != m_items.rend() && !last->isDone)
            return &*last;
    }
    return add(kind, id, index.value_or(static_cast<std::int64_t>(m_items.size())));
}

OutputItem *OutputItems::findFinished(const json::Value &item, std::int64_t position)
{
    const OutputItem::Kind kind = kindOf(item);
    if (OutputItem *known = byId(item["id"].stringOr("")); known && known->kind == kind)
        return known;
    if (const std::string_view callId = item["call_id"].stringOr("");
        kind == OutputItem::Kind::Call && !callId.empty()) {
        const auto it = std::find_if(m_items.begin(), m_items.end(), [&](const OutputItem &known) {
            return known.kind == kind && known.callId == callId;
        });
        if (it != m_items.end())
            return &*it;
    }
    OutputItem *known = byIndex(position, kind);
    // Another call that happens to have this number is another call.
    const bool isOther = known && kind == OutputItem::Kind::Call && !known->callId.empty()
                         && !item["call_id"].stringOr("").empty();
    return isOther ? nullptr : known;
}

bool OutputItems::hasAny(OutputItem::Kind kind) const
{
    return std::any_of(m_items.begin(), m_items.end(), [&](const OutputItem &item) { return item.kind == kind; });
}

std::vector<OutputItem *> OutputItems::inOrder()
{
    std::vector<OutputItem *> out;
    out.reserve(m_items.size());
    for (OutputItem &item : m_items)
        out.push_back(&item);
    std::stable_sort(out.begin(), out.end(),
                     [](const OutputItem *a, const OutputItem *b) { return a->index < b->index; });
    return out;
}

} // namespace cortexfs::wire::openai_responses
