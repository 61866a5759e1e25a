// Standard output: whole lines, written when the reader can take them.
#pragma once

#include "app/runner/buffer.h"

namespace cortexfs::runner {

class Output {
public:
    Buffer &buffer() { return m_pending; }
    bool isEmpty() const { return m_pending.size() == 0; }
    // One write(2) of what is pending; call it when standard output is writable. A reader that has left ends the program
    // by SIGPIPE, as it ends cat; where that signal is ignored the exit code is the same 141.
    void flushSome();

private:
    // POLLOUT on a pipe promises this much without blocking (PIPE_BUF).
    static constexpr size_t kSafeWrite = 4096;
    Buffer m_pending;
    bool m_isRegular = false;
    bool m_isKnown = false;
};

} // namespace cortexfs::runner
