#include "daemon/providers/wire/openai_chat/chat_opaque.h"

#include "daemon/providers/wire/openai_chat/dialect.h"

#include <algorithm>

namespace cortexfs::wire::openai_chat {

std::string ChatOpaque::toJson() const
{
    if (isEmpty())
        return {};
    json::Writer writer;
    writer.beginObject().field("format", std::string(kFormatName));
    if (!reasoningContent.empty())
        writer.field("reasoning_content", reasoningContent);
    if (!reasoningDetails.empty())
        writer.key("reasoning_details").raw(reasoningDetails);
    if (!extraContent.empty()) {
        writer.key("calls").beginObject();
        for (const auto &[callId, content] : extraContent)
            writer.key(callId).beginObject().key("extra_content").raw(content).endObject();
        writer.endObject();
    }
    return writer.endObject().text();
}

ChatOpaque ChatOpaque::fromJson(std::string_view text)
{
    ChatOpaque opaque;
    const auto document = json::parse(text);
    if (!document || document->root()["format"].stringOr("") != kFormatName)
        return opaque;
    const json::Value root = document->root();
    opaque.reasoningContent = root["reasoning_content"].stringOr("");
    if (const json::Value details = root["reasoning_details"]; details.isArray())
        opaque.reasoningDetails = details.toJson();
    for (const json::Member &call : root["calls"].members()) {
        if (const json::Value content = call.value["extra_content"]; !content.isMissing())
            opaque.extraContent.emplace_back(call.key, content.toJson());
    }
    return opaque;
}

std::string_view ChatOpaque::extraContentOf(std::string_view callId) const
{
    const auto it = std::find_if(extraContent.begin(), extraContent.end(),
                                 [&](const auto &pair) { return pair.first == callId; });
    return it == extraContent.end() ? std::string_view() : std::string_view(it->second);
}

ReasoningDetails::Detail &ReasoningDetails::detailFor(const json::Value &piece)
{
    const std::string type = json::toValidUtf8(piece["type"].stringOr(""));
    const json::Value index = piece["index"];
    const std::string indexText = index.isMissing() ? std::string() : index.toJson();
    const auto valueOf = [](const Detail &detail, std::string_view key) -> std::string_view {
        const auto it = std::find_if(detail.begin(), detail.end(), [&](const Member &m) { return m.key == key; });
        return it == detail.end() ? std::string_view() : std::string_view(it->value);
    };
    // Pieces without a number continue the last detail of their kind; encrypted ones come whole.
    for (auto it = m_details.rbegin(); it != m_details.rend(); ++it) {
        if (valueOf(*it, "type") == type && valueOf(*it, "index") == indexText
            && (!indexText.empty() || piece["data"].isMissing()))
            return *it;
    }
    return m_details.emplace_back();
}

void ReasoningDetails::add(const json::Value &details)
{
    for (const json::Value &piece : details.elements()) {
        if (!piece.isObject())
            continue;
        Detail &detail = detailFor(piece);
        for (const json::Member &member : piece.members()) {
            if (member.value.isNull())
                continue;
            const std::string key = json::toValidUtf8(member.key);
            const auto text = member.value.asString();
            const std::string value = json::toValidUtf8(text ? std::string(*text) : member.value.toJson());
            const auto known = std::find_if(detail.begin(), detail.end(),
                                            [&](const Member &m) { return m.key == key; });
            if (known == detail.end())
                detail.push_back({key, text.has_value(), value});
            else if (known->isText && text && (key == "text" || key == "summary"))
                known->value += value;
            else
                *known = {key, text.has_value(), value};
        }
    }
}

std::string ReasoningDetails::toJson() const
{
    json::Writer writer;
    writer.beginArray();
    for (const Detail &detail : m_details) {
        writer.beginObject();
        for (const Member &member : detail) {
            writer.key(member.key);
            if (member.isText)
                writer.string(member.value);
            else
                writer.raw(member.value);
        }
        writer.endObject();
    }
    return writer.endArray().text();
}

} // namespace cortexfs::wire::openai_chat
