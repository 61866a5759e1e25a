#include "daemon/models/provider_key.h"

#include "common/base/logging.h"

namespace cortexfs::models {

Result<std::optional<SecretString>> keyFor(const providers::SecretStore &secrets,
                                           const config::ProviderConfig &provider, const std::string &slot)
{
    if (slot.empty())
        return std::optional<SecretString>();
    if (provider.needsKey || slot != providers::kDefaultSlot) {
        Result<SecretString> key = secrets.get(provider.name, slot);
        if (!key)
            return key.error();
        return std::optional(std::move(*key));
    }
    Result<std::optional<SecretString>> key = secrets.find(provider.name, slot);
    if (key)
        return key;
    qCWarning(lcProvider, "%s", key.error().message().c_str());
    return std::optional<SecretString>();
}

Error withoutKey(const Error &error, std::string_view key)
{
    constexpr std::string_view kRedacted = "[redacted]";
    if (key.empty())
        return error;
    std::string message = error.message();
    for (std::size_t at = message.find(key); at != std::string::npos; at = message.find(key, at + kRedacted.size()))
        message.replace(at, key.size(), kRedacted);
    return makeError(error.number(), message, error.detail());
}

} // namespace cortexfs::models
