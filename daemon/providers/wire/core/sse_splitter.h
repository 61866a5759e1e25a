// Splits the bytes of an event stream into its events (HTML standard, "Server-sent events"), with the three deviations
// that every client of model APIs makes: the end of the stream flushes a last event without its blank line, a line
// `error: {...}` is an event named "error" (servers before September 2025 write it), and nothing ever reconnects.
//
// Works on bytes: lines end at LF, CR or CRLF only, wherever the network cuts. Each byte is looked at once.
#pragma once

#include "common/base/limits.h"

#include <optional>
#include <string>
#include <string_view>

namespace cortexfs::wire {

struct SseEvent {
    std::string_view name; // "message" when the stream gives none
    std::string_view data; // data lines joined with LF; may be empty
};

class SseSplitter {
public:
    // `maxEvent`: bytes of one event or one line. Past it the splitter is overflowed for good.
    explicit SseSplitter(std::size_t maxEvent = limits::kSseEvent) : m_maxEvent(maxEvent) {}

    void append(std::string_view bytes);
    // No more bytes come: what is left counts as a line and as the end of its event.
    void finish() { m_finished = true; }
    // The next event; nothing when more bytes are needed. The views hold until the next call of append() or next().
    std::optional<SseEvent> next();
    bool isOverflowed() const { return m_overflowed; }

private:
    bool skipMark();
    std::optional<std::string_view> nextLine();
    void takeLine(std::string_view line);
    void takeData(std::string_view value);
    void clearEvent();

    std::size_t m_maxEvent;
    std::string m_buffer;
    std::size_t m_start = 0;   // first byte of the line that is being read
    std::size_t m_scanned = 0; // no line end before this one
    std::string m_name;
    std::string m_data;
    bool m_hasData = false;
    bool m_wasGiven = false; // the event in m_name and m_data was given out
    bool m_atStart = true;   // a byte order mark may still come
    bool m_afterCr = false;  // an LF now belongs to the CR before it
    bool m_finished = false;
    bool m_overflowed = false;
};

} // namespace cortexfs::wire
