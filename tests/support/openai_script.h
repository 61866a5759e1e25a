// An OpenAI-compatible endpoint as a WireServer script: /chat/completions and /models below any base path.
#pragma once

#include "tests/support/wire_server.h"

#include <functional>
#include <string>
#include <vector>

namespace cortexfs::test {

struct OpenAiOptions {
    std::vector<std::string> models = {"custom-model"};
    int chunks = 3;
    std::string text = "hello "; // of each chunk
    int firstDelayMs = 0;        // before the head
    int delayMs = 0;             // before each chunk but the first
    std::string requiredKey;     // another Authorization gets 401
    int status = 200;            // another one is sent as an error object
    // After `failAfter` chunks: cut (close), reset, stall, garbage, error (an error event); html instead of a reply.
    std::string failure;
    int failAfter = 0;
    int failures = -1;                                     // how many requests fail before the rest succeed; -1: all
    std::function<void(const CapturedRequest &)> captured; // called in the connection's thread
};

WireServer::Script openAiScript(OpenAiOptions options);

} // namespace cortexfs::test
