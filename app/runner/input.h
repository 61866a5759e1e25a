// What the object is given: the words of the command line, or standard input, in pieces that fit a frame.
#pragma once

#include "app/runner/buffer.h"

namespace cortexfs::runner {

class Input {
public:
    enum class State { Open, Ended, Broken };

    // From memory: nothing more comes.
    void setText(Text text);
    // From a descriptor, read when it is readable.
    void setDescriptor(int fd)
    {
        m_fd = fd;
        m_state = State::Open;
    }

    int descriptor() const { return m_state == State::Open ? m_fd : -1; }
    State state() const { return m_state; }
    // One read(2). Bytes that are not UTF-8 make the input Broken; a sequence cut by the read waits for its rest.
    void readSome();
    // At most kPiece whole characters of what is there.
    Text nextPiece() const;
    void drop(size_t count) { m_bytes.dropFront(count); }
    size_t pendingSize() const { return m_bytes.size(); }
    bool hasPiece() const { return nextPiece().size > 0; }
    // All was read and given out.
    bool isDone() const { return m_state == State::Ended && m_bytes.size() == 0; }

    // Escaping makes a byte six at most: one piece and its frame stay under 1 MiB.
    static constexpr size_t kPiece = 128 * 1024;

private:
    int m_fd = -1;
    State m_state = State::Ended;
    Buffer m_bytes;
};

} // namespace cortexfs::runner
