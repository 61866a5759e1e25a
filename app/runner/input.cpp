#include "app/runner/input.h"

#include "app/runner/frame_text.h"

#include <errno.h>
#include <unistd.h>

namespace cortexfs::runner {

void Input::setText(Text text)
{
    m_bytes.append(text);
    m_state = State::Ended;
    bool isBroken = false;
    if (wholeUtf8(m_bytes.text(), isBroken) != m_bytes.size())
        m_state = State::Broken;
}

void Input::readSome()
{
    if (m_fd < 0)
        return;
    const ssize_t got = ::read(m_fd, m_bytes.room(kPiece), kPiece);
    if (got < 0) {
        if (errno == EINTR || errno == EAGAIN)
            return;
        m_state = State::Ended; // as cat would: what came so far is the input
        return;
    }
    m_bytes.grew(static_cast<size_t>(got));
    bool isBroken = false;
    const size_t whole = wholeUtf8(m_bytes.text(), isBroken);
    if (isBroken || (got == 0 && whole != m_bytes.size()))
        m_state = State::Broken;
    else if (got == 0)
        m_state = State::Ended;
    else
        m_state = State::Open;
}

Text Input::nextPiece() const
{
    Text piece = m_bytes.text();
    if (piece.size > kPiece)
        piece.size = kPiece;
    bool isBroken = false;
    piece.size = wholeUtf8(piece, isBroken);
    return piece;
}

} // namespace cortexfs::runner
