#include "daemon/providers/wire/openai_chat/effort.h"

namespace cortexfs::wire::openai_chat {

namespace {

using abi::Effort;
using Fields = std::vector<std::pair<std::string, std::string>>;

std::string quoted(std::string_view word) { return "\"" + std::string(word) + "\""; }

Fields effortWordField(std::string_view word) { return {{"reasoning_effort", quoted(word)}}; }

Fields thinkingField(bool on) { return {{"thinking", on ? "{\"type\":\"enabled\"}" : "{\"type\":\"disabled\"}"}}; }

// Three levels: low, high, max.
std::string_view coarseWord(Effort effort, Effort leastForMax)
{
    if (effort >= leastForMax)
        return "max";
    return effort <= Effort::Low ? "low" : "high";
}

Fields openAi(std::string_view model, bool isReasoningModel, Effort effort)
{
    // Their chat models before the reasoning ones take no effort at all.
    if (!isReasoningModel
        && (model.starts_with("gpt-3") || model.starts_with("gpt-4") || model.starts_with("chatgpt-4")))
        return {};
    const bool isFirst5 = model == "gpt-5" || model.starts_with("gpt-5-");
    const bool isOSeries = model.starts_with('o') && isReasoningModel;
    if (effort == Effort::None && isFirst5)
        return effortWordField("minimal");
    if (effort == Effort::None && isOSeries)
        return effortWordField("low");
    if (effort > Effort::High && (isFirst5 || isOSeries))
        return effortWordField("high");
    return effortWordField(abi::effortWord(effort));
}

Fields gemini(std::string_view model, Effort effort)
{
    // Only 2.5 Flash can switch thinking off; there is nothing above high.
    if (effort == Effort::None)
        return effortWordField(model.find("2.5-flash") != std::string_view::npos ? "none" : "minimal");
    return effortWordField(effort > Effort::High ? "high" : abi::effortWord(effort));
}

Fields deepSeek(Effort effort)
{
    if (effort == Effort::None)
        return thinkingField(false);
    Fields fields = thinkingField(true);
    fields.push_back({"reasoning_effort", quoted(coarseWord(effort, Effort::Max))});
    return fields;
}

Fields kimi(std::string_view model, Effort effort)
{
    if (model.find("k3") != std::string_view::npos)
        return effortWordField(coarseWord(effort, Effort::XHigh));
    if (model.find("k2.5") != std::string_view::npos || model.find("k2.6") != std::string_view::npos)
        return thinkingField(effort != Effort::None);
    return {}; // the others either always think or never
}

Fields glm(std::string_view model, Effort effort)
{
    if (model.starts_with("glm-5.3"))
        return effortWordField(coarseWord(effort, Effort::XHigh));
    return thinkingField(effort != Effort::None);
}

} // namespace

Fields effortFields(const Dialect &dialect, std::string_view nativeModel, Effort effort)
{
    if (effort == Effort::Auto)
        return {};
    const std::string model = plainModelName(nativeModel);
    switch (dialect.server) {
    case Server::OpenAi: return openAi(model, dialect.isReasoningModel, effort);
    case Server::Gemini: return gemini(model, effort);
    case Server::OpenRouter: return {{"reasoning", "{\"effort\":" + quoted(abi::effortWord(effort)) + "}"}};
    case Server::DeepSeek: return deepSeek(effort);
    case Server::Kimi: return kimi(model, effort);
    case Server::Glm: return glm(model, effort);
    case Server::Qwen: return {{"enable_thinking", effort == Effort::None ? "false" : "true"}};
    case Server::Generic: break;
    }
    return dialect.isReasoningModel ? openAi(model, true, effort) : effortWordField(abi::effortWord(effort));
}

} // namespace cortexfs::wire::openai_chat
