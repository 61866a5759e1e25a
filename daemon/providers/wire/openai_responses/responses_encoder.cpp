#include "daemon/providers/wire/openai_responses/responses_encoder.h"

#include "daemon/providers/wire/core/json_text.h"
#include "daemon/providers/wire/core/tool_names.h"
#include "daemon/providers/wire/core/turn_layout.h"
#include "daemon/providers/wire/openai_responses/responses_format.h"

#include <algorithm>
#include <array>

namespace cortexfs::wire::openai_responses {

namespace {

using models::Message;
using models::Part;

constexpr std::array<std::string_view, 12> kReserved = {
    "model", "input",   "instructions",         "stream",       "stream_options", "tools",
    "store", "include", "previous_response_id", "conversation", "background",     "prompt"};
constexpr std::size_t kMostCallId = 64;
constexpr std::int64_t kLeastTokens = 16; // less is an HTTP 400

bool isTokenLimit(std::string_view key)
{
    return key == "max_tokens" || key == "max_completion_tokens" || key == "max_output_tokens";
}

bool isPrintable(char c) { return c > 0x20 && c < 0x7f; }

bool hasImage(const Message &message)
{
    return std::any_of(message.parts.begin(), message.parts.end(),
                       [](const Part &part) { return part.type == Part::Type::Image; });
}

} // namespace

ResponsesEncoder::ResponsesEncoder(const models::Conversation &conversation, const EncodeContext &context)
    : m_conversation(conversation), m_context(context), m_traits(traitsOf(context.nativeModel)),
      m_effort(conversation.effort.value_or(context.effort)), m_toolNames(toolNamesFor(conversation)),
      m_callIds(conversation, isPrintable, kMostCallId)
{}

Result<WireRequest> ResponsesEncoder::encode()
{
    if (const auto checked = checkRequest(m_conversation, m_context, kReserved); !checked)
        return checked.error();
    m_body.member("model").string(m_context.nativeModel);
    m_body.member("stream").boolean(m_context.stream);
    m_body.member("store").boolean(false);
    if (!m_conversation.system.empty())
        m_body.member("instructions").string(m_conversation.system);
    writeInput();
    writeTools();
    writeTextFormat();
    writeReasoning();
    writeLimits();
    writeDefaults();

    WireRequest request;
    request.path = "/responses";
    request.headers = {{"Content-Type", "application/json"},
                       {"Accept", m_context.stream ? "text/event-stream" : "application/json"}};
    request.body = m_body.take();
    request.auth = {.headerName = "Authorization", .prefix = "Bearer "};
    request.toolNames = std::move(m_toolNames);
    return request;
}

void ResponsesEncoder::writeInput()
{
    m_body.member("input").beginArray();
    for (const Message &message : m_conversation.messages) {
        switch (message.role) {
        case Message::Role::System:
        case Message::Role::User: writeMessage(message); break;
        case Message::Role::Assistant: writeAssistant(message); break;
        case Message::Role::Tool: writeResult(message); break;
        }
    }
    m_body.writer().endArray();
}

void ResponsesEncoder::writeMessage(const Message &message)
{
    json::Writer &out = m_body.writer();
    out.beginObject().field("type", "message");
    out.field("role", message.role == Message::Role::System ? "system" : "user").key("content");
    writeParts(message);
    out.endObject();
}

void ResponsesEncoder::writeParts(const Message &message)
{
    json::Writer &out = m_body.writer();
    out.beginArray();
    for (const Part &part : message.parts) {
        out.beginObject();
        if (part.type == Part::Type::Text) {
            out.field("type", "input_text").field("text", part.text);
        } else {
            out.field("type", "input_image").field("detail", part.detail.empty() ? std::string("auto") : part.detail);
            out.field("image_url", part.url);
        }
        out.endObject();
    }
    if (message.parts.empty())
        out.beginObject().field("type", "input_text").field("text", "").endObject();
    out.endArray();
}

void ResponsesEncoder::writeAssistant(const Message &message)
{
    json::Writer &out = m_body.writer();
    const std::string text = models::textOf(message);
    const TurnLayout layout = TurnLayout::of(message, m_context.provider, kFormatName);
    for (const TurnLayout::Piece &piece : layout.arrange(message, text)) {
        switch (piece.kind) {
        case TurnLayout::Piece::Kind::Raw: out.raw(piece.raw); break;
        case TurnLayout::Piece::Kind::Call: writeCall(*piece.call); break;
        case TurnLayout::Piece::Kind::Text:
            out.beginObject().field("type", "message").field("role", "assistant").field("content", piece.text);
            if (!piece.tag.empty())
                out.field("phase", piece.tag);
            out.endObject();
            break;
        }
    }
}

void ResponsesEncoder::writeCall(const models::ToolCall &call)
{
    const bool hasArguments = !trimmed(call.arguments).empty();
    json::Writer &out = m_body.writer();
    out.beginObject().field("type", "function_call").field("call_id", m_callIds.wireId(call.callId));
    out.field("name", wireName(m_toolNames, call.name));
    out.field("arguments", hasArguments ? json::toValidUtf8(call.arguments) : std::string("{}")).endObject();
}

void ResponsesEncoder::writeResult(const Message &message)
{
    json::Writer &out = m_body.writer();
    out.beginObject().field("type", "function_call_output").field("call_id", m_callIds.wireId(message.callId));
    out.key("output");
    if (hasImage(message)) {
        writeParts(message);
    } else {
        // There is no flag for a failed call: its text has to say so.
        const std::string text = models::textOf(message);
        out.string(text.empty() && message.isError ? std::string("error") : text);
    }
    out.endObject();
}

void ResponsesEncoder::writeTools()
{
    if (m_conversation.tools.empty()) {
        m_body.leaveOut("tool_choice");
        m_body.leaveOut("parallel_tool_calls");
        return;
    }
    json::Writer &out = m_body.member("tools").beginArray();
    for (const models::Tool &tool : m_conversation.tools) {
        out.beginObject().field("type", "function").field("name", wireName(m_toolNames, tool.name));
        if (!tool.description.empty())
            out.field("description", tool.description);
        // Left out it counts as true, and a schema that is not strict is refused then.
        out.key("parameters").raw(parametersOf(tool)).field("strict", false).endObject();
    }
    out.endArray();
    const auto isChoice = [](const auto &pair) { return pair.first == "tool_choice"; };
    if (std::none_of(m_context.defaults.begin(), m_context.defaults.end(), isChoice))
        m_body.member("tool_choice").string("auto");
}

void ResponsesEncoder::writeTextFormat()
{
    if (!m_conversation.responseFormat)
        return;
    const models::ResponseFormat &format = *m_conversation.responseFormat;
    json::Writer &out = m_body.member("text").beginObject().key("format").beginObject();
    out.field("type", "json_schema").field("name", allowedName(format.name, "response"));
    out.key("schema").raw(minified(format.schema)).field("strict", format.strict);
    out.endObject().endObject();
}

void ResponsesEncoder::writeReasoning()
{
    if (!m_traits.mayReason)
        return;
    m_body.member("include").beginArray().string("reasoning.encrypted_content").endArray();
    const std::string_view effort = effortWordFor(m_traits, m_effort);
    if (effort.empty())
        return;
    m_body.member("reasoning").beginObject().field("effort", effort).field("summary", "auto").endObject();
}

void ResponsesEncoder::writeLimits()
{
    if (m_conversation.maxTokens)
        m_body.member("max_output_tokens").integer(std::max(*m_conversation.maxTokens, kLeastTokens));
    if (m_traits.refusesTemperature && effortWordFor(m_traits, m_effort) != "none")
        m_body.leaveOut("temperature");
    else if (m_conversation.temperature)
        m_body.member("temperature").real(*m_conversation.temperature);
}

void ResponsesEncoder::writeDefaults()
{
    m_body.addDefaults(m_context, [](std::string_view key) {
        return isTokenLimit(key) ? std::string_view("max_output_tokens") : key;
    });
}

} // namespace cortexfs::wire::openai_responses
