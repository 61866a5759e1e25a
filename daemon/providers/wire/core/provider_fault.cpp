#include "daemon/providers/wire/core/provider_fault.h"

#include "daemon/providers/wire/core/retry_delay.h"

#include <algorithm>
#include <charconv>

namespace cortexfs::wire {

namespace {

std::string lower(std::string_view text)
{
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return out;
}

std::optional<std::int64_t> wholeNumber(const json::Value &value)
{
    if (const auto number = value.asInt())
        return number;
    const std::string_view text = value.stringOr("");
    std::int64_t number = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || failure != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return number;
}

void takeWord(ProviderFault &fault, const json::Value &value)
{
    if (const auto number = wholeNumber(value)) {
        if (!fault.number && *number >= 400 && *number <= 599)
            fault.number = static_cast<int>(*number);
        return;
    }
    const std::string_view text = value.stringOr("");
    if (!text.empty() && text != "error")
        fault.words.push_back(lower(text));
}

void takeDetails(ProviderFault &fault, const json::Value &details)
{
    for (const json::Value &detail : details.elements()) {
        if (const auto delay = delayFromDuration(detail["retryDelay"].stringOr("")))
            fault.retryDelayMs = delay;
        takeWord(fault, detail["reason"]);
    }
}

// {message,type,code,status,details,metadata} in whatever part is there.
void takeObject(ProviderFault &fault, const json::Value &object)
{
    for (const char *key : {"message", "msg", "detail", "error_description"}) {
        if (fault.message.empty())
            fault.message = object[key].stringOr("");
    }
    for (const char *key : {"type", "code", "status", "error_type"})
        takeWord(fault, object[key]);
    takeWord(fault, object["metadata"]["error_type"]);
    takeDetails(fault, object["details"]);
}

// FastAPI: a string, or a list of {loc,msg,type}, or an object of the usual kind.
void takeDetail(ProviderFault &fault, const json::Value &detail)
{
    if (const auto text = detail.asString())
        fault.message = *text;
    else if (detail.isArray())
        takeObject(fault, detail.at(0));
    else if (detail.isObject())
        takeObject(fault, detail["error"].isObject() ? detail["error"] : detail);
}

bool isSet(const json::Value &error)
{
    if (error.isString())
        return !error.stringOr("").empty();
    return error.isObject() ? error.size() > 0 : error.isNumber() || error.asBool().value_or(false);
}

} // namespace

ProviderFault faultOf(const json::Value &body)
{
    ProviderFault fault;
    const json::Value outer = body.isArray() ? body.at(0) : body;
    const json::Value error = outer["error"];
    if (error.isObject()) {
        takeObject(fault, error);
    } else if (const auto text = error.asString()) {
        fault.message = *text;
    }
    if (const auto text = outer.asString())
        fault.message = *text;
    if (fault.message.empty() && !outer["detail"].isMissing())
        takeDetail(fault, outer["detail"]);
    // The flat form, and what stands beside the error.
    takeObject(fault, outer);
    return fault;
}

std::optional<ProviderFault> faultIn(const json::Value &body)
{
    const json::Value outer = body.isArray() ? body.at(0) : body;
    if (!outer.isObject())
        return std::nullopt;
    if (isSet(outer["error"]) || outer["type"].stringOr("") == "error")
        return faultOf(body);
    return std::nullopt;
}

} // namespace cortexfs::wire
