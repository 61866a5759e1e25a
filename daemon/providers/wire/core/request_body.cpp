#include "daemon/providers/wire/core/request_body.h"

#include "daemon/providers/wire/core/json_text.h"

#include <algorithm>

namespace cortexfs::wire {

namespace {

using models::Message;
using models::Part;

constexpr std::string_view kNoParameters = "{\"type\":\"object\",\"properties\":{}}";

Result<void> checkObject(const std::string &text, const std::string &what)
{
    const auto document = json::parse(text);
    if (document && document->root().isObject())
        return {};
    return errors::invalid(what + " is no JSON object");
}

Result<void> checkMessages(const models::Conversation &conversation)
{
    bool hasInput = false;
    for (const Message &message : conversation.messages) {
        hasInput = hasInput || message.role == Message::Role::User || message.role == Message::Role::Tool;
        const bool mayHoldImages = message.role == Message::Role::User || message.role == Message::Role::Tool;
        for (const Part &part : message.parts) {
            if (part.type == Part::Type::Image && !mayHoldImages)
                return errors::invalid("an image can be sent in a user message or a tool's result only");
        }
    }
    if (!hasInput)
        return errors::invalid("the conversation holds no user message");
    return {};
}

} // namespace

json::Writer &RequestBody::member(std::string_view name)
{
    m_taken.emplace(name);
    return m_writer.key(name);
}

void RequestBody::addDefaults(const EncodeContext &context,
                              const std::function<std::string_view(std::string_view)> &nameOf)
{
    for (const auto &[key, value] : context.defaults) {
        const std::string_view name = nameOf(key);
        if (has(name))
            continue;
        member(name);
        if (json::parse(value))
            m_writer.raw(trimmed(value));
        else
            m_writer.string(json::toValidUtf8(value));
    }
}

std::string RequestBody::take()
{
    m_writer.endObject();
    return m_writer.take();
}

std::optional<std::int64_t> wholeDefault(const EncodeContext &context, std::initializer_list<std::string_view> keys)
{
    for (const auto &[key, value] : context.defaults) {
        if (std::find(keys.begin(), keys.end(), std::string_view(key)) == keys.end())
            continue;
        const auto document = json::parse(value);
        if (const auto number = document ? document->root().asInt() : std::nullopt; number && *number > 0)
            return number;
    }
    return std::nullopt;
}

Result<void> checkRequest(const models::Conversation &conversation, const EncodeContext &context,
                          std::span<const std::string_view> reserved)
{
    if (const auto checked = checkMessages(conversation); !checked)
        return checked;
    for (const models::Tool &tool : conversation.tools) {
        if (tool.parameters.empty())
            continue;
        if (const auto checked = checkObject(tool.parameters, "the schema of tool " + tool.name); !checked)
            return checked;
    }
    if (conversation.responseFormat) {
        if (const auto checked = checkObject(conversation.responseFormat->schema, "the response schema"); !checked)
            return checked;
    }
    for (const auto &[key, value] : context.defaults) {
        if (std::find(reserved.begin(), reserved.end(), std::string_view(key)) != reserved.end())
            return errors::invalid("default: " + key + " belongs to the request itself");
    }
    return {};
}

std::string parametersOf(const models::Tool &tool)
{
    if (trimmed(tool.parameters).empty())
        return std::string(kNoParameters);
    const std::string text = minified(tool.parameters);
    const auto document = json::parse(text);
    if (!document || !document->root()["type"].isMissing())
        return text;
    if (document->root().size() == 0)
        return std::string(kNoParameters);
    return "{\"type\":\"object\"," + text.substr(1);
}

std::string argumentsObject(const models::ToolCall &call)
{
    const std::string_view text = trimmed(call.arguments);
    if (text.empty())
        return "{}";
    const auto document = json::parse(text);
    if (document && document->root().isObject())
        return minified(text);
    json::Writer writer;
    writer.beginObject().field("raw_arguments", json::toValidUtf8(call.arguments)).endObject();
    return writer.take();
}

} // namespace cortexfs::wire
