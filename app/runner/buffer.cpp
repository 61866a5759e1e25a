#include "app/runner/buffer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace cortexfs::runner {

namespace {
constexpr int kExitInternal = 70;
constexpr size_t kSmallest = 4096;
} // namespace

bool Text::startsWith(const char *prefix) const
{
    const size_t length = strlen(prefix);
    return size >= length && memcmp(data, prefix, length) == 0;
}

bool Text::equals(const char *other) const { return size == strlen(other) && startsWith(other); }

Text textOf(const char *terminated) { return {terminated, strlen(terminated)}; }

Buffer::~Buffer()
{
    if (!m_isBorrowed)
        free(m_data);
}

char *Buffer::room(size_t count)
{
    if (m_size + count > m_capacity) {
        size_t capacity = m_capacity == 0 ? kSmallest : m_capacity;
        while (capacity < m_size + count)
            capacity *= 2;
        void *grown = m_isBorrowed ? malloc(capacity) : realloc(m_data, capacity);
        if (!grown)
            _exit(kExitInternal);
        if (m_isBorrowed && m_size > 0)
            memcpy(grown, m_data, m_size);
        m_isBorrowed = false;
        m_data = static_cast<char *>(grown);
        m_capacity = capacity;
    }
    return m_data + m_size;
}

void Buffer::append(const char *bytes, size_t count)
{
    if (count == 0)
        return;
    memcpy(room(count), bytes, count);
    m_size += count;
}

void Buffer::append(const char *terminated) { append(terminated, strlen(terminated)); }

void Buffer::dropFront(size_t count)
{
    m_size -= count;
    if (m_size > 0)
        memmove(m_data, m_data + count, m_size);
}

} // namespace cortexfs::runner
