#include "daemon/providers/wire/core/model_list.h"

#include "daemon/providers/wire/core/failure_classifier.h"
#include "daemon/providers/wire/core/retry_delay.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cortexfs::wire {

namespace {

constexpr std::size_t kIdBytes = 256;

// In the order of trust: what the server really has loaded, then what it serves, then what the model could have.
constexpr std::string_view kLimitKeys[] = {"max_model_len",  "loaded_context_length", "context_length",
                                           "context_window", "max_context_length",    "max_input_tokens"};

bool isUsableId(std::string_view id)
{
    return !id.empty() && id.size() <= kIdBytes && std::none_of(id.begin(), id.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte < 0x20 || byte == 0x7f;
    });
}

std::optional<std::uint32_t> limitOf(const json::Value &model)
{
    for (const std::string_view key : kLimitKeys) {
        if (const auto limit = tokenCount(model[key]))
            return limit;
    }
    return tokenCount(model["top_provider"]["context_length"]);
}

std::int64_t createdAtOf(const json::Value &model)
{
    constexpr std::int64_t kMsPerSecond = 1000;
    if (const auto seconds = model["created"].asInt(); seconds && *seconds > 0)
        return *seconds;
    if (const auto text = model["created_at"].asString()) {
        if (const auto ms = timeFromText(*text); ms && *ms > 0)
            return *ms / kMsPerSecond;
    }
    return 0;
}

} // namespace

std::optional<std::uint32_t> tokenCount(const json::Value &value)
{
    const auto number = value.asDouble(); // exact up to 2^53
    if (!number || *number < 1 || *number > std::numeric_limits<std::uint32_t>::max() || *number != std::floor(*number))
        return std::nullopt;
    return static_cast<std::uint32_t>(*number);
}

Result<ModelPage> readModelList(const json::Value &document)
{
    if (const auto fault = faultIn(document))
        return failureOfFault(*fault).error;
    json::Value list = document;
    for (const std::string_view key : {"data", "models"}) {
        if (!list.isArray())
            list = document[key];
    }
    if (!list.isArray())
        return errors::badMessage("the answer is no list of models");
    ModelPage page;
    for (const json::Value &element : list.elements()) {
        const std::string_view id = element["id"].stringOr("");
        if (isUsableId(id))
            page.models.push_back({std::string(id), limitOf(element), createdAtOf(element)});
    }
    if (page.models.empty() && list.size() > 0)
        return errors::badMessage("the answer is a list of something else than models");
    return page;
}

} // namespace cortexfs::wire
