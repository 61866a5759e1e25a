#include "daemon/providers/wire/anthropic_messages/messages_encoder.h"

#include "daemon/providers/wire/anthropic_messages/image_source.h"
#include "daemon/providers/wire/anthropic_messages/messages_format.h"
#include "daemon/providers/wire/core/json_text.h"
#include "daemon/providers/wire/core/tool_names.h"
#include "daemon/providers/wire/core/turn_layout.h"

#include <algorithm>
#include <array>

namespace cortexfs::wire::anthropic_messages {

namespace {

using models::Message;
using models::Part;

constexpr std::array<std::string_view, 5> kReserved = {"model", "messages", "system", "stream", "tools"};
constexpr std::size_t kMostCallId = 128;
constexpr double kHottest = 1.0; // other APIs go up to 2

bool isTokenLimit(std::string_view key)
{
    return key == "max_tokens" || key == "max_completion_tokens" || key == "max_output_tokens";
}

bool isIdCharacter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

// A text block without anything to read is an HTTP 400.
bool isBlank(std::string_view text) { return trimmed(text).empty(); }

std::string textBlock(std::string_view text)
{
    json::Writer writer;
    writer.beginObject().field("type", "text").field("text", text).endObject();
    return writer.take();
}

Result<std::string> imageBlock(const Part &part)
{
    const auto source = imageSource(part.url);
    if (!source)
        return source.error();
    json::Writer writer;
    writer.beginObject().field("type", "image").key("source").raw(*source).endObject();
    return writer.take();
}

Result<void> addParts(std::vector<std::string> &blocks, const Message &message)
{
    for (const Part &part : message.parts) {
        if (part.type == Part::Type::Text) {
            if (!isBlank(part.text))
                blocks.push_back(textBlock(part.text));
            continue;
        }
        auto block = imageBlock(part);
        if (!block)
            return block.error();
        blocks.push_back(std::move(*block));
    }
    return {};
}

} // namespace

MessagesEncoder::MessagesEncoder(const models::Conversation &conversation, const EncodeContext &context)
    : m_conversation(conversation), m_context(context), m_traits(traitsOf(context.nativeModel)),
      m_toolNames(toolNamesFor(conversation)), m_callIds(conversation, isIdCharacter, kMostCallId)
{
    auto wanted = conversation.maxTokens;
    if (!wanted)
        wanted = wholeDefault(context, {"max_tokens", "max_completion_tokens", "max_output_tokens"});
    m_plan = planFor(m_traits, conversation.effort.value_or(context.effort), wanted, context.limit);
}

Result<WireRequest> MessagesEncoder::encode()
{
    if (const auto checked = checkRequest(m_conversation, m_context, kReserved); !checked)
        return checked.error();
    const auto conversation = turns();
    if (!conversation)
        return conversation.error();
    m_body.member("model").string(m_context.nativeModel);
    m_body.member("stream").boolean(m_context.stream);
    m_body.member("max_tokens").integer(m_plan.maxTokens);
    if (const std::string system = systemText(); !isBlank(system))
        m_body.member("system").string(system);
    writeTurns(*conversation);
    writeTools();
    writeThinking();
    writeSampling();
    writeDefaults();

    WireRequest request;
    request.path = "/v1/messages";
    request.headers = {{"Content-Type", "application/json"},
                       {"Accept", m_context.stream ? "text/event-stream" : "application/json"},
                       {"anthropic-version", std::string(kApiVersion)}};
    request.body = m_body.take();
    request.auth = {.headerName = "x-api-key", .prefix = ""};
    request.toolNames = std::move(m_toolNames);
    return request;
}

// There is one system prompt and no such role: what stands in the history goes there too.
std::string MessagesEncoder::systemText() const
{
    std::string text = m_conversation.system;
    const auto add = [&](const std::string &more) {
        if (!more.empty())
            text += (text.empty() ? "" : "\n\n") + more;
    };
    for (const Message &message : m_conversation.messages) {
        if (message.role == Message::Role::System)
            add(models::textOf(message));
    }
    if (m_conversation.responseFormat && !m_traits.takesSchema)
        add("Answer with one JSON object that follows this JSON Schema: " + m_conversation.responseFormat->schema);
    return text;
}

Result<std::vector<MessagesEncoder::Turn>> MessagesEncoder::turns() const
{
    std::vector<Turn> out;
    const auto turnOf = [&](bool isUser) -> Turn & {
        if (out.empty() || out.back().isUser != isUser)
            out.push_back({.isUser = isUser, .results = {}, .blocks = {}});
        return out.back();
    };
    for (const Message &message : m_conversation.messages) {
        if (message.role == Message::Role::System)
            continue;
        const bool isUser = message.role != Message::Role::Assistant;
        Turn next{.isUser = isUser, .results = {}, .blocks = {}};
        if (!isUser)
            addAnswer(next, message);
        else if (const auto added = addInput(next, message); !added)
            return added.error();
        if (next.results.empty() && next.blocks.empty())
            continue;
        Turn &turn = turnOf(isUser);
        std::move(next.results.begin(), next.results.end(), std::back_inserter(turn.results));
        std::move(next.blocks.begin(), next.blocks.end(), std::back_inserter(turn.blocks));
    }
    if (out.empty() || std::none_of(out.begin(), out.end(), [](const Turn &turn) { return turn.isUser; }))
        return errors::invalid("the conversation holds no user message");
    return out;
}

Result<void> MessagesEncoder::addInput(Turn &turn, const Message &message) const
{
    if (message.role != Message::Role::Tool)
        return addParts(turn.blocks, message);
    auto block = resultBlock(message);
    if (!block)
        return block.error();
    turn.results.push_back(std::move(*block));
    return {};
}

void MessagesEncoder::addAnswer(Turn &turn, const Message &message) const
{
    const std::string text = models::textOf(message);
    const TurnLayout layout = TurnLayout::of(message, m_context.provider, kFormatName);
    for (const TurnLayout::Piece &piece : layout.arrange(message, text)) {
        switch (piece.kind) {
        case TurnLayout::Piece::Kind::Raw: turn.blocks.push_back(piece.raw); break;
        case TurnLayout::Piece::Kind::Call: turn.blocks.push_back(callBlock(*piece.call)); break;
        case TurnLayout::Piece::Kind::Text:
            if (!isBlank(piece.text))
                turn.blocks.push_back(textBlock(piece.text));
            break;
        }
    }
}

std::string MessagesEncoder::callBlock(const models::ToolCall &call) const
{
    json::Writer writer;
    writer.beginObject().field("type", "tool_use").field("id", m_callIds.wireId(call.callId));
    writer.field("name", wireName(m_toolNames, call.name)).key("input").raw(argumentsObject(call)).endObject();
    return writer.take();
}

Result<std::string> MessagesEncoder::resultBlock(const Message &message) const
{
    const bool hasImage = std::any_of(message.parts.begin(), message.parts.end(),
                                      [](const Part &part) { return part.type == Part::Type::Image; });
    json::Writer writer;
    writer.beginObject().field("type", "tool_result").field("tool_use_id", m_callIds.wireId(message.callId));
    if (hasImage) {
        std::vector<std::string> blocks;
        if (const auto added = addParts(blocks, message); !added)
            return added.error();
        writer.key("content").beginArray();
        for (const std::string &block : blocks)
            writer.raw(block);
        writer.endArray();
    } else {
        writer.field("content", models::textOf(message));
    }
    if (message.isError)
        writer.field("is_error", true);
    writer.endObject();
    return writer.take();
}

void MessagesEncoder::writeTurns(const std::vector<Turn> &turns)
{
    json::Writer &out = m_body.member("messages").beginArray();
    for (const Turn &turn : turns) {
        out.beginObject().field("role", turn.isUser ? "user" : "assistant").key("content").beginArray();
        for (const std::string &block : turn.results)
            out.raw(block);
        for (const std::string &block : turn.blocks)
            out.raw(block);
        out.endArray().endObject();
    }
    out.endArray();
}

void MessagesEncoder::writeTools()
{
    if (m_conversation.tools.empty())
        return m_body.leaveOut("tool_choice");
    json::Writer &out = m_body.member("tools").beginArray();
    for (const models::Tool &tool : m_conversation.tools) {
        out.beginObject().field("name", wireName(m_toolNames, tool.name));
        if (!tool.description.empty())
            out.field("description", tool.description);
        out.key("input_schema").raw(parametersOf(tool)).endObject();
    }
    out.endArray();
    const auto isChoice = [](const auto &pair) { return pair.first == "tool_choice"; };
    if (std::none_of(m_context.defaults.begin(), m_context.defaults.end(), isChoice))
        m_body.member("tool_choice").beginObject().field("type", "auto").endObject();
}

void MessagesEncoder::writeThinking()
{
    using Kind = ThinkingPlan::Kind;
    switch (m_plan.kind) {
    case Kind::Unsaid: break;
    case Kind::Disabled: m_body.member("thinking").beginObject().field("type", "disabled").endObject(); break;
    case Kind::Budget:
        m_body.member("thinking")
            .beginObject()
            .field("type", "enabled")
            .field("budget_tokens", m_plan.budget)
            .endObject();
        break;
    case Kind::Adaptive:
        m_body.member("thinking").beginObject().field("type", "adaptive").field("display", "summarized").endObject();
        break;
    }
    const bool hasSchema = m_conversation.responseFormat && m_traits.takesSchema;
    if (m_plan.effort.empty() && !hasSchema)
        return;
    json::Writer &out = m_body.member("output_config").beginObject();
    if (!m_plan.effort.empty())
        out.field("effort", m_plan.effort);
    if (hasSchema) {
        out.key("format").beginObject().field("type", "json_schema");
        out.key("schema").raw(minified(m_conversation.responseFormat->schema)).endObject();
    }
    out.endObject();
}

void MessagesEncoder::writeSampling()
{
    // A model that thinks refuses all of them.
    if (m_plan.isThinking) {
        for (const char *name : {"temperature", "top_p", "top_k"})
            m_body.leaveOut(name);
    } else if (m_conversation.temperature) {
        m_body.member("temperature").real(std::min(*m_conversation.temperature, kHottest));
    }
}

void MessagesEncoder::writeDefaults()
{
    m_body.addDefaults(m_context, [](std::string_view key) {
        if (isTokenLimit(key))
            return std::string_view("max_tokens");
        return key == "stop" ? std::string_view("stop_sequences") : key;
    });
}

} // namespace cortexfs::wire::anthropic_messages
