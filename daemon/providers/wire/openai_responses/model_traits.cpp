#include "daemon/providers/wire/openai_responses/model_traits.h"

#include <algorithm>
#include <string>

namespace cortexfs::wire::openai_responses {

namespace {

using abi::Effort;

std::string plainName(std::string_view nativeModel)
{
    const std::size_t slash = nativeModel.rfind('/');
    std::string name(slash == std::string_view::npos ? nativeModel : nativeModel.substr(slash + 1));
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return name;
}

bool isDigit(std::string_view text, std::size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '9'; }

// o1, o3-mini; not olmo
bool isOSeries(std::string_view model)
{
    return model.starts_with('o') && isDigit(model, 1) && (model.size() == 2 || model[2] == '-');
}

} // namespace

ModelTraits traitsOf(std::string_view nativeModel)
{
    const std::string model = plainName(nativeModel);
    ModelTraits traits;
    if (isOSeries(model)) {
        traits = {.refusesTemperature = true, .least = Effort::Low, .most = Effort::High};
    } else if (model.starts_with("gpt-3") || model.starts_with("gpt-4") || model.starts_with("chatgpt-4")
               || model.starts_with("gpt-5-chat")) {
        traits.mayReason = false;
    } else if (model == "gpt-5" || model.starts_with("gpt-5-")) {
        traits = {.refusesTemperature = true, .hasMinimal = true, .most = Effort::High};
    } else if (model.starts_with("codex-") || (model.starts_with("gpt-") && isDigit(model, 4))) {
        traits.refusesTemperature = true;
    }
    return traits;
}

std::string_view effortWordFor(const ModelTraits &traits, Effort effort)
{
    if (effort == Effort::Auto || !traits.mayReason)
        return {};
    if (effort == Effort::None && traits.hasMinimal)
        return "minimal";
    return abi::effortWord(std::clamp(effort, traits.least, traits.most));
}

} // namespace cortexfs::wire::openai_responses
