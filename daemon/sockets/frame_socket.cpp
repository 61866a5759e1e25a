#include "daemon/sockets/frame_socket.h"

#include <QPointer>

#include <poll.h>
#include <sys/socket.h>

namespace cortexfs::sockets {

namespace {
constexpr std::size_t kReadChunk = 64 * 1024;
// How much one client may be read in one turn, so that a flood does not keep the others waiting.
constexpr int kReadsPerTurn = 4;
// More than this is not collected for one system call.
constexpr std::size_t kMostQueued = 16 * 1024;
// A buffer as small as this is worth its memory.
constexpr std::size_t kKeptCapacity = 1024;
} // namespace

FrameSocket::FrameSocket(UniqueFd fd, Peer peer, std::shared_ptr<SocketLoop> loop, QObject *parent)
    : QObject(parent), m_fd(std::move(fd)), m_peer(peer), m_loop(std::move(loop))
{
    const Result<SocketLoop::Key> key = m_loop->watch(m_fd.get(), {true, false}, *this);
    if (key)
        m_key = *key;
    else
        fail();
}

FrameSocket::~FrameSocket()
{
    m_loop->unwatch(m_key);
    if (m_fd.isValid())
        flush();
}

void FrameSocket::send(std::string_view lines)
{
    if (!m_fd.isValid() || m_closing)
        return;
    m_out.append(lines);
    if (m_isBlocked)
        return;
    if (unsent() > kMostQueued)
        return sendNow();
    if (!m_isQueued)
        m_loop->callBeforeWait(m_key);
    m_isQueued = true;
}

void FrameSocket::setStallLimit(int milliseconds)
{
    m_stallMs = milliseconds;
    if (m_isBlocked)
        restartStall();
}

void FrameSocket::sendQueued()
{
    m_isQueued = false;
    sendNow();
}

// What the peer does not take leaves when it does.
void FrameSocket::sendNow()
{
    if (!flush())
        return fail();
    if (unsent() > 0 && !m_isBlocked)
        setBlocked(true);
}

void FrameSocket::setReading(bool isReading)
{
    m_isReading = isReading;
    m_loop->setInterest(m_key, {m_isReading, m_isBlocked});
}

void FrameSocket::setBlocked(bool isBlocked)
{
    m_isBlocked = isBlocked;
    m_loop->setInterest(m_key, {m_isReading, m_isBlocked});
    restartStall();
}

void FrameSocket::restartStall()
{
    if (m_isBlocked && m_stallMs > 0)
        m_loop->setDeadline(m_key, m_stallMs);
    else
        m_loop->clearDeadline(m_key);
}

bool FrameSocket::flush()
{
    bool hasSent = false;
    while (unsent() > 0) {
        const ssize_t sent = ::send(m_fd.get(), m_out.data() + m_outStart, unsent(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0) {
            if (errno == EINTR)
                continue;
            if (hasSent && m_stallMs > 0 && m_isBlocked)
                restartStall();
            return errno == EAGAIN || errno == EWOULDBLOCK;
        }
        m_outStart += static_cast<std::size_t>(sent);
        hasSent = true;
    }
    m_outStart = 0;
    if (m_out.capacity() > kKeptCapacity)
        std::string().swap(m_out);
    m_out.clear();
    return true;
}

void FrameSocket::socketWritable()
{
    if (!flush())
        return fail();
    if (unsent() > 0)
        return;
    setBlocked(false);
    if (m_closing)
        return fail();
    if (m_isReadingPaused) {
        m_isReadingPaused = false;
        m_isResuming = true;
        // What was read before the pause comes first, from a turn of its own.
        QMetaObject::invokeMethod(
            this, [this] { resumeReading(); }, Qt::QueuedConnection);
    }
    Q_EMIT drained();
}

void FrameSocket::deadlineReached()
{
    // A slow reader is told to be writable only when most of what the kernel holds was read; it may have taken something.
    const std::size_t before = unsent();
    if (!flush() || unsent() == before)
        return fail();
    if (unsent() == 0)
        socketWritable();
}

void FrameSocket::socketHungUp()
{
    // What was read before a pause still comes.
    if (!m_isResuming)
        fail();
}

void FrameSocket::resumeReading()
{
    m_isResuming = false;
    if (!m_fd.isValid() || m_closing || m_isReadingPaused)
        return;
    if (!deliverFrames())
        return;
    if (m_hasReadAll)
        Q_EMIT readingEnded();
    else
        setReading(true);
}

bool FrameSocket::deliverFrames()
{
    if (!m_reader)
        return true;
    const QPointer<FrameSocket> alive(this);
    for (;;) {
        if (unsent() > kMostUnsent) {
            m_isReadingPaused = true;
            setReading(false);
            return false;
        }
        const auto frame = m_reader->next();
        if (!frame)
            break;
        Q_EMIT frameReceived(*frame);
        if (!alive || !m_fd.isValid() || m_closing)
            return false;
    }
    if (m_reader->isOverflowed()) {
        setReading(false);
        Q_EMIT frameTooLarge();
        return false;
    }
    if (m_reader->rest().empty())
        m_reader.reset();
    return true;
}

void FrameSocket::socketReadable()
{
    char buffer[kReadChunk];
    for (int turn = 0; turn < kReadsPerTurn; ++turn) {
        const ssize_t got = ::recv(m_fd.get(), buffer, sizeof buffer, MSG_DONTWAIT);
        if (got < 0) {
            if (errno == EINTR)
                continue;
            if (errno != EAGAIN && errno != EWOULDBLOCK)
                fail();
            return;
        }
        if (got == 0)
            return handleEndOfInput();
        if (!m_reader)
            m_reader.emplace();
        m_reader->append(std::string_view(buffer, static_cast<std::size_t>(got)));
        if (!deliverFrames() || got < static_cast<ssize_t>(sizeof buffer))
            return;
    }
}

void FrameSocket::handleEndOfInput()
{
    // A half-closed client (printf ... | socat) still wants its answer; one that is gone does not. Only POLLHUP tells, now
    // or later, and it is the one thing that comes unasked.
    pollfd state = {m_fd.get(), 0, 0};
    if (::poll(&state, 1, 0) == 1 && (state.revents & (POLLHUP | POLLERR)) != 0)
        return fail();
    m_hasReadAll = true;
    setReading(false);
    if (m_reader && !m_reader->rest().empty())
        m_reader->append("\n");
    if (deliverFrames())
        Q_EMIT readingEnded();
}

void FrameSocket::closeAfterSending()
{
    if (!m_fd.isValid() || m_closing)
        return;
    m_closing = true;
    setReading(false);
    sendNow();
    if (unsent() == 0)
        fail();
}

void FrameSocket::fail()
{
    if (!m_fd.isValid())
        return;
    m_loop->unwatch(m_key);
    m_isBlocked = false;
    m_fd.reset();
    std::string().swap(m_out);
    m_outStart = 0;
    QMetaObject::invokeMethod(this, &FrameSocket::closed, Qt::QueuedConnection);
}

} // namespace cortexfs::sockets
