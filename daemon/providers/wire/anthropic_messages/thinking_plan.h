// How much a model thinks and how long it may answer: the `effort` control and max_tokens depend on each other here,
// because thinking counts as output.
//
// max_tokens is required. Without a wish of the user it is 8192, and 32 000 where the model decides how much it thinks;
// at most what the model can say, and at most half of the context where that is known.
#pragma once

#include "daemon/providers/wire/anthropic_messages/model_traits.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace cortexfs::wire::anthropic_messages {

struct ThinkingPlan {
    enum class Kind { Unsaid, Disabled, Budget, Adaptive };
    Kind kind = Kind::Unsaid;
    std::int64_t budget = 0; // Budget
    std::string_view effort; // Adaptive: the word of output_config.effort
    std::int64_t maxTokens = 0;
    bool isThinking = false; // then no temperature may be sent
};

// `wanted`: tokens the user asked for; `context`: the model's whole window.
ThinkingPlan planFor(const ModelTraits &traits, abi::Effort effort, std::optional<std::int64_t> wanted,
                     std::optional<std::uint32_t> context);

} // namespace cortexfs::wire::anthropic_messages
