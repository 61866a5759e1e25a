// The key that a request to a provider carries, and how it stays out of what is said about that request.
#pragma once

#include "common/base/secret_string.h"
#include "common/config/provider_config.h"
#include "daemon/providers/core/secret_store.h"

#include <optional>
#include <string>
#include <string_view>

namespace cortexfs::models {

// Nothing, where the route says that none is needed (`slot` is empty) or where the endpoint does without and the default
// slot holds none. ENOKEY otherwise; a slot that the route names must be filled.
Result<std::optional<SecretString>> keyFor(const providers::SecretStore &secrets,
                                           const config::ProviderConfig &provider, const std::string &slot);

// A server may echo the request; a key is never part of an error.
Error withoutKey(const Error &error, std::string_view key);

} // namespace cortexfs::models
