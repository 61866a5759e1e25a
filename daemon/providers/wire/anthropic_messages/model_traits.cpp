#include "daemon/providers/wire/anthropic_messages/model_traits.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace cortexfs::wire::anthropic_messages {

namespace {

using Version = std::pair<int, int>;

bool isDigit(char c) { return c >= '0' && c <= '9'; }

// The first number of one or two digits that stands alone, and the one right behind it: dates are longer.
std::optional<Version> versionIn(std::string_view text)
{
    std::optional<Version> version;
    for (std::size_t i = 0; i < text.size();) {
        if (!isDigit(text[i])) {
            // "4-5" and "4.5" are one version, "4-latest-2" is not.
            if (version && text[i] != '-' && text[i] != '.')
                return version;
            ++i;
            continue;
        }
        const std::size_t begin = i;
        int number = 0;
        for (; i < text.size() && isDigit(text[i]); ++i)
            number = std::min(number * 10 + (text[i] - '0'), 1'000'000);
        const bool isAlone = begin == 0 || text[begin - 1] == '-' || text[begin - 1] == '.';
        if (i - begin > 2 || !isAlone) {
            if (version)
                return version;
            continue;
        }
        if (version)
            return Version(version->first, number);
        version = Version(number, 0);
    }
    return version;
}

} // namespace

ModelTraits traitsOf(std::string_view nativeModel)
{
    std::string model(nativeModel);
    std::transform(model.begin(), model.end(), model.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    constexpr std::string_view kFamily = "claude-";
    const std::size_t at = model.find(kFamily);
    if (at == std::string::npos)
        return {};
    const std::string_view rest = std::string_view(model).substr(at + kFamily.size());
    const Version version = versionIn(rest).value_or(Version(5, 0));
    ModelTraits traits;
    traits.takesSchema = version >= Version(4, 5);
    if (version < Version(3, 7)) {
        traits.style = ThinkingStyle::None;
        traits.mostOutput = version >= Version(3, 5) ? 8192 : 4096;
    } else if (version < Version(4, 6)) {
        const bool isFirstOpus4 = rest.starts_with("opus") && version < Version(4, 5);
        traits.mostOutput = isFirstOpus4 ? 32000 : 64000;
    } else {
        traits.style = ThinkingStyle::Adaptive;
        traits.hasXHigh = version > Version(4, 6);
        traits.thinksByDefault = version >= Version(5, 0);
    }
    return traits;
}

} // namespace cortexfs::wire::anthropic_messages
