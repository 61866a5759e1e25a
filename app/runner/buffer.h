// Bytes that grow. The runner has no C++ library: this is the one container it needs. Out of memory ends the program.
// It may begin in storage of its owner: most runs then ask the system for no memory at all.
#pragma once

#include <stddef.h>

namespace cortexfs::runner {

// A piece of somebody else's bytes.
struct Text {
    const char *data = nullptr;
    size_t size = 0;

    bool startsWith(const char *prefix) const;
    bool equals(const char *other) const;
};
Text textOf(const char *terminated);

class Buffer {
public:
    Buffer() = default;
    // `storage` lives as long as the buffer.
    Buffer(char *storage, size_t capacity) : m_data(storage), m_capacity(capacity), m_isBorrowed(true) {}
    ~Buffer();
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;

    const char *data() const { return m_data; }
    size_t size() const { return m_size; }
    Text text() const { return {m_data, m_size}; }

    void append(const char *bytes, size_t count);
    void append(Text text) { append(text.data, text.size); }
    void append(const char *terminated);
    // Room for `count` more bytes; fill it and say how many with grew().
    char *room(size_t count);
    void grew(size_t count) { m_size += count; }
    void dropFront(size_t count);
    void clear() { m_size = 0; }

private:
    char *m_data = nullptr;
    size_t m_size = 0;
    size_t m_capacity = 0;
    bool m_isBorrowed = false;
};

} // namespace cortexfs::runner
