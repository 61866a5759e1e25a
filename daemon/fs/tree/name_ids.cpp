#include "daemon/fs/tree/name_ids.h"

namespace cortexfs::fs {

std::uint64_t NameIds::id(std::string_view name)
{
    const std::lock_guard lock(m_mutex);
    if (const auto found = m_ids.find(name); found != m_ids.end())
        return found->second;
    const std::uint64_t id = m_names.size();
    m_names.emplace_back(name);
    m_ids.emplace(m_names.back(), id);
    return id;
}

std::string_view NameIds::name(std::uint64_t id) const
{
    const std::lock_guard lock(m_mutex);
    return id < m_names.size() ? std::string_view(m_names[id]) : std::string_view();
}

std::optional<std::uint64_t> NameIds::existing(std::string_view name) const
{
    const std::lock_guard lock(m_mutex);
    const auto found = m_ids.find(name);
    return found == m_ids.end() ? std::nullopt : std::optional(found->second);
}

} // namespace cortexfs::fs
