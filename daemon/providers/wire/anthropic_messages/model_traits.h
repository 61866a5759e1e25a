// What a model of this API takes, as far as its name tells.
#pragma once

#include "common/abi/words.h"

#include <cstdint>
#include <string_view>

namespace cortexfs::wire::anthropic_messages {

enum class ThinkingStyle {
    None,     // before 3.7: no thinking
    Budget,   // thinking has a number of tokens: 3.7 to 4.5, and other vendors' models behind this format
    Adaptive, // the model decides, steered by an effort word: 4.6 and later
};

struct ModelTraits {
    ThinkingStyle style = ThinkingStyle::Budget;
    bool thinksByDefault = false;    // from generation 5 on
    bool hasXHigh = true;            // 4.6 knows low, medium, high, max
    bool takesSchema = true;         // output_config.format; from 4.5 on
    std::int64_t mostOutput = 64000; // tokens of one answer, thinking included
};

// "claude-opus-4-1-20250805", "anthropic/claude-3.7-sonnet", "us.anthropic.claude-sonnet-4-5-20250929-v1:0". A model of
// the family without a number that is understood is taken for a new one.
ModelTraits traitsOf(std::string_view nativeModel);

} // namespace cortexfs::wire::anthropic_messages
