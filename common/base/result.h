// A value or an Error. C++20 has no std::expected; this is the part of it the project uses.
#pragma once

#include "common/base/error.h"

#include <cassert>
#include <optional>
#include <utility>
#include <variant>

namespace cortexfs {

template<typename T>
class [[nodiscard]] Result {
public:
    Result(T value) : m_state(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : m_state(std::in_place_index<1>, std::move(error)) {}

    bool isOk() const { return m_state.index() == 0; }
    explicit operator bool() const { return isOk(); }

    // The value may be read only where isOk() was checked.
    T &value() &
    {
        assert(isOk());
        return std::get<0>(m_state);
    }
    const T &value() const &
    {
        assert(isOk());
        return std::get<0>(m_state);
    }
    T &&value() &&
    {
        assert(isOk());
        return std::get<0>(std::move(m_state));
    }
    T &operator*() & { return value(); }
    const T &operator*() const & { return value(); }
    T &&operator*() && { return std::move(*this).value(); }
    T *operator->() { return &value(); }
    const T *operator->() const { return &value(); }

    T valueOr(T fallback) const & { return isOk() ? value() : std::move(fallback); }

    const Error &error() const
    {
        assert(!isOk());
        return std::get<1>(m_state);
    }

private:
    std::variant<T, Error> m_state;
};

template<>
class [[nodiscard]] Result<void> {
public:
    Result() = default;
    Result(Error error) : m_error(std::move(error)) {}

    bool isOk() const { return !m_error; }
    explicit operator bool() const { return isOk(); }
    const Error &error() const
    {
        assert(m_error);
        return *m_error;
    }

private:
    std::optional<Error> m_error;
};

} // namespace cortexfs
