// An error as a server words it, whatever the form of its body.
#pragma once

#include "common/json/json.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cortexfs::wire {

struct ProviderFault {
    std::string message;                      // as the server wrote it; not yet fit to be shown
    std::vector<std::string> words;           // type, code, status and the like, lower case
    std::optional<int> number;                // a code that is an HTTP status
    std::optional<std::int64_t> retryDelayMs; // RetryInfo of Google's error model
};

// {error:{...}}, {error:"text"}, [{error:...}], {type:"error",...}, {message}, {detail}. Nothing for anything else: a
// null, false or empty `error` is none.
std::optional<ProviderFault> faultIn(const json::Value &body);

// The same, for a value that is known to be an error: the body of a failed request, an event named "error".
ProviderFault faultOf(const json::Value &body);

} // namespace cortexfs::wire
