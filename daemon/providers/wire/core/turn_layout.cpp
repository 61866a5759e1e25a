#include "daemon/providers/wire/core/turn_layout.h"

#include "common/base/limits.h"
#include "common/json/json.h"
#include "daemon/providers/wire/core/json_text.h"

#include <algorithm>

namespace cortexfs::wire {

namespace {

constexpr std::size_t kMostRawBytes = 4 * limits::kMiB;
// It stands inside a message and a session's line, which must stay readable.
constexpr int kRawDepth = limits::kJsonDepth - 16;

} // namespace

void TurnLayout::addRaw(std::string json)
{
    if (nestingDepth(json) > kRawDepth)
        return;
    m_isNeeded = true;
    m_rawBytes += json.size();
    m_entries.push_back({Piece::Kind::Raw, std::move(json)});
}

void TurnLayout::addText(std::size_t bytes, std::string tag)
{
    if (bytes == 0)
        return;
    m_isNeeded = m_isNeeded || !tag.empty();
    m_entries.push_back({Piece::Kind::Text, std::move(tag), bytes});
}

void TurnLayout::addCall(std::string callId) { m_entries.push_back({Piece::Kind::Call, std::move(callId)}); }

bool TurnLayout::isTooLarge() const { return m_rawBytes > kMostRawBytes; }

std::string TurnLayout::toJson(std::string_view format) const
{
    json::Writer writer;
    writer.beginObject().field("format", format).key("turn").beginArray();
    for (const Entry &entry : m_entries) {
        writer.beginObject();
        switch (entry.kind) {
        case Piece::Kind::Raw: writer.key("raw").raw(entry.value); break;
        case Piece::Kind::Call: writer.field("call", entry.value); break;
        case Piece::Kind::Text:
            writer.field("text", static_cast<std::int64_t>(entry.bytes));
            if (!entry.value.empty())
                writer.field("tag", entry.value);
            break;
        }
        writer.endObject();
    }
    return writer.endArray().endObject().take();
}

TurnLayout TurnLayout::of(const models::Message &message, std::string_view provider, std::string_view format)
{
    TurnLayout layout;
    if (message.opaque.empty() || provider.empty() || message.opaqueProvider != provider)
        return layout;
    const auto document = json::parse(message.opaque);
    if (!document || document->root()["format"].stringOr("") != format)
        return layout;
    for (const json::Value &entry : document->root()["turn"].elements()) {
        if (const json::Value raw = entry["raw"]; raw.isObject())
            layout.addRaw(raw.toJson());
        else if (const auto bytes = entry["text"].asInt(); bytes && *bytes > 0)
            layout.addText(static_cast<std::size_t>(*bytes), std::string(entry["tag"].stringOr("")));
        else if (const auto id = entry["call"].asString())
            layout.addCall(std::string(*id));
    }
    return layout;
}

std::vector<TurnLayout::Piece> TurnLayout::arrange(const models::Message &message, std::string_view text) const
{
    std::size_t measured = 0;
    for (const Entry &entry : m_entries)
        measured += std::min(entry.bytes, text.size() + 1); // no overflow, whatever the numbers are
    const bool isMeasured = measured == text.size();

    std::vector<Piece> out;
    std::vector<const models::ToolCall *> calls;
    for (const models::ToolCall &call : message.toolCalls)
        calls.push_back(&call);
    const auto takeText = [&](std::size_t bytes, std::string tag) {
        if (!text.empty())
            out.push_back({.kind = Piece::Kind::Text, .raw = {}, .text = text.substr(0, bytes), .tag = std::move(tag)});
        text.remove_prefix(std::min(bytes, text.size()));
    };
    for (const Entry &entry : m_entries) {
        if (entry.kind == Piece::Kind::Raw) {
            out.push_back({.kind = Piece::Kind::Raw, .raw = entry.value, .text = {}, .tag = {}});
        } else if (entry.kind == Piece::Kind::Text) {
            takeText(isMeasured ? entry.bytes : text.size(), entry.value);
        } else {
            const auto it = std::find_if(calls.begin(), calls.end(),
                                         [&](const models::ToolCall *call) { return call->callId == entry.value; });
            if (it == calls.end())
                continue;
            out.push_back({.kind = Piece::Kind::Call, .raw = {}, .text = {}, .tag = {}, .call = *it});
            calls.erase(it);
        }
    }
    takeText(text.size(), {});
    for (const models::ToolCall *call : calls)
        out.push_back({.kind = Piece::Kind::Call, .raw = {}, .text = {}, .tag = {}, .call = call});
    return out;
}

} // namespace cortexfs::wire
