#include "daemon/providers/wire/anthropic_messages/messages_decoder.h"

#include "common/base/limits.h"
#include "daemon/providers/wire/anthropic_messages/messages_format.h"
#include "daemon/providers/wire/core/failure_classifier.h"

#include <algorithm>

namespace cortexfs::wire::anthropic_messages {

namespace {

using abi::StopReason;

// More blocks than that are no answer.
constexpr std::size_t kMostBlocks = 4096;
constexpr std::int64_t kMostTokens = std::int64_t(1) << 48; // three of them add up without overflow

StopReason reasonFor(std::string_view word)
{
    if (word == "max_tokens" || word == "model_context_window_exceeded")
        return StopReason::Length;
    if (word == "tool_use")
        return StopReason::ToolCalls;
    return word == "refusal" ? StopReason::Refusal : StopReason::Stop;
}

// A null is no news.
void takeCount(std::optional<std::int64_t> &count, const json::Value &value)
{
    if (const auto number = value.asInt())
        count = std::clamp<std::int64_t>(*number, 0, kMostTokens);
}

std::string joined(std::string_view pieces)
{
    json::Wtf8Joiner joiner;
    std::string text = joiner.push(pieces);
    return json::toValidUtf8(text + joiner.flush());
}

} // namespace

void MessagesDecoder::onEvent(std::string_view name, const json::Value &data, ReplyBuilder &reply)
{
    // Proxies drop the event line, so the data's own type counts.
    const std::string_view type = data["type"].stringOr(name);
    if (type == "content_block_delta")
        takeDelta(data, reply);
    else if (type == "content_block_start")
        takeStart(data, reply);
    else if (type == "content_block_stop")
        takeStop(data, reply);
    else if (type == "message_start")
        takeUsage(data["message"]["usage"]);
    else if (type == "message_delta")
        takeMessageDelta(data, reply);
    else if (type == "message_stop")
        finish(reply);
}

void MessagesDecoder::onDocument(const json::Value &body, ReplyBuilder &reply)
{
    if (!body["content"].isArray())
        return;
    takeUsage(body["usage"]);
    for (const json::Value &content : body["content"].elements()) {
        Block *block = begin(content, std::nullopt, reply);
        if (!block)
            return;
        close(*block, reply);
    }
    if (const auto word = body["stop_reason"].asString())
        m_reason = reasonFor(*word);
    finish(reply);
}

void MessagesDecoder::onStreamEnd(ReplyBuilder &reply)
{
    if (m_reason)
        finish(reply);
}

MessagesDecoder::Block *MessagesDecoder::add(Block::Kind kind, std::optional<std::int64_t> index, ReplyBuilder &reply)
{
    if (m_blocks.size() >= kMostBlocks) {
        reply.fail(failureFor(errors::tooLarge("the reply has more than 4096 content blocks")));
        return nullptr;
    }
    if (index)
        m_byIndex[*index] = m_blocks.size();
    Block &block = m_blocks.emplace_back();
    block.kind = kind;
    return &block;
}

MessagesDecoder::Block *MessagesDecoder::blockFor(const json::Value &data, Block::Kind kind, ReplyBuilder &reply)
{
    const auto index = data["index"].asInt();
    if (index) {
        if (const auto it = m_byIndex.find(*index); it != m_byIndex.end() && m_blocks[it->second].kind == kind)
            return &m_blocks[it->second];
    } else if (!m_blocks.empty() && m_blocks.back().kind == kind) {
        return &m_blocks.back();
    }
    return add(kind, index, reply);
}

MessagesDecoder::Block *MessagesDecoder::begin(const json::Value &content, std::optional<std::int64_t> index,
                                               ReplyBuilder &reply)
{
    const std::string_view type = content["type"].stringOr("");
    using Kind = Block::Kind;
    const Kind kind = type == "text"                ? Kind::Text
                      : type == "thinking"          ? Kind::Thinking
                      : type == "redacted_thinking" ? Kind::Redacted
                      : type == "tool_use"          ? Kind::Call
                                                    : Kind::Other;
    Block *block = add(kind, index, reply);
    if (!block)
        return nullptr;
    switch (kind) {
    case Kind::Text: addText(*block, content["text"].stringOr(""), reply); break;
    case Kind::Thinking:
        reply.closeReasoning();
        block->signature = content["signature"].stringOr("");
        addThinking(*block, content["thinking"].stringOr(""), reply);
        break;
    case Kind::Redacted: block->raw = json::toValidUtf8(content.toJson()); break;
    case Kind::Call:
        block->callId = content["id"].stringOr("");
        block->name = content["name"].stringOr("");
        // In a stream {} only holds the place of what comes in pieces.
        if (const json::Value input = content["input"]; input.size() > 0)
            block->input = input.toJson();
        else
            block->input = input.stringOr("");
        break;
    case Kind::Other: break;
    }
    return block;
}

void MessagesDecoder::takeStart(const json::Value &data, ReplyBuilder &reply)
{
    begin(data["content_block"], data["index"].asInt(), reply);
}

void MessagesDecoder::takeDelta(const json::Value &data, ReplyBuilder &reply)
{
    using Kind = Block::Kind;
    const json::Value delta = data["delta"];
    const std::string_view type = delta["type"].stringOr("");
    const Kind kind = type == "text_delta"                                    ? Kind::Text
                      : type == "input_json_delta"                            ? Kind::Call
                      : type == "thinking_delta" || type == "signature_delta" ? Kind::Thinking
                                                                              : Kind::Other;
    Block *block = kind == Kind::Other ? nullptr : blockFor(data, kind, reply);
    if (!block)
        return;
    if (kind == Kind::Text)
        return addText(*block, delta["text"].stringOr(""), reply);
    if (type == "thinking_delta")
        return addThinking(*block, delta["thinking"].stringOr(""), reply);
    if (type == "signature_delta") {
        block->signature += delta["signature"].stringOr("");
        return;
    }
    block->pieces += delta["partial_json"].stringOr("");
    if (block->pieces.size() > limits::kToolArguments)
        reply.fail(failureFor(errors::tooLarge("the arguments of a tool call are longer than 256 KiB")));
}

void MessagesDecoder::takeStop(const json::Value &data, ReplyBuilder &reply)
{
    const auto index = data["index"].asInt();
    const auto it = index ? m_byIndex.find(*index) : m_byIndex.end();
    if (it != m_byIndex.end())
        close(m_blocks[it->second], reply);
    else if (!index && !m_blocks.empty())
        close(m_blocks.back(), reply);
}

void MessagesDecoder::takeMessageDelta(const json::Value &data, ReplyBuilder &reply)
{
    takeUsage(data["usage"]);
    if (reply.isFinished())
        return;
    if (const auto word = data["delta"]["stop_reason"].asString())
        m_reason = reasonFor(*word);
}

void MessagesDecoder::addText(Block &block, std::string_view text, ReplyBuilder &reply)
{
    block.textBytes += text.size();
    reply.addText(text);
}

void MessagesDecoder::addThinking(Block &block, std::string_view text, ReplyBuilder &reply)
{
    block.thinking += text;
    reply.addReasoning(text);
}

void MessagesDecoder::close(Block &block, ReplyBuilder &reply)
{
    if (std::exchange(block.isClosed, true))
        return;
    if (block.kind == Block::Kind::Thinking && !block.thinking.empty())
        reply.closeReasoning();
    else if (block.kind == Block::Kind::Redacted || (block.kind == Block::Kind::Thinking && !block.signature.empty()))
        reply.addHiddenReasoning();
}

void MessagesDecoder::takeUsage(const json::Value &usage)
{
    takeCount(m_input, usage["input_tokens"]);
    takeCount(m_cacheRead, usage["cache_read_input_tokens"]);
    takeCount(m_cacheWrite, usage["cache_creation_input_tokens"]);
    takeCount(m_output, usage["output_tokens"]);
}

bool MessagesDecoder::addCalls(bool wasCut, std::vector<std::optional<std::size_t>> &positions, ReplyBuilder &reply)
{
    positions.assign(m_blocks.size(), std::nullopt);
    for (std::size_t i = 0; i < m_blocks.size(); ++i) {
        const Block &block = m_blocks[i];
        if (block.kind != Block::Kind::Call)
            continue;
        const std::string &arguments = block.pieces.empty() ? block.input : block.pieces;
        // The one that was being written when the answer was cut; without arguments nothing shows that it is half.
        if (wasCut && arguments.empty() && i + 1 == m_blocks.size())
            continue;
        positions[i] = reply.addToolCall(
            {.id = block.callId, .index = static_cast<std::int64_t>(i), .name = block.name, .arguments = arguments});
        if (!positions[i])
            return false;
    }
    return true;
}

TurnLayout MessagesDecoder::layoutOf(const std::vector<std::optional<std::size_t>> &positions,
                                     const ReplyBuilder &reply, StopReason reason) const
{
    TurnLayout layout;
    const auto calls = reply.calls(reason);
    for (std::size_t i = 0; i < m_blocks.size(); ++i) {
        const Block &block = m_blocks[i];
        if (block.kind == Block::Kind::Text) {
            layout.addText(block.textBytes);
        } else if (block.kind == Block::Kind::Redacted) {
            layout.addRaw(block.raw);
        } else if (block.kind == Block::Kind::Thinking && !(block.thinking.empty() && block.signature.empty())) {
            json::Writer raw;
            raw.beginObject().field("type", "thinking").field("thinking", joined(block.thinking));
            raw.field("signature", json::toValidUtf8(block.signature)).endObject();
            layout.addRaw(raw.take());
        } else if (positions[i] && calls) {
            const auto isIt = [&](const CollectedCall &call) { return call.position == *positions[i]; };
            if (const auto it = std::find_if(calls->begin(), calls->end(), isIt); it != calls->end())
                layout.addCall(it->callId);
        }
    }
    return layout;
}

void MessagesDecoder::finish(ReplyBuilder &reply)
{
    if (reply.isFinished())
        return;
    const StopReason reason = m_reason.value_or(StopReason::Stop);
    // What was never closed is closed by the end.
    for (Block &block : m_blocks)
        close(block, reply);
    std::vector<std::optional<std::size_t>> positions;
    if (!addCalls(reason == StopReason::Length || reason == StopReason::Refusal, positions, reply))
        return;
    if (m_input || m_cacheRead || m_cacheWrite || m_output) {
        reply.setUsage({.inputTokens = m_input.value_or(0) + m_cacheRead.value_or(0) + m_cacheWrite.value_or(0),
                        .outputTokens = m_output.value_or(0),
                        .cachedTokens = m_cacheRead,
                        .cacheWriteTokens = m_cacheWrite});
    }
    const TurnLayout layout = layoutOf(positions, reply, reason);
    if (layout.isTooLarge())
        return reply.fail(failureFor(errors::tooLarge("the thinking to be sent back is longer than 4 MiB")));
    reply.finish(reason, layout.isNeeded() ? layout.toJson(kFormatName) : std::string());
}

} // namespace cortexfs::wire::anthropic_messages
