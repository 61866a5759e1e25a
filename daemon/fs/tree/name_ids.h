// Small numbers for names that have no serial of their own (providers, aliases, links), so that their inode numbers stay
// the same while the tree is mounted, also when the name goes and comes back. Grows with the distinct names ever seen.
// Thread-safe: the answering thread and the one that announces snapshots both ask.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace cortexfs::fs {

class NameIds {
public:
    std::uint64_t id(std::string_view name);
    // The name of an id that was given out.
    std::string_view name(std::uint64_t id) const;
    // Without making one.
    std::optional<std::uint64_t> existing(std::string_view name) const;

private:
    mutable std::mutex m_mutex;
    std::deque<std::string> m_names; // index = id; addresses are stable
    std::unordered_map<std::string_view, std::uint64_t> m_ids;
};

} // namespace cortexfs::fs
