// Standard output: whole lines, written when the reader can take them.
#pragma once

#include "app/runner/buffer.h"

namespace cortexfs::runner {

class Output {
public:
    enum class State {
        Fine,
        ReaderLeft, // EPIPE
        Failed      // error() says how
    };

    Buffer &buffer() { return m_pending; }
    bool isEmpty() const { return m_pending.size() == 0; }
    State state() const { return m_state; }
    int error() const { return m_error; }

    // Writes what can be written now without waiting.
    void flushNow();
    // One write(2), when poll(2) said `revents`.
    void handle(short revents);

private:
    // POLLOUT on a pipe promises this much without blocking (PIPE_BUF).
    static constexpr size_t kSafeWrite = 4096;
    void writeSome(size_t most);
    void fail(int error);

    char m_storage[24 * 1024];
    Buffer m_pending{m_storage, sizeof m_storage};
    State m_state = State::Fine;
    int m_error = 0;
};

} // namespace cortexfs::runner
