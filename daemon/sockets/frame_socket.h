// One client of a unix socket that speaks JSONL. Lives on the Qt thread.
//
// It owns the descriptor. Whole frames come out as frameReceived; what is sent is collected until the event loop is about to
// wait (SocketLoop) and is kept only as far as the peer does not take it. A peer that asks and does not read its answers is
// not read either once kMostUnsent wait for it, so that it cannot fill our memory. Qt's QLocalSocket would do the same with
// three copies more; this is the hot path of every run.
//
// An idle one costs about 1 KiB of memory, its slot in the loop and two connected signals included: no notifier, no timer,
// no buffers (one for reading is there only while a frame is half read, one for sending of more than 1 KiB only while
// something is unsent).
#pragma once

#include "common/base/limits.h"
#include "common/base/unique_fd.h"
#include "common/jsonl/frame_reader.h"
#include "daemon/sockets/client_budget.h"
#include "daemon/sockets/peer.h"
#include "daemon/sockets/socket_loop.h"

#include <QObject>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace cortexfs::sockets {

class FrameSocket : public QObject, private SocketHandler {
    Q_OBJECT
public:
    // Above what one paused run leaves behind (limits::kUnsent and a last frame), so that its cancel is still read.
    static constexpr std::size_t kMostUnsent = limits::kUnsent + 2 * limits::kFrame;

    // `fd` is connected and non-blocking.
    FrameSocket(UniqueFd fd, Peer peer, std::shared_ptr<SocketLoop> loop, QObject *parent = nullptr);
    ~FrameSocket() override;

    const Peer &peer() const { return m_peer; }

    // Appends whole lines (each with its LF). They leave when the event loop is about to wait, or before when there are
    // many. After close() it does nothing.
    void send(std::string_view lines);
    // Bytes the peer has not taken yet. A source that sees more than limits::kUnsent pauses until drained().
    std::size_t unsent() const { return m_out.size() - m_outStart; }
    // Sends what is left, then closes; nothing is read any more.
    void closeAfterSending();
    bool isOpen() const { return m_fd.isValid(); }
    // A peer that takes nothing for so many milliseconds while something is unsent is dropped: closed(). 0, as it is from
    // the start, waits for ever. The kernel tells only of what was read to the end of a piece of at most 64 KiB.
    void setStallLimit(int milliseconds);

Q_SIGNALS:
    // Without LF. The view holds during the call only.
    void frameReceived(std::string_view frame);
    void frameTooLarge();
    // The peer will send no more; it may still read. What it left without a final LF came as a frame before.
    void readingEnded();
    // unsent() fell to zero after it was not.
    void drained();
    // Gone in both directions; emitted once, never from within send().
    void closed();

private:
    friend class UnixListener;
    void socketReadable() override;
    void socketWritable() override;
    void socketHungUp() override;
    void sendQueued() override;
    void deadlineReached() override;
    void resumeReading();
    bool deliverFrames(); // false when this socket is closed, closing, deleted or must not be read for now
    void handleEndOfInput();
    bool flush(); // false when the connection failed
    void sendNow();
    void setReading(bool isReading);
    void setBlocked(bool isBlocked);
    void restartStall();
    void fail();

    ClientBudget::Seat m_seat; // behind the descriptor in destruction: given back when that is closed
    UniqueFd m_fd;
    Peer m_peer;
    const std::shared_ptr<SocketLoop> m_loop;
    SocketLoop::Key m_key = SocketLoop::kNoKey;
    std::optional<jsonl::FrameReader> m_reader; // while something is half read
    std::string m_out;
    std::size_t m_outStart = 0;
    int m_stallMs = 0;
    bool m_isQueued = false;
    bool m_isReading = true;  // asked for
    bool m_isBlocked = false; // the peer did not take all: sent on when it does
    bool m_isReadingPaused = false;
    bool m_isResuming = false; // posted
    bool m_hasReadAll = false;
    bool m_closing = false;
};

} // namespace cortexfs::sockets
