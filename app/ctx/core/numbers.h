// Numbers on the command line.
#pragma once

#include "app/ctx/core/invocation.h"
#include "common/base/result.h"

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace cortexfs::ctx {

// The value of an option that counts something; `fallback` without it. EINVAL: not a positive number of at most a million.
inline Result<std::int64_t> countOption(const Invocation &invocation, std::string_view option, std::int64_t fallback)
{
    const auto text = invocation.value(option);
    if (!text)
        return fallback;
    std::int64_t number = 0;
    const auto [end, failure] = std::from_chars(text->data(), text->data() + text->size(), number);
    if (failure != std::errc() || end != text->data() + text->size() || number < 1 || number > 1'000'000)
        return errors::invalid(std::string(option) + ": not a number from 1 to 1000000");
    return number;
}

} // namespace cortexfs::ctx
