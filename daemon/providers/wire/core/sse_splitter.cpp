#include "daemon/providers/wire/core/sse_splitter.h"

namespace cortexfs::wire {

namespace {

constexpr std::string_view kMark = "\xef\xbb\xbf";
constexpr std::string_view kDefaultName = "message";

std::string_view withoutOneSpace(std::string_view value)
{
    if (value.starts_with(' '))
        value.remove_prefix(1);
    return value;
}

// The first CR or LF from `at` on, or the size. A loop of its own: std::string::find_first_of calls memchr for each byte.
std::size_t lineEnd(std::string_view text, std::size_t at)
{
    while (at < text.size() && text[at] != '\n' && text[at] != '\r')
        ++at;
    return at;
}

} // namespace

void SseSplitter::append(std::string_view bytes)
{
    if (m_overflowed || m_finished)
        return;
    if (m_start > 0) {
        m_buffer.erase(0, m_start);
        m_scanned -= m_start;
        m_start = 0;
    }
    m_buffer.append(bytes);
}

std::optional<SseEvent> SseSplitter::next()
{
    if (m_wasGiven)
        clearEvent();
    if (m_overflowed || !skipMark())
        return std::nullopt;
    while (const auto line = nextLine()) {
        if (!line->empty()) {
            takeLine(*line);
            if (m_data.size() + m_name.size() > m_maxEvent) {
                m_overflowed = true;
                return std::nullopt;
            }
            continue;
        }
        if (m_hasData) {
            m_wasGiven = true;
            return SseEvent{m_name.empty() ? kDefaultName : std::string_view(m_name), m_data};
        }
        clearEvent();
    }
    if (m_finished && m_hasData && !m_overflowed) {
        m_wasGiven = true;
        return SseEvent{m_name.empty() ? kDefaultName : std::string_view(m_name), m_data};
    }
    return std::nullopt;
}

// False while the bytes so far may still become a byte order mark.
bool SseSplitter::skipMark()
{
    if (!m_atStart)
        return true;
    const std::string_view begin = std::string_view(m_buffer).substr(0, kMark.size());
    if (begin.size() < kMark.size() && kMark.starts_with(begin) && !m_finished)
        return false;
    m_atStart = false;
    if (begin == kMark)
        m_start = m_scanned = kMark.size();
    return true;
}

std::optional<std::string_view> SseSplitter::nextLine()
{
    if (m_afterCr && m_start < m_buffer.size()) {
        if (m_buffer[m_start] == '\n')
            m_scanned = ++m_start;
        m_afterCr = false;
    }
    const std::size_t end = lineEnd(m_buffer, m_scanned);
    if (end < m_buffer.size()) {
        const std::string_view line(m_buffer.data() + m_start, end - m_start);
        m_afterCr = m_buffer[end] == '\r';
        m_start = m_scanned = end + 1;
        if (line.size() <= m_maxEvent)
            return line;
        m_overflowed = true;
        return std::nullopt;
    }
    m_scanned = m_buffer.size();
    const std::string_view rest(m_buffer.data() + m_start, m_buffer.size() - m_start);
    if (rest.size() > m_maxEvent) {
        m_overflowed = true;
        return std::nullopt;
    }
    if (!m_finished || rest.empty())
        return std::nullopt;
    m_start = m_buffer.size();
    return rest;
}

void SseSplitter::takeLine(std::string_view line)
{
    const std::size_t colon = line.find(':');
    const std::string_view field = line.substr(0, colon);
    const std::string_view value = colon == std::string_view::npos ? std::string_view()
                                                                   : withoutOneSpace(line.substr(colon + 1));
    if (field == "data") {
        takeData(value);
    } else if (field == "event") {
        m_name = value;
    } else if (field == "error" && value.starts_with('{')) {
        m_name = "error";
        takeData(value);
    }
    // An empty field is a comment; id and retry would only serve a reconnect.
}

void SseSplitter::takeData(std::string_view value)
{
    if (m_hasData)
        m_data += '\n';
    m_data += value;
    m_hasData = true;
}

void SseSplitter::clearEvent()
{
    m_name.clear();
    m_data.clear();
    m_hasData = false;
    m_wasGiven = false;
}

} // namespace cortexfs::wire
