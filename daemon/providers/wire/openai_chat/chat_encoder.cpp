#include "daemon/providers/wire/openai_chat/chat_encoder.h"

#include "daemon/providers/wire/core/json_text.h"
#include "daemon/providers/wire/core/tool_names.h"
#include "daemon/providers/wire/openai_chat/effort.h"

#include <algorithm>
#include <array>

namespace cortexfs::wire::openai_chat {

namespace {

using models::Message;
using models::Part;

constexpr std::string_view kNoParameters = "{\"type\":\"object\",\"properties\":{}}";
constexpr std::array<std::string_view, 6> kReserved = {"model", "messages", "stream", "stream_options", "tools", "n"};

bool isReserved(std::string_view key) { return std::find(kReserved.begin(), kReserved.end(), key) != kReserved.end(); }

bool isTokenLimit(std::string_view key)
{
    return key == "max_tokens" || key == "max_completion_tokens" || key == "max_output_tokens";
}

Result<void> checkObject(const std::string &text, const std::string &what)
{
    const auto document = json::parse(text);
    if (document && document->root().isObject())
        return {};
    return errors::invalid(what + " is no JSON object");
}

bool hasImage(const Message &message)
{
    return std::any_of(message.parts.begin(), message.parts.end(),
                       [](const Part &part) { return part.type == Part::Type::Image; });
}

} // namespace

ChatEncoder::ChatEncoder(const models::Conversation &conversation, const EncodeContext &context)
    : m_conversation(conversation), m_context(context), m_dialect(dialectFor(context)),
      m_toolNames(toolNamesFor(conversation))
{}

Result<WireRequest> ChatEncoder::encode()
{
    if (const auto checked = check(); !checked)
        return checked.error();
    m_body.beginObject();
    member("model").string(m_context.nativeModel);
    member("stream").boolean(m_context.stream);
    if (m_context.stream)
        member("stream_options").beginObject().field("include_usage", true).endObject();
    writeMessages();
    writeTools();
    writeResponseFormat();
    writeLimits();
    const abi::Effort effort = m_conversation.effort.value_or(m_context.effort);
    for (const auto &[name, value] : effortFields(m_dialect, m_context.nativeModel, effort))
        member(name).raw(value);
    writeDefaults();
    m_body.endObject();

    WireRequest request;
    request.path = "/chat/completions";
    request.headers = {{"Content-Type", "application/json"},
                       {"Accept", m_context.stream ? "text/event-stream" : "application/json"}};
    request.body = m_body.take();
    request.auth = {.headerName = "Authorization", .prefix = "Bearer "};
    request.toolNames = std::move(m_toolNames);
    return request;
}

Result<void> ChatEncoder::check() const
{
    for (const Message &message : m_conversation.messages) {
        if (message.role != Message::Role::User && hasImage(message))
            return errors::invalid("an image can be sent in a user message only");
    }
    for (const models::Tool &tool : m_conversation.tools) {
        if (tool.parameters.empty())
            continue;
        if (const auto checked = checkObject(tool.parameters, "the schema of tool " + tool.name); !checked)
            return checked;
    }
    if (m_conversation.responseFormat) {
        if (const auto checked = checkObject(m_conversation.responseFormat->schema, "the response schema"); !checked)
            return checked;
    }
    for (const auto &[key, value] : m_context.defaults) {
        if (isReserved(key))
            return errors::invalid("default: " + key + " belongs to the request itself");
    }
    return {};
}

json::Writer &ChatEncoder::member(std::string_view name)
{
    m_taken.emplace(name);
    return m_body.key(name);
}

std::size_t ChatEncoder::leadingSystemMessages() const
{
    const auto &messages = m_conversation.messages;
    const auto first = std::find_if(messages.begin(), messages.end(),
                                    [](const Message &message) { return message.role != Message::Role::System; });
    return static_cast<std::size_t>(first - messages.begin());
}

// One system message: the chat templates of many local models refuse a second one.
std::string ChatEncoder::systemText() const
{
    std::string text = m_conversation.system;
    const auto add = [&](const std::string &more) {
        if (!more.empty())
            text += (text.empty() ? "" : "\n\n") + more;
    };
    for (std::size_t i = 0; i < leadingSystemMessages(); ++i)
        add(models::textOf(m_conversation.messages[i]));
    if (m_conversation.responseFormat && !m_dialect.takesJsonSchema)
        add("Answer with one JSON object that follows this JSON Schema: " + m_conversation.responseFormat->schema);
    return text;
}

void ChatEncoder::writeMessages()
{
    member("messages").beginArray();
    if (const std::string system = systemText(); !system.empty()) {
        m_body.beginObject();
        m_body.field("role", m_dialect.isReasoningModel ? "developer" : "system").field("content", system);
        m_body.endObject();
    }
    for (std::size_t i = leadingSystemMessages(); i < m_conversation.messages.size(); ++i)
        writeMessage(m_conversation.messages[i]);
    m_body.endArray();
}

void ChatEncoder::writeMessage(const Message &message)
{
    m_body.beginObject();
    switch (message.role) {
    case Message::Role::System:
        m_body.field("role", m_dialect.isReasoningModel ? "developer" : "system");
        m_body.field("content", models::textOf(message));
        break;
    case Message::Role::User:
        m_body.field("role", "user");
        writeUserContent(message);
        break;
    case Message::Role::Assistant:
        m_body.field("role", "assistant");
        writeAssistant(message);
        break;
    case Message::Role::Tool: {
        // There is no flag for a failed call: its text has to say so.
        const std::string text = models::textOf(message);
        m_body.field("role", "tool").field("tool_call_id", message.callId);
        m_body.field("content", text.empty() && message.isError ? std::string("error") : text);
        break;
    }
    }
    m_body.endObject();
}

void ChatEncoder::writeUserContent(const Message &message)
{
    m_body.key("content");
    if (message.parts.empty() || (message.parts.size() == 1 && message.parts[0].type == Part::Type::Text)) {
        m_body.string(models::textOf(message));
        return;
    }
    m_body.beginArray();
    for (const Part &part : message.parts) {
        m_body.beginObject();
        if (part.type == Part::Type::Text) {
            m_body.field("type", "text").field("text", part.text);
        } else {
            m_body.field("type", "image_url").key("image_url").beginObject().field("url", part.url);
            if (!part.detail.empty())
                m_body.field("detail", part.detail);
            m_body.endObject();
        }
        m_body.endObject();
    }
    m_body.endArray();
}

ChatOpaque ChatEncoder::opaqueFor(const Message &message) const
{
    if (message.opaque.empty() || m_context.provider.empty() || message.opaqueProvider != m_context.provider)
        return {};
    return ChatOpaque::fromJson(message.opaque);
}

void ChatEncoder::writeAssistant(const Message &message)
{
    const std::string text = models::textOf(message);
    const ChatOpaque opaque = opaqueFor(message);
    if (text.empty() && !message.toolCalls.empty())
        m_body.key("content").null();
    else
        m_body.field("content", text);
    if (!opaque.reasoningContent.empty())
        m_body.field("reasoning_content", opaque.reasoningContent);
    if (!opaque.reasoningDetails.empty())
        m_body.key("reasoning_details").raw(opaque.reasoningDetails);
    if (message.toolCalls.empty())
        return;
    m_body.key("tool_calls").beginArray();
    for (const models::ToolCall &call : message.toolCalls) {
        const bool hasArguments = !trimmed(call.arguments).empty();
        m_body.beginObject().field("id", call.callId).field("type", "function");
        m_body.key("function").beginObject();
        m_body.key("name").string(wireName(m_toolNames, call.name));
        m_body.field("arguments", hasArguments ? call.arguments : std::string("{}"));
        m_body.endObject();
        if (const std::string_view extra = opaque.extraContentOf(call.callId); !extra.empty())
            m_body.key("extra_content").raw(extra);
        m_body.endObject();
    }
    m_body.endArray();
}

void ChatEncoder::writeTools()
{
    if (m_conversation.tools.empty())
        return;
    member("tools").beginArray();
    for (const models::Tool &tool : m_conversation.tools) {
        m_body.beginObject().field("type", "function").key("function").beginObject();
        m_body.key("name").string(wireName(m_toolNames, tool.name));
        if (!tool.description.empty())
            m_body.field("description", tool.description);
        m_body.key("parameters").raw(tool.parameters.empty() ? kNoParameters : std::string_view(tool.parameters));
        m_body.endObject().endObject();
    }
    m_body.endArray();
    const auto isChoice = [](const auto &pair) { return pair.first == "tool_choice"; };
    if (std::none_of(m_context.defaults.begin(), m_context.defaults.end(), isChoice))
        member("tool_choice").string("auto");
}

void ChatEncoder::writeResponseFormat()
{
    if (!m_conversation.responseFormat)
        return;
    const models::ResponseFormat &format = *m_conversation.responseFormat;
    member("response_format").beginObject();
    if (m_dialect.takesJsonSchema) {
        m_body.field("type", "json_schema").key("json_schema").beginObject();
        m_body.field("name", allowedName(format.name, "response")).key("schema").raw(format.schema);
        if (format.strict)
            m_body.field("strict", true);
        m_body.endObject();
    } else {
        m_body.field("type", "json_object");
    }
    m_body.endObject();
}

void ChatEncoder::writeLimits()
{
    if (m_conversation.maxTokens) {
        member(m_dialect.usesMaxCompletionTokens ? "max_completion_tokens" : "max_tokens")
            .integer(*m_conversation.maxTokens);
    }
    if (m_conversation.temperature)
        member("temperature").real(*m_conversation.temperature);
}

void ChatEncoder::writeDefaults()
{
    for (const auto &[key, value] : m_context.defaults) {
        std::string_view name = key;
        if (isTokenLimit(key))
            name = m_dialect.usesMaxCompletionTokens ? "max_completion_tokens" : "max_tokens";
        // Only a request with tools may choose among them.
        if (m_taken.contains(name)
            || (m_conversation.tools.empty() && (name == "tool_choice" || name == "parallel_tool_calls")))
            continue;
        member(name);
        if (json::parse(value))
            m_body.raw(trimmed(value));
        else
            m_body.string(json::toValidUtf8(value));
    }
}

} // namespace cortexfs::wire::openai_chat
