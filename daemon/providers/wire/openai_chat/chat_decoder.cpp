#include "daemon/providers/wire/openai_chat/chat_decoder.h"

#include "daemon/providers/wire/core/failure_classifier.h"
#include "daemon/providers/wire/core/redaction.h"

#include <algorithm>
#include <cmath>

namespace cortexfs::wire::openai_chat {

namespace {

using abi::StopReason;

std::optional<std::int64_t> count(const json::Value &value)
{
    if (const auto number = value.asInt())
        return std::max<std::int64_t>(*number, 0);
    const auto real = value.asDouble();
    if (!real || !(*real >= 0 && *real < 1e15))
        return std::nullopt;
    return std::llround(*real);
}

std::optional<std::int64_t> firstCount(std::initializer_list<json::Value> values)
{
    for (const json::Value &value : values) {
        if (const auto number = count(value))
            return number;
    }
    return std::nullopt;
}

// A choice of a reply with one answer: the one numbered 0, or not numbered.
json::Value firstChoice(const json::Value &choices)
{
    for (const json::Value &choice : choices.elements()) {
        if (choice["index"].asInt().value_or(0) == 0)
            return choice;
    }
    return {};
}

// The words of all servers seen; an unknown one ends the answer as "stop" does.
std::optional<StopReason> reasonFor(std::string_view word)
{
    if (word == "length" || word == "max_tokens" || word == "model_length" || word == "model_context_window_exceeded")
        return StopReason::Length;
    if (word == "tool_calls" || word == "function_call" || word == "tool_use")
        return StopReason::ToolCalls;
    if (word == "content_filter" || word == "sensitive" || word == "safety" || word == "refusal")
        return StopReason::Refusal;
    if (word == "error" || word == "network_error" || word == "insufficient_system_resource" || word == "abort")
        return std::nullopt;
    return StopReason::Stop;
}

} // namespace

void ChatDecoder::onEvent(std::string_view, const json::Value &data, ReplyBuilder &reply)
{
    const json::Value choices = data["choices"];
    if (choices.isMissing() && data["message"].isString())
        return reply.fail(failureOfFault(faultOf(data)));
    if (const json::Value choice = firstChoice(choices); choice.isObject())
        takeChoice(choice, reply);
    takeUsage(data["usage"], reply);
}

void ChatDecoder::onDoneMarker(ReplyBuilder &reply) { finish(reply); }

void ChatDecoder::onDocument(const json::Value &body, ReplyBuilder &reply)
{
    const json::Value choice = firstChoice(body["choices"]);
    if (!choice.isObject())
        return;
    takeUsage(body["usage"], reply);
    takeChoice(choice, reply);
    finish(reply);
}

void ChatDecoder::onStreamEnd(ReplyBuilder &reply)
{
    if (m_reason)
        finish(reply);
}

void ChatDecoder::takeChoice(const json::Value &choice, ReplyBuilder &reply)
{
    if (const auto fault = faultIn(choice))
        return reply.fail(failureOfFault(*fault));
    const json::Value delta = choice["delta"];
    takeMessage(delta.isObject() ? delta : choice["message"], reply);
    takeUsage(choice["usage"], reply);
    takeFinish(choice["finish_reason"].stringOr(""), reply);
}

void ChatDecoder::takeMessage(const json::Value &message, ReplyBuilder &reply)
{
    takeReasoning(message, reply);
    takeContent(message, reply);
    reply.addRefusal(message["refusal"].stringOr(""));
    for (const json::Value &call : message["tool_calls"].elements())
        takeCall(call, reply);
    if (const json::Value call = message["function_call"]; call.isObject())
        takeCall(message, reply);
}

void ChatDecoder::takeReasoning(const json::Value &message, ReplyBuilder &reply)
{
    const json::Value details = message["reasoning_details"];
    m_details.add(details);
    // One text under one of these names; servers that send two send the same text twice.
    if (const std::string_view text = message["reasoning_content"].stringOr(""); !text.empty()) {
        m_reasoningContent += text;
        return reply.addReasoning(text);
    }
    if (const auto text = message["reasoning"].asString())
        return reply.addReasoning(*text);
    for (const json::Value &detail : details.elements()) {
        reply.addReasoning(detail["text"].stringOr(""));
        reply.addReasoning(detail["summary"].stringOr(""));
    }
}

void ChatDecoder::takeContent(const json::Value &message, ReplyBuilder &reply)
{
    const json::Value content = message["content"];
    if (const auto text = content.asString())
        return takeText(*text, message, reply);
    for (const json::Value &part : content.elements()) {
        for (const json::Value &thought : part["thinking"].elements())
            reply.addReasoning(thought["text"].stringOr(""));
        takeText(part["text"].stringOr(""), message, reply);
    }
}

void ChatDecoder::takeText(std::string_view content, const json::Value &message, ReplyBuilder &reply)
{
    if (content.empty())
        return;
    const bool isThought = message["extra_content"]["google"]["thought"].asBool().value_or(false);
    if (!isThought && !m_thoughts.isActive())
        return reply.addText(content);
    const ThoughtTags::Split split = m_thoughts.push(content, isThought);
    reply.addReasoning(split.thought);
    reply.addText(split.text);
}

void ChatDecoder::takeCall(const json::Value &call, ReplyBuilder &reply)
{
    // The old single call stands beside the content and has neither an id nor an index.
    const json::Value function = call["function_call"].isObject() ? call["function_call"] : call["function"];
    const json::Value arguments = function["arguments"];
    const std::string written = arguments.isObject() || arguments.isArray() ? arguments.toJson() : std::string();
    const auto position = reply.addToolCall({.id = call["id"].stringOr(""),
                                             .index = call["index"].asInt(),
                                             .name = function["name"].stringOr(""),
                                             .arguments = written.empty() ? arguments.stringOr("") : written});
    if (const json::Value extra = call["extra_content"]; position && extra.isObject())
        m_extraContent[*position] = json::toValidUtf8(extra.toJson());
}

void ChatDecoder::takeUsage(const json::Value &usage, ReplyBuilder &reply)
{
    if (!usage.isObject())
        return; // null on all chunks but one
    const auto prompt = count(usage["prompt_tokens"]);
    const auto completion = count(usage["completion_tokens"]);
    const auto total = count(usage["total_tokens"]);
    if (!prompt && !completion)
        return;
    const json::Value details = usage["prompt_tokens_details"];
    abi::Usage out;
    out.inputTokens = prompt.value_or(0);
    // Thinking may be counted in the total alone.
    out.outputTokens = std::max(completion.value_or(0), total.value_or(0) - out.inputTokens);
    out.cachedTokens = firstCount({details["cached_tokens"], usage["cached_tokens"], usage["prompt_cache_hit_tokens"]});
    out.cacheWriteTokens = firstCount({details["cache_write_tokens"], details["cache_creation_input_tokens"]});
    reply.setUsage(out);
}

void ChatDecoder::takeFinish(std::string_view word, ReplyBuilder &reply)
{
    if (word.empty() || word == "null")
        return;
    if (const auto reason = reasonFor(word))
        m_reason = reason;
    else
        reply.fail(failureFor(errors::hostDown("the provider broke the answer off: " + presentable(word))));
}

void ChatDecoder::finish(ReplyBuilder &reply)
{
    const ThoughtTags::Split rest = m_thoughts.flush();
    reply.addReasoning(rest.thought);
    reply.addText(rest.text);
    const StopReason reason = m_reason.value_or(StopReason::Stop);
    ChatOpaque opaque;
    opaque.reasoningContent = json::toValidUtf8(m_reasoningContent);
    if (!m_details.isEmpty())
        opaque.reasoningDetails = m_details.toJson();
    if (!m_extraContent.empty()) {
        if (const auto calls = reply.calls(reason)) {
            for (const CollectedCall &call : *calls) {
                if (const auto extra = m_extraContent.find(call.position); extra != m_extraContent.end())
                    opaque.extraContent.emplace_back(call.callId, extra->second);
            }
        }
    }
    reply.finish(reason, opaque.toJson());
}

} // namespace cortexfs::wire::openai_chat
