// What a model of this API takes and what it answers with HTTP 400, as far as its name tells.
#pragma once

#include "common/abi/words.h"

#include <string_view>

namespace cortexfs::wire::openai_responses {

struct ModelTraits {
    // False for the chat models before the reasoning ones: neither effort nor encrypted reasoning.
    bool mayReason = true;
    // o-series, gpt-5 and later: known to refuse a temperature while they reason.
    bool refusesTemperature = false;
    abi::Effort least = abi::Effort::None; // Low: cannot stop reasoning
    bool hasMinimal = false;               // `none` is spelled `minimal`
    abi::Effort most = abi::Effort::Max;
};

// "openai/gpt-5.1" is as good as "gpt-5.1". A model that is not known takes everything.
ModelTraits traitsOf(std::string_view nativeModel);

// The word of the API; empty for nothing to say. A level that the model lacks falls to the next lower one, or the lowest.
std::string_view effortWordFor(const ModelTraits &traits, abi::Effort effort);

} // namespace cortexfs::wire::openai_responses
