#include "common/abi/words.h"

#include <algorithm>
#include <array>
#include <utility>

namespace cortexfs::abi {

namespace {

constexpr std::array<std::string_view, 11> kCapabilities = {
    "chat",        "stream",           "session",   "vision",    "audio_input", "audio_output",
    "json_schema", "tool_call_syntax", "reasoning", "embedding", "rerank"};

constexpr std::array<std::pair<Effort, std::string_view>, 7> kEfforts = {{
    {Effort::Auto, "auto"},
    {Effort::None, "none"},
    {Effort::Low, "low"},
    {Effort::Medium, "medium"},
    {Effort::High, "high"},
    {Effort::XHigh, "xhigh"},
    {Effort::Max, "max"},
}};

} // namespace

bool isCapability(std::string_view word)
{
    return std::find(kCapabilities.begin(), kCapabilities.end(), word) != kCapabilities.end();
}

std::optional<Effort> effortFromWord(std::string_view word)
{
    for (const auto &[effort, text] : kEfforts) {
        if (text == word)
            return effort;
    }
    return std::nullopt;
}

std::string_view effortWord(Effort effort)
{
    for (const auto &[value, text] : kEfforts) {
        if (value == effort)
            return text;
    }
    return "auto";
}

std::string_view purposeWord(Purpose purpose)
{
    switch (purpose) {
    case Purpose::Exec: return "exec";
    case Purpose::Socket: return "socket";
    case Purpose::Agent: return "agent";
    }
    return "exec";
}

} // namespace cortexfs::abi
