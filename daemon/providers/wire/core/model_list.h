// The list of models that a server offers, in the shapes of all servers that were seen (OpenAI and what imitates it).
#pragma once

#include "common/json/json.h"
#include "daemon/providers/wire/wire_format.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace cortexfs::wire {

// {"data":[...]}, {"models":[...]} or a bare array of objects with an "id". What is no such object is left out; a list of
// nothing but that, or no list at all, is EBADMSG. An error object in its place is classified by what it says. The limit
// is taken from the members that servers document as the hard window, never from a training size.
Result<ModelPage> readModelList(const json::Value &document);

// A positive number of tokens that fits, written as an integer or as 262144.0.
std::optional<std::uint32_t> tokenCount(const json::Value &value);

} // namespace cortexfs::wire
