#include "daemon/providers/core/secret_cache.h"

namespace cortexfs::providers {

std::optional<SecretString> SecretCache::find(const std::string &path, const FileStamp &stamp)
{
    const std::lock_guard lock(m_mutex);
    const auto kept = m_kept.find(path);
    if (kept == m_kept.end())
        return std::nullopt;
    if (kept->second.stamp == stamp)
        return kept->second.value.clone();
    m_kept.erase(kept);
    return std::nullopt;
}

void SecretCache::drop(const std::string &path)
{
    const std::lock_guard lock(m_mutex);
    m_kept.erase(path);
    ++m_dropCount;
}

std::uint64_t SecretCache::dropCount() const
{
    const std::lock_guard lock(m_mutex);
    return m_dropCount;
}

void SecretCache::keep(const std::string &path, const FileStamp &stamp, const SecretString &value,
                       std::uint64_t dropCount)
{
    const std::lock_guard lock(m_mutex);
    if (dropCount == m_dropCount)
        m_kept.insert_or_assign(path, Kept{stamp, value.clone()});
}

} // namespace cortexfs::providers
