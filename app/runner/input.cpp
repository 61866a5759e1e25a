#include "app/runner/input.h"

#include "app/runner/frame_text.h"

#include <errno.h>
#include <unistd.h>

namespace cortexfs::runner {

void Input::setWords(char *const *words)
{
    for (char *const *word = words; *word; ++word) {
        if (word != words)
            m_bytes.append(" ", 1);
        m_bytes.append(*word);
    }
    m_whole = m_bytes.size();
}

bool Input::readSome()
{
    if (descriptor() < 0)
        return true;
    const ssize_t got = ::read(m_fd, m_bytes.room(kPiece), kPiece);
    if (got < 0) {
        if (errno == EINTR || errno == EAGAIN)
            return false;
        // A program that was started without a standard input has none.
        m_state = errno == EBADF ? State::Ended : State::Failed;
        m_error = errno;
        return true;
    }
    m_bytes.grew(static_cast<size_t>(got));
    m_total += static_cast<size_t>(got);
    bool isBroken = false;
    m_whole += wholeUtf8({m_bytes.data() + m_whole, m_bytes.size() - m_whole}, isBroken);
    if (m_total > kMost)
        m_state = State::TooLarge;
    else if (isBroken || (got == 0 && m_whole != m_bytes.size()))
        m_state = State::NotUtf8;
    else if (got == 0)
        m_state = State::Ended;
    return true;
}

Text Input::nextPiece() const
{
    Text piece = {m_bytes.data(), m_whole};
    if (piece.size > kPiece) {
        bool isBroken = false;
        piece.size = wholeUtf8({piece.data, kPiece}, isBroken);
    }
    return piece;
}

void Input::drop(size_t count)
{
    m_bytes.dropFront(count);
    m_whole -= count;
}

bool areUtf8(char *const *words)
{
    for (; *words; ++words) {
        bool isBroken = false;
        const Text word = textOf(*words);
        if (wholeUtf8(word, isBroken) != word.size)
            return false;
    }
    return true;
}

size_t joinedSize(char *const *words)
{
    size_t size = 0;
    for (char *const *word = words; *word; ++word)
        size += textOf(*word).size + (word == words ? 0 : 1);
    return size;
}

} // namespace cortexfs::runner
