// Holds the current version of an immutable value. The Qt thread stores, any thread loads; a reader keeps what it
// loaded for as long as it likes.
#pragma once

#include <atomic>
#include <memory>

namespace cortexfs {

template<typename T>
class SnapshotCell {
public:
    explicit SnapshotCell(std::shared_ptr<const T> initial) : m_value(std::move(initial)) {}

    std::shared_ptr<const T> load() const { return m_value.load(std::memory_order_acquire); }
    void store(std::shared_ptr<const T> value) { m_value.store(std::move(value), std::memory_order_release); }

private:
    std::atomic<std::shared_ptr<const T>> m_value;
};

} // namespace cortexfs
