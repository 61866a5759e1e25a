// Numbers for what is open; the kernel carries them in fuse_file_info::fh. Answering thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace cortexfs::fs {

template<typename T>
class HandleTable {
public:
    std::uint64_t add(std::unique_ptr<T> item)
    {
        if (m_free.empty()) {
            m_items.push_back(std::move(item));
            return m_items.size() - 1;
        }
        const std::uint64_t handle = m_free.back();
        m_free.pop_back();
        m_items[handle] = std::move(item);
        return handle;
    }
    T *get(std::uint64_t handle) { return handle < m_items.size() ? m_items[handle].get() : nullptr; }
    void remove(std::uint64_t handle)
    {
        if (!get(handle))
            return;
        m_items[handle].reset();
        m_free.push_back(handle);
    }
    void clear()
    {
        m_items.clear();
        m_free.clear();
    }

private:
    std::vector<std::unique_ptr<T>> m_items;
    std::vector<std::uint64_t> m_free;
};

} // namespace cortexfs::fs
