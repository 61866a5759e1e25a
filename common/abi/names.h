// Object names (object ABI, "names and aliases"): [a-zA-Z0-9][a-zA-Z0-9._+-]{0,63}, not ending in .sock or .d.
#pragma once

#include "common/base/result.h"

#include <optional>
#include <string>
#include <string_view>

namespace cortexfs::abi {

bool isObjectName(std::string_view name);
// EINVAL that says which rule is broken.
Result<void> checkObjectName(std::string_view name);

// "provider/model", both object names.
struct ModelRef {
    std::string provider;
    std::string model;

    std::string text() const { return provider + "/" + model; }
    friend bool operator==(const ModelRef &, const ModelRef &) = default;
    friend auto operator<=>(const ModelRef &, const ModelRef &) = default;
};
std::optional<ModelRef> parseModelRef(std::string_view text);

// A provider's own model id as a path component: every character outside the grammar becomes '_', the first one too
// when it may not stand first, and a reserved ending (.sock, .d) gets its dot replaced. Empty or over-long ids give
// nothing: there is no honest name for them.
std::optional<std::string> projectedModelName(std::string_view nativeId);

// main helper fast reason code vision
bool isModelAlias(std::string_view name);
inline constexpr std::string_view kModelAliases[] = {"main", "helper", "fast", "reason", "code", "vision"};

} // namespace cortexfs::abi
