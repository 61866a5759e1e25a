// What the object is given beside `argv`: standard input, or words too long for one frame, in pieces that fit.
#pragma once

#include "app/runner/buffer.h"

namespace cortexfs::runner {

class Input {
public:
    enum class State {
        Open,
        Ended,
        NotUtf8,
        TooLarge, // more than kMost in all
        Failed    // read(2) failed; error() says how
    };

    // Until then there is no input: Ended.
    void setDescriptor(int fd)
    {
        m_fd = fd;
        m_state = State::Open;
    }

    // From memory, valid UTF-8: the words joined by one blank.
    void setWords(char *const *words);

    State state() const { return m_state; }
    bool isBad() const { return m_state != State::Open && m_state != State::Ended; }
    int error() const { return m_error; }
    // What to wait for; -1 when nothing more is to be read.
    int descriptor() const { return m_state == State::Open ? m_fd : -1; }

    // One read(2); false when there is nothing to read for now. A character that the read cuts waits for its rest.
    bool readSome();
    // At most kPiece whole characters of what is there.
    Text nextPiece() const;
    bool hasPiece() const { return m_whole > 0; }
    void drop(size_t count);
    // Nothing follows this next piece.
    bool isLast(Text piece) const { return m_state == State::Ended && m_bytes.size() == piece.size; }
    // All was read and given out.
    bool isDone() const { return m_state == State::Ended && m_bytes.size() == 0; }

    // Escaping makes six bytes of one at most: a piece in its frame stays under 1 MiB.
    static constexpr size_t kPiece = 128 * 1024;
    static constexpr size_t kMost = 16 * 1024 * 1024;

private:
    int m_fd = -1;
    int m_error = 0;
    State m_state = State::Ended;
    Buffer m_bytes;
    size_t m_whole = 0; // bytes from the start of m_bytes that are whole characters
    size_t m_total = 0;
};

// Whether every word is UTF-8; words are null-terminated texts in a null-terminated array.
bool areUtf8(char *const *words);
// Bytes of the words joined by one blank.
size_t joinedSize(char *const *words);

} // namespace cortexfs::runner
