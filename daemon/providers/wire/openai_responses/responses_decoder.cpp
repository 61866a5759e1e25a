#include "daemon/providers/wire/openai_responses/responses_decoder.h"

#include "common/base/limits.h"
#include "daemon/providers/wire/core/failure_classifier.h"
#include "daemon/providers/wire/core/turn_layout.h"
#include "daemon/providers/wire/openai_responses/responses_format.h"

#include <algorithm>

namespace cortexfs::wire::openai_responses {

namespace {

using abi::StopReason;
using Kind = OutputItem::Kind;
using Voice = OutputItem::Voice;

constexpr std::string_view kPrefix = "response.";

std::optional<std::int64_t> count(const json::Value &value)
{
    const auto number = value.asInt();
    return number ? std::optional(std::max<std::int64_t>(*number, 0)) : std::nullopt;
}

std::string textOfArguments(const json::Value &value)
{
    return value.isObject() ? value.toJson() : std::string(value.stringOr(""));
}

// The fault of a response that failed. What is wrong with an image is wrong with the request.
ReplyFailure failureOfResponse(const json::Value &response)
{
    ProviderFault fault = faultOf(response);
    const bool isAboutImage = response["error"]["code"].stringOr("").find("image") != std::string_view::npos;
    if (isAboutImage)
        fault.words = {"invalid_image"};
    if (fault.message.empty())
        fault.message = "the response failed";
    return failureOfFault(fault);
}

abi::Usage usageOf(const json::Value &value)
{
    const json::Value details = value["input_tokens_details"];
    return {.inputTokens = count(value["input_tokens"]).value_or(0),
            .outputTokens = count(value["output_tokens"]).value_or(0),
            .cachedTokens = count(details["cached_tokens"]),
            .cacheWriteTokens = count(details["cache_write_tokens"])};
}

} // namespace

bool ResponsesDecoder::isProgress(const json::Value &data) const
{
    const std::string_view type = data["type"].stringOr("");
    return type != "keepalive" && type != "ping";
}

void ResponsesDecoder::onEvent(std::string_view name, const json::Value &data, ReplyBuilder &reply)
{
    // Proxies drop the event line, so the data's own type counts.
    std::string_view type = data["type"].stringOr(name);
    if (!type.starts_with(kPrefix))
        return;
    type.remove_prefix(kPrefix.size());
    if (type.starts_with("output_text.") || type.starts_with("refusal.") || type == "content_part.done")
        takeTextEvent(type, data, reply);
    else if (type.starts_with("reasoning_"))
        takeReasoningEvent(type, data, reply);
    else if (type.starts_with("function_call_arguments."))
        takeArgumentsEvent(type, data, reply);
    else if (type == "output_item.added" || type == "output_item.done")
        takeItemEvent(type == "output_item.done", data, reply);
    else if (type == "completed" || type == "incomplete" || type == "failed" || type == "cancelled")
        takeResponse(type, data["response"].isObject() ? data["response"] : data, reply);
}

void ResponsesDecoder::onDocument(const json::Value &body, ReplyBuilder &reply)
{
    const std::string_view status = body["status"].stringOr("completed");
    const bool isFailed = status == "failed" || status == "cancelled";
    // queued, in_progress: it is no answer yet, and nobody asks for it again.
    if (isFailed || (body["output"].isArray() && (status == "completed" || status == "incomplete")))
        takeResponse(status, body, reply);
}

OutputItem *ResponsesDecoder::checked(OutputItem *item, ReplyBuilder &reply)
{
    if (!item)
        reply.fail(failureFor(errors::tooLarge("the reply has more than 4096 items")));
    return item;
}

void ResponsesDecoder::takeTextEvent(std::string_view type, const json::Value &data, ReplyBuilder &reply)
{
    const json::Value part = data["part"];
    const bool isPart = type == "content_part.done";
    const std::string_view partType = part["type"].stringOr("");
    if (isPart && partType != "output_text" && partType != "refusal")
        return;
    const bool isRefusal = isPart ? partType == "refusal" : type.starts_with("refusal.");
    const char *key = isRefusal ? "refusal" : "text";
    const bool isDelta = type.ends_with(".delta");
    if (!isDelta && !type.ends_with(".done"))
        return;
    const std::string_view text = (isDelta ? data["delta"] : (isPart ? part : data)[key]).stringOr("");
    if (text.empty())
        return;
    OutputItem *item = checked(m_items.forEvent(data, Kind::Message), reply);
    if (!item)
        return;
    const bool isNew = item->parts.insert(data["content_index"].asInt().value_or(0)).second;
    if (isDelta || isNew)
        addText(*item, text, isRefusal, reply);
}

void ResponsesDecoder::takeReasoningEvent(std::string_view type, const json::Value &data, ReplyBuilder &reply)
{
    const bool isSummary = type.starts_with("reasoning_summary_text.");
    if (!isSummary && !type.starts_with("reasoning_text."))
        return;
    const bool isDelta = type.ends_with(".delta");
    if (!isDelta && !type.ends_with(".done"))
        return;
    const std::string_view text = data[isDelta ? "delta" : "text"].stringOr("");
    if (text.empty())
        return;
    OutputItem *item = checked(m_items.forEvent(data, Kind::Reasoning), reply);
    if (!item)
        return;
    const std::int64_t part = data[isSummary ? "summary_index" : "content_index"].asInt().value_or(0);
    if (isDelta || !item->parts.contains(part))
        addReasoning(*item, isSummary ? Voice::Summary : Voice::Text, part, text, reply);
}

void ResponsesDecoder::takeArgumentsEvent(std::string_view type, const json::Value &data, ReplyBuilder &reply)
{
    OutputItem *item = checked(m_items.forEvent(data, Kind::Call), reply);
    if (!item)
        return;
    if (type.ends_with(".delta")) {
        item->arguments += data["delta"].stringOr("");
    } else if (type.ends_with(".done")) {
        if (std::string whole = textOfArguments(data["arguments"]); !whole.empty())
            item->arguments = std::move(whole);
        if (const std::string_view name = data["name"].stringOr(""); !name.empty())
            item->name = name;
    }
    if (item->arguments.size() > limits::kToolArguments)
        reply.fail(failureFor(errors::tooLarge("the arguments of a tool call are longer than 256 KiB")));
}

void ResponsesDecoder::takeItemEvent(bool isDone, const json::Value &data, ReplyBuilder &reply)
{
    const json::Value value = data["item"];
    const Kind kind = kindOf(value);
    if (kind == Kind::Other)
        return;
    OutputItem *item = checked(isDone ? m_items.forEvent(data, kind) : m_items.begin(data), reply);
    if (!item)
        return;
    if (isDone)
        return settle(*item, value, reply);
    if (kind == Kind::Reasoning)
        reply.closeReasoning();
    item->phase = json::toValidUtf8(value["phase"].stringOr(""));
    item->callId = value["call_id"].stringOr("");
    item->name = value["name"].stringOr("");
}

void ResponsesDecoder::addText(OutputItem &item, std::string_view text, bool isRefusal, ReplyBuilder &reply)
{
    m_hasText = true;
    item.textBytes += text.size();
    if (isRefusal)
        reply.addRefusal(text);
    else
        reply.addText(text);
}

void ResponsesDecoder::addReasoning(OutputItem &item, Voice voice, std::int64_t part, std::string_view text,
                                    ReplyBuilder &reply)
{
    // Open models give their thoughts and a summary of them: one of the two is enough.
    if (item.voice != Voice::None && item.voice != voice)
        return;
    item.voice = voice;
    const bool isNext = item.parts.insert(part).second && item.parts.size() > 1;
    m_hasReasoning = true;
    reply.addReasoning(isNext ? "\n\n" + std::string(text) : std::string(text));
}

void ResponsesDecoder::settle(OutputItem &item, const json::Value &value, ReplyBuilder &reply)
{
    item.isDone = true;
    item.isCut = value["status"].stringOr("") == "incomplete";
    switch (item.kind) {
    case Kind::Message: return settleMessage(item, value, reply);
    case Kind::Reasoning: return settleReasoning(item, value, reply);
    case Kind::Call:
        if (const std::string_view id = value["call_id"].stringOr(""); !id.empty())
            item.callId = id;
        if (const std::string_view name = value["name"].stringOr(""); !name.empty())
            item.name = name;
        if (std::string whole = textOfArguments(value["arguments"]); !whole.empty())
            item.arguments = std::move(whole);
        break;
    case Kind::Other: break;
    }
}

void ResponsesDecoder::settleMessage(OutputItem &item, const json::Value &value, ReplyBuilder &reply)
{
    if (const std::string_view phase = value["phase"].stringOr(""); !phase.empty())
        item.phase = json::toValidUtf8(phase);
    if (item.textBytes > 0)
        return;
    if (const auto text = value["content"].asString())
        return addText(item, *text, false, reply);
    for (const json::Value &part : value["content"].elements()) {
        const bool isRefusal = part["type"].stringOr("") == "refusal";
        if (isRefusal || part["type"].stringOr("") == "output_text")
            addText(item, part[isRefusal ? "refusal" : "text"].stringOr(""), isRefusal, reply);
    }
}

void ResponsesDecoder::settleReasoning(OutputItem &item, const json::Value &value, ReplyBuilder &reply)
{
    // An item that holds neither text nor its encrypted form is only a name for what the server did not keep.
    const bool isWorthKeeping = !value["encrypted_content"].stringOr("").empty() || value["content"].size() > 0;
    const bool isFirst = item.raw.empty();
    if (isWorthKeeping)
        item.raw = json::toValidUtf8(value.toJson());
    if (item.voice == Voice::None && !m_isLate) {
        std::int64_t part = 0;
        for (const json::Value &summary : value["summary"].elements()) {
            if (const std::string_view text = summary["text"].stringOr(""); !text.empty())
                addReasoning(item, Voice::Summary, part++, text, reply);
        }
        for (const json::Value &thought : value["content"].elements()) {
            if (const std::string_view text = thought["text"].stringOr(""); !text.empty())
                addReasoning(item, Voice::Text, part++, text, reply);
        }
    }
    if (item.voice != Voice::None)
        reply.closeReasoning();
    else if (isWorthKeeping && isFirst)
        reply.addHiddenReasoning();
}

void ResponsesDecoder::settleOutput(const json::Value &output, ReplyBuilder &reply)
{
    const bool hadText = m_hasText;
    m_isLate = hadText;
    const bool hadReasoning = m_hasReasoning || m_items.hasAny(Kind::Reasoning);
    std::int64_t position = 0;
    for (const json::Value &value : output.elements()) {
        const Kind kind = kindOf(value);
        OutputItem *item = kind == Kind::Other ? nullptr : m_items.findFinished(value, position);
        const bool isNews = (kind == Kind::Message && !hadText) || (kind == Kind::Reasoning && !hadReasoning)
                            || kind == Kind::Call;
        if (!item && isNews)
            item = checked(m_items.add(kind, value["id"].stringOr(""), position), reply);
        if (reply.isFinished())
            return;
        if (item)
            settle(*item, value, reply);
        ++position;
    }
}

void ResponsesDecoder::takeResponse(std::string_view status, const json::Value &response, ReplyBuilder &reply)
{
    const std::string_view said = response["status"].stringOr(status);
    if (status == "failed" || said == "failed")
        return reply.fail(failureOfResponse(response));
    if (status == "cancelled" || said == "cancelled")
        return reply.fail(failureFor(errors::cancelled("the provider cancelled the response")));
    settleOutput(response["output"], reply);
    if (const json::Value usage = response["usage"]; usage.isObject())
        reply.setUsage(usageOf(usage));
    const bool isCut = status == "incomplete" || said == "incomplete";
    const bool isFiltered = response["incomplete_details"]["reason"].stringOr("") == "content_filter";
    finish(!isCut ? StopReason::Stop : isFiltered ? StopReason::Refusal : StopReason::Length, reply);
}

void ResponsesDecoder::finish(StopReason reason, ReplyBuilder &reply)
{
    const bool wasCut = reason != StopReason::Stop;
    std::vector<std::pair<const OutputItem *, std::size_t>> order; // what is part of the turn; a call's position
    for (OutputItem *item : m_items.inOrder()) {
        if (item->kind != Kind::Call) {
            order.emplace_back(item, 0);
            continue;
        }
        const bool isHalf = item->isCut || (!item->isDone && item->arguments.empty());
        if ((wasCut && isHalf) || (item->name.empty() && item->callId.empty() && item->arguments.empty()))
            continue;
        const auto position = reply.addToolCall({.id = item->callId,
                                                 .index = static_cast<std::int64_t>(order.size()),
                                                 .name = item->name,
                                                 .arguments = item->arguments});
        if (!position)
            return;
        order.emplace_back(item, *position);
    }
    const auto calls = reply.calls(reason);
    TurnLayout layout;
    for (const auto &[item, position] : order) {
        if (item->kind == Kind::Message)
            layout.addText(item->textBytes, item->phase);
        else if (item->kind == Kind::Reasoning && !item->raw.empty())
            layout.addRaw(item->raw);
        else if (item->kind == Kind::Call && calls) {
            const auto isIt = [&, at = position](const CollectedCall &call) { return call.position == at; };
            if (const auto it = std::find_if(calls->begin(), calls->end(), isIt); it != calls->end())
                layout.addCall(it->callId);
        }
    }
    if (layout.isTooLarge())
        return reply.fail(failureFor(errors::tooLarge("the reasoning to be sent back is longer than 4 MiB")));
    reply.finish(reason, layout.isNeeded() ? layout.toJson(kFormatName) : std::string());
}

} // namespace cortexfs::wire::openai_responses
