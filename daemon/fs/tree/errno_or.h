// A value or a bare errno. The tree answers tens of thousands of requests a second with nothing but an errno in case of
// failure; a Result with its message would allocate for every unknown name.
#pragma once

#include <utility>
#include <variant>

namespace cortexfs::fs {

struct Errno {
    int number;
};

template<typename T>
class [[nodiscard]] ErrnoOr {
public:
    ErrnoOr(T value) : m_state(std::in_place_index<0>, std::move(value)) {}
    ErrnoOr(Errno error) : m_state(std::in_place_index<1>, error) {}

    bool isOk() const { return m_state.index() == 0; }
    explicit operator bool() const { return isOk(); }
    // 0 when there is a value.
    int error() const { return isOk() ? 0 : std::get<1>(m_state).number; }

    T &operator*() { return std::get<0>(m_state); }
    const T &operator*() const { return std::get<0>(m_state); }
    T *operator->() { return &std::get<0>(m_state); }
    const T *operator->() const { return &std::get<0>(m_state); }

private:
    std::variant<T, Errno> m_state;
};

} // namespace cortexfs::fs
