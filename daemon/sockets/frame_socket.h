// One client of a unix socket that speaks JSONL. Lives on the Qt thread.
//
// It owns the descriptor. Whole frames come out as frameReceived; what is sent is collected until the event loop is about to
// wait (SendQueue) and is kept only as far as the peer does not take it. A peer that asks and does not read its answers is
// not read either once kMostUnsent wait for it, so that it cannot fill our memory. Qt's QLocalSocket would do the same with
// three copies more; this is the hot path of every run.
#pragma once

#include "common/base/limits.h"
#include "common/base/unique_fd.h"
#include "common/jsonl/frame_reader.h"
#include "daemon/sockets/peer.h"
#include "daemon/sockets/send_queue.h"

#include <QObject>
#include <QSocketNotifier>
#include <QTimer>

#include <memory>
#include <string>
#include <string_view>

namespace cortexfs::sockets {

class FrameSocket : public QObject {
    Q_OBJECT
public:
    // Above what one paused run leaves behind (limits::kUnsent and a last frame), so that its cancel is still read.
    static constexpr std::size_t kMostUnsent = limits::kUnsent + 2 * limits::kFrame;

    // `fd` is connected and non-blocking.
    FrameSocket(UniqueFd fd, Peer peer, std::shared_ptr<SendQueue> queue, QObject *parent = nullptr);
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
    // A peer that takes nothing of what is there for it for so long is dropped: closed() comes. 0, the rule: it may take
    // its time (a pager at the end of a pipe does).
    void setStallLimit(int ms) { m_stallLimitMs = ms; }

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
    friend class SendQueue;
    friend class UnixListener;
    void sendQueued();
    void handleReadable();
    void resumeReading();
    bool deliverFrames(); // false when this socket is closed, closing, deleted or must not be read for now
    void handleWritable();
    void handleEndOfInput();
    bool flush(); // false when the connection failed
    void sendNow();
    void watchStall();
    void fail();

    UniqueFd m_fd;
    Peer m_peer;
    const std::shared_ptr<SendQueue> m_queue;
    jsonl::FrameReader m_reader;
    std::unique_ptr<QSocketNotifier> m_readNotifier;
    std::unique_ptr<QSocketNotifier> m_writeNotifier;
    std::unique_ptr<QSocketNotifier> m_hangupNotifier;
    std::unique_ptr<QTimer> m_stallTimer; // while the peer has something to take and a limit to do it
    int m_stallLimitMs = 0;
    std::string m_out;
    std::size_t m_outStart = 0;
    bool m_isQueued = false;
    bool m_isReadingPaused = false;
    bool m_closing = false;
};

} // namespace cortexfs::sockets
