// Names that people give to credentials. A provider file holds none (model ABI), so a key or header with such a name is
// refused wherever it stands.
#pragma once

#include <string_view>

namespace cortexfs::config {

// api_key, apiKey, X-Api-Key, token, client_secret, password, OPENAI_API_KEY_ENV, ... The last word decides, so that
// max_tokens and token_url are none.
bool looksLikeSecret(std::string_view key);

} // namespace cortexfs::config
