// The model's `effort` control in the words of each server. A value that a server does not know is an HTTP 400 there, so
// it falls to the nearest lower one, or the lowest; `auto` sends nothing.
#pragma once

#include "daemon/providers/wire/openai_chat/dialect.h"

#include <string>
#include <utility>
#include <vector>

namespace cortexfs::wire::openai_chat {

// Members of the request body: name and JSON text. Nothing for a model that is known not to reason.
std::vector<std::pair<std::string, std::string>> effortFields(const Dialect &dialect, std::string_view nativeModel,
                                                              abi::Effort effort);

} // namespace cortexfs::wire::openai_chat
