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
} // namespace

FrameSocket::FrameSocket(UniqueFd fd, Peer peer, std::shared_ptr<SendQueue> queue, QObject *parent)
    : QObject(parent), m_fd(std::move(fd)), m_peer(peer), m_queue(std::move(queue))
{
    m_readNotifier = std::make_unique<QSocketNotifier>(m_fd.get(), QSocketNotifier::Read);
    connect(m_readNotifier.get(), &QSocketNotifier::activated, this, &FrameSocket::handleReadable);
}

FrameSocket::~FrameSocket()
{
    if (m_fd.isValid())
        flush();
}

void FrameSocket::send(std::string_view lines)
{
    if (!m_fd.isValid() || m_closing)
        return;
    m_out.append(lines);
    const bool isWaitingForPeer = m_writeNotifier && m_writeNotifier->isEnabled();
    if (isWaitingForPeer)
        return;
    if (unsent() > kMostQueued)
        return sendNow();
    if (!m_isQueued)
        m_queue->add(this);
    m_isQueued = true;
}

void FrameSocket::sendQueued()
{
    m_isQueued = false;
    if (m_fd.isValid())
        sendNow();
}

// What the peer does not take leaves when it does.
void FrameSocket::sendNow()
{
    if (!flush())
        return fail();
    if (unsent() == 0)
        return;
    if (!m_writeNotifier) {
        m_writeNotifier = std::make_unique<QSocketNotifier>(m_fd.get(), QSocketNotifier::Write);
        connect(m_writeNotifier.get(), &QSocketNotifier::activated, this, &FrameSocket::handleWritable);
    }
    m_writeNotifier->setEnabled(true);
    watchStall();
}

// Starts the time anew: the peer has taken something, or is asked to for the first time.
void FrameSocket::watchStall()
{
    if (m_stallLimitMs == 0)
        return;
    if (!m_stallTimer) {
        m_stallTimer = std::make_unique<QTimer>();
        m_stallTimer->setSingleShot(true);
        connect(m_stallTimer.get(), &QTimer::timeout, this, &FrameSocket::fail);
    }
    m_stallTimer->start(m_stallLimitMs);
}

bool FrameSocket::flush()
{
    while (unsent() > 0) {
        const ssize_t sent = ::send(m_fd.get(), m_out.data() + m_outStart, unsent(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0) {
            if (errno == EINTR)
                continue;
            return errno == EAGAIN || errno == EWOULDBLOCK;
        }
        m_outStart += static_cast<std::size_t>(sent);
    }
    m_out.clear();
    m_outStart = 0;
    if (m_out.capacity() > kReadChunk)
        m_out.shrink_to_fit();
    return true;
}

void FrameSocket::handleWritable()
{
    const std::size_t before = unsent();
    if (!flush())
        return fail();
    if (unsent() > 0) {
        if (unsent() < before)
            watchStall();
        return;
    }
    if (m_stallTimer)
        m_stallTimer->stop();
    m_writeNotifier->setEnabled(false);
    if (m_closing)
        return fail();
    if (m_isReadingPaused) {
        m_isReadingPaused = false;
        // What was read before the pause comes first, from a turn of its own.
        QMetaObject::invokeMethod(
            this, [this] { resumeReading(); }, Qt::QueuedConnection);
    }
    Q_EMIT drained();
}

void FrameSocket::resumeReading()
{
    if (!m_fd.isValid() || m_closing || m_isReadingPaused)
        return;
    if (!deliverFrames())
        return;
    if (m_hangupNotifier)
        Q_EMIT readingEnded();
    else
        m_readNotifier->setEnabled(true);
}

bool FrameSocket::deliverFrames()
{
    const QPointer<FrameSocket> alive(this);
    for (;;) {
        if (unsent() > kMostUnsent) {
            m_isReadingPaused = true;
            m_readNotifier->setEnabled(false);
            return false;
        }
        const auto frame = m_reader.next();
        if (!frame)
            break;
        Q_EMIT frameReceived(*frame);
        if (!alive || !m_fd.isValid() || m_closing)
            return false;
    }
    if (!m_reader.isOverflowed())
        return true;
    m_readNotifier->setEnabled(false);
    Q_EMIT frameTooLarge();
    return false;
}

void FrameSocket::handleReadable()
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
        if (got == 0) {
            m_readNotifier->setEnabled(false);
            handleEndOfInput();
            return;
        }
        m_reader.append(std::string_view(buffer, static_cast<std::size_t>(got)));
        if (!deliverFrames() || got < static_cast<ssize_t>(sizeof buffer))
            return;
    }
}

void FrameSocket::handleEndOfInput()
{
    // A half-closed client (printf ... | socat) still wants its answer; one that is gone does not. Only POLLHUP tells,
    // now or later, and Qt's Exception notifier is the one that fires on it alone.
    pollfd state = {m_fd.get(), 0, 0};
    if (::poll(&state, 1, 0) == 1 && (state.revents & (POLLHUP | POLLERR)) != 0)
        return fail();
    m_hangupNotifier = std::make_unique<QSocketNotifier>(m_fd.get(), QSocketNotifier::Exception);
    connect(m_hangupNotifier.get(), &QSocketNotifier::activated, this, &FrameSocket::fail);
    if (!m_reader.rest().empty())
        m_reader.append("\n");
    if (deliverFrames())
        Q_EMIT readingEnded();
}

void FrameSocket::closeAfterSending()
{
    if (!m_fd.isValid() || m_closing)
        return;
    m_closing = true;
    m_readNotifier->setEnabled(false);
    sendNow();
    if (unsent() == 0)
        fail();
}

void FrameSocket::fail()
{
    if (!m_fd.isValid())
        return;
    // Notifiers first: a closed descriptor must not stay in the event dispatcher. They may be the sender of the signal
    // that brought us here, so they are deleted later.
    for (std::unique_ptr<QSocketNotifier> *notifier : {&m_readNotifier, &m_writeNotifier, &m_hangupNotifier}) {
        if (*notifier) {
            (*notifier)->setEnabled(false);
            (*notifier)->setParent(this); // which may go before the event loop turns again
            notifier->release()->deleteLater();
        }
    }
    if (m_stallTimer) {
        m_stallTimer->stop();
        m_stallTimer.release()->deleteLater(); // it may be the sender, too
    }
    m_fd.reset();
    m_out.clear();
    m_outStart = 0;
    QMetaObject::invokeMethod(this, &FrameSocket::closed, Qt::QueuedConnection);
}

} // namespace cortexfs::sockets
