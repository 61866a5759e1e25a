// Standard output of ctx: buffered, failures remembered, colour only where a person looks.
#pragma once

#include "common/base/places.h"
#include "common/base/result.h"

#include <string>
#include <string_view>

namespace cortexfs::ctx {

enum class Style { Plain, Strong, Dim, Good, Warning, Bad };

// write(2) until all is written, also to a non-blocking descriptor.
Result<void> writeFully(int fd, std::string_view text);

// What poll(2) told of an output that nothing was to be written to: EPIPE when its reader has left, EBADF when it is not
// open. Who waits for a model watches for it, or a run would go on for nobody until its next word.
Result<void> checkReader(short revents);

class Output {
public:
    Output(int fd, bool hasColour) : m_fd(fd), m_hasColour(hasColour) {}

    // Colour needs a terminal, no NO_COLOR, and a TERM that is not "dumb".
    static bool wantsColour(int fd, const Environment &environment);

    void write(std::string_view text);
    void line(std::string_view text)
    {
        write(text);
        write("\n");
    }
    // `text` in that style where there is colour. The text is not escaped.
    std::string styled(Style style, std::string_view text) const;
    std::string_view begin(Style style) const;
    std::string_view reset() const;

    // Writes out what is buffered. The first failure of any write: EPIPE when the reader is gone, ENOSPC, EBADF ...
    // After a failure nothing more is written.
    Result<void> flush();
    bool isBroken() const { return m_failure != 0; }

private:
    int m_fd;
    bool m_hasColour;
    std::string m_buffer;
    int m_failure = 0;
};

} // namespace cortexfs::ctx
