// One file of <config>/providers.d/: a provider as the administrator declared it (model ABI; decisions, section 5).
#pragma once

#include "common/base/result.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cortexfs::config {

struct ProviderTimeouts {
    int connectMs = 10'000;
    int firstByteMs = 60'000;
    int idleMs = 120'000; // since the last data event; comments and pings do not count
    int runMs = 30 * 60'000;
};

struct OAuthConfig {
    std::string clientId;
    std::string authUrl;
    std::string tokenUrl;
    std::string redirectUri;
    std::vector<std::string> scopes;
};

struct ProviderConfig {
    std::string name;                // stable provider identity, an object name
    std::string baseUrl;             // as written, without trailing slashes
    std::string defaultModel;        // native id or empty
    std::vector<std::string> models; // native ids, default_model first when it is not among them
    std::map<std::string, std::uint32_t> modelLimits;
    std::map<std::string, std::vector<std::string>> modelCapabilities;
    bool enabled = true;
    std::vector<std::string> formats; // "openai.chat", ...; in order of preference
    ProviderTimeouts timeouts;
    std::vector<std::pair<std::string, std::string>> headers; // static, non-secret
    std::optional<OAuthConfig> oauth;
    bool proxyFromEnvironment = false;
    bool needsKey = true; // false for loopback hosts: a missing slot then sends no Authorization header

    std::string file;                  // file name, for messages
    std::vector<std::string> warnings; // unknown keys and the like, shown by `ctx doctor`
};

// Parses and validates one file's text. `knownFormats` are the wire formats of this build. EINVAL with every fault and
// its JSON pointer in the message, EMSGSIZE over 64 KiB.
Result<ProviderConfig> parseProvider(std::string_view text, const std::string &fileName,
                                     const std::vector<std::string> &knownFormats);

struct InvalidProvider {
    std::string file;
    Error error;
};

struct ProviderSet {
    std::vector<ProviderConfig> providers; // by name
    std::vector<InvalidProvider> invalid;
};

// Reads *.json of the directory in name order, without following links. A missing directory is an empty set. A second
// file with the name of an earlier one is invalid (EEXIST); the first stands.
Result<ProviderSet> loadProviders(const std::string &directory, const std::vector<std::string> &knownFormats);

// The provider name that a base URL gives when the file has no "name"; EINVAL for localhost and IP literals.
Result<std::string> providerNameFor(std::string_view baseUrl);

} // namespace cortexfs::config
