// Splits a byte stream into JSONL frames: one JSON text and LF, at most 1 MiB with its LF (decisions, section 9).
#pragma once

#include "common/base/limits.h"

#include <optional>
#include <string>
#include <string_view>

namespace cortexfs::jsonl {

class FrameReader {
public:
    explicit FrameReader(std::size_t maxFrame = limits::kFrame) : m_maxFrame(maxFrame) {}

    // Adds bytes. Once a frame is too long the reader is overflowed for good: the caller answers EMSGSIZE and closes.
    void append(std::string_view bytes);
    // The next whole frame without its LF (and without a CR before it); nothing when more bytes are needed. The view
    // holds until the next call of append() or next(). Empty lines are skipped.
    std::optional<std::string_view> next();
    // What stands after the last LF, for a peer that closed without one.
    std::string_view rest() const { return std::string_view(m_buffer).substr(m_start); }
    bool isOverflowed() const { return m_overflowed; }
    std::size_t capacity() const { return m_buffer.capacity(); } // bytes of memory held

private:
    std::size_t m_maxFrame;
    std::string m_buffer;
    std::size_t m_start = 0;   // first byte not yet given out
    std::size_t m_scanned = 0; // no LF before this one: a frame that comes byte by byte is scanned once
    bool m_overflowed = false;
};

} // namespace cortexfs::jsonl
