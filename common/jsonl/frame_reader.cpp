#include "common/jsonl/frame_reader.h"

namespace cortexfs::jsonl {

namespace {
constexpr std::size_t kKeptCapacity = 128 * limits::kKiB;
} // namespace

void FrameReader::append(std::string_view bytes)
{
    if (m_overflowed)
        return;
    if (m_start > 0) {
        m_buffer.erase(0, m_start);
        m_scanned -= m_start;
        m_start = 0;
    }
    m_buffer.append(bytes);
}

std::optional<std::string_view> FrameReader::next()
{
    while (!m_overflowed) {
        const std::size_t end = m_buffer.find('\n', m_scanned);
        if (end == std::string::npos) {
            // One large frame must not cost a connection a mebibyte for the rest of its life.
            if (m_start == m_buffer.size() && m_buffer.capacity() > kKeptCapacity) {
                std::string().swap(m_buffer); // assignment would keep the memory
                m_start = 0;
            }
            m_scanned = m_buffer.size();
            if (m_buffer.size() - m_start >= m_maxFrame)
                m_overflowed = true;
            return std::nullopt;
        }
        std::string_view frame(m_buffer.data() + m_start, end - m_start);
        if (frame.size() + 1 > m_maxFrame) {
            m_overflowed = true;
            return std::nullopt;
        }
        m_start = end + 1;
        m_scanned = m_start;
        if (frame.ends_with('\r'))
            frame.remove_suffix(1);
        if (!frame.empty())
            return frame;
    }
    return std::nullopt;
}

} // namespace cortexfs::jsonl
