// Provider files: valid ones have what the rest of the program relies on, others give one clear error.
#include "common/abi/names.h"
#include "common/abi/words.h"
#include "common/base/limits.h"
#include "common/config/provider_config.h"
#include "tests/fuzz/check.h"

#include <algorithm>
#include <cstdint>
#include <string>

using namespace cortexfs;
using fuzz::check;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    const std::string_view input = fuzz::inputOf(data, size);
    const auto provider = config::parseProvider(input, "x.json", {"openai.chat", "openai.responses"});
    if (!provider) {
        const Error &error = provider.error();
        check(error.number() == EINVAL || (error.number() == EMSGSIZE && size > limits::kProviderFile), "errno",
              error.text());
        check(!error.text().empty(), "an error says why");
        return 0;
    }
    check(abi::isObjectName(provider->name), "the name is an object name", provider->name);
    std::string scheme = provider->baseUrl.substr(0, provider->baseUrl.find("://"));
    std::transform(scheme.begin(), scheme.end(), scheme.begin(), [](char c) { return static_cast<char>(c | 0x20); });
    check(scheme == "http" || scheme == "https", "base_url is a URL", provider->baseUrl);
    check(!provider->baseUrl.ends_with('/'), "base_url has no trailing slash", provider->baseUrl);
    const auto isDeclared = [&](const std::string &model) {
        return std::find(provider->models.begin(), provider->models.end(), model) != provider->models.end();
    };
    check(provider->defaultModel.empty() || isDeclared(provider->defaultModel), "the default model is a model");
    for (const auto &[model, limit] : provider->modelLimits)
        check(isDeclared(model) && limit > 0, "a limit is a number of a declared model", model);
    for (const auto &[model, words] : provider->modelCapabilities) {
        check(isDeclared(model), "capabilities are those of a declared model", model);
        check(std::all_of(words.begin(), words.end(), [](const std::string &word) { return abi::isCapability(word); }),
              "capabilities are words of the ABI", model);
    }
    check(provider->timeouts.connectMs > 0 && provider->timeouts.runMs > 0, "timeouts are positive");
    for (const auto &[name, value] : provider->headers)
        check(!name.empty() && value.find_first_of("\r\n") == std::string::npos, "headers stay one line", name);
    return 0;
}
