// Which of the servers that speak this format is asked, and what it wants differently.
#pragma once

#include "daemon/providers/wire/wire_format.h"

#include <string_view>

namespace cortexfs::wire::openai_chat {

inline constexpr std::string_view kFormatName = "openai.chat";

enum class Server { Generic, OpenAi, Gemini, OpenRouter, DeepSeek, Kimi, Glm, Qwen };

struct Dialect {
    Server server = Server::Generic;
    // o-series, gpt-5 and later, wherever they are served: the system prompt has the role `developer`.
    bool isReasoningModel = false;
    // `max_completion_tokens` instead of `max_tokens`. OpenAI's own endpoint takes it for every model, and its reasoning
    // models take nothing else, also behind a gateway; all other servers know `max_tokens`, many of them only that.
    bool usesMaxCompletionTokens = false;
    bool takesJsonSchema = true; // else response_format is json_object and the schema is part of the system prompt
};

// By the host of the base URL; where that is unknown (a route, a gateway) by the provider's name.
Dialect dialectFor(const EncodeContext &context);

// "openai/gpt-5.1" -> "gpt-5.1", lower case.
std::string plainModelName(std::string_view nativeModel);

} // namespace cortexfs::wire::openai_chat
