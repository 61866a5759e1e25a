// A credential in memory. It cannot be copied by accident, streamed, compared with a literal or logged; the bytes are
// wiped when it goes. reveal() is the one way to the text and its callers are the ones to review.
#pragma once

#include <string>
#include <string_view>

#include <cstring>

namespace cortexfs {

class SecretString {
public:
    SecretString() = default;
    explicit SecretString(std::string value) : m_value(std::move(value))
    {
        wipe(value); // a short text lives inside the object that it was moved from
    }
    SecretString(SecretString &&other) noexcept : m_value(std::move(other.m_value)) { wipe(other.m_value); }
    SecretString &operator=(SecretString &&other) noexcept
    {
        if (this != &other) {
            wipe(m_value);
            m_value = std::move(other.m_value);
            wipe(other.m_value);
        }
        return *this;
    }
    SecretString(const SecretString &) = delete;
    SecretString &operator=(const SecretString &) = delete;
    ~SecretString() { wipe(m_value); }

    bool isEmpty() const { return m_value.empty(); }
    std::string_view reveal() const { return m_value; }
    SecretString clone() const { return SecretString(m_value); }

private:
    static void wipe(std::string &text)
    {
        // explicit_bzero is not removed by the optimiser; capacity, not size, covers what a shrink left behind.
        ::explicit_bzero(text.data(), text.capacity());
        text.clear();
    }

    std::string m_value;
};

} // namespace cortexfs
