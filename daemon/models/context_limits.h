// Context limits that the public catalogue models.dev knows, and the cache of them (model ABI, "limits").
//
// The cache is one file of the state directory,
//     {"schema":"cortexfs.model-limits/v1","models":{"openai/gpt-5.6":272000,...}}
// It is replaced as a whole or not at all; one that cannot be trusted counts as none.
#pragma once

#include "common/base/result.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace cortexfs::models {

class ContextLimits {
public:
    // Nothing: unknown. `nativeId` as the provider spells it, without "models/" in front where the catalogue has none.
    std::optional<std::uint32_t> find(std::string_view provider, std::string_view nativeId) const;
    std::size_t size() const { return m_limits.size(); }

    // The catalogue's api.json. Providers and models of other forms, names that no file of ours can have, and limits that
    // are no positive 32-bit number are left out. EBADMSG: no JSON object, or nothing usable in it; EMSGSIZE: over 16 MiB
    // or 65 536 models.
    static Result<ContextLimits> fromCatalogue(std::string_view text);

    // Strict. EINVAL: another schema, a name or number that we would not have written; EMSGSIZE as above.
    static Result<ContextLimits> fromCache(std::string_view text);
    std::string cacheText() const;

    // ENOENT: no cache. EACCES: a file that somebody else owns or may write; ELOOP: a link; the errors of fromCache().
    static Result<ContextLimits> loadCache(const std::string &path, uid_t owner);
    // 0644, atomic, synced; makes the directory.
    static Result<void> storeCache(const std::string &path, const std::string &text);

private:
    std::map<std::string, std::uint32_t, std::less<>> m_limits; // "provider/native id"
};

} // namespace cortexfs::models
