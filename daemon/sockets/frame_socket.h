// One client of a unix socket that speaks JSONL. Lives on the Qt thread.
//
// It owns the descriptor. Whole frames come out as frameReceived; what is sent goes to the kernel at once and is kept
// only as far as the peer does not take it. Qt's QLocalSocket would do the same with three copies more and a turn of the
// event loop before every write; this is the hot path of every run.
#pragma once

#include "common/base/unique_fd.h"
#include "common/jsonl/frame_reader.h"
#include "daemon/sockets/peer.h"

#include <QObject>
#include <QSocketNotifier>

#include <memory>
#include <string>
#include <string_view>

namespace cortexfs::sockets {

class FrameSocket : public QObject {
    Q_OBJECT
public:
    // `fd` is connected and non-blocking.
    FrameSocket(UniqueFd fd, Peer peer, QObject *parent = nullptr);
    ~FrameSocket() override;

    const Peer &peer() const { return m_peer; }

    // Appends whole lines (each with its LF). After close() it does nothing.
    void send(std::string_view lines);
    // Bytes the peer has not taken yet. A source that sees more than limits::kUnsent pauses until drained().
    std::size_t unsent() const { return m_out.size() - m_outStart; }
    // Sends what is left, then closes; nothing is read any more.
    void closeAfterSending();
    bool isOpen() const { return m_fd.isValid(); }

Q_SIGNALS:
    // Without LF. The view holds during the call only.
    void frameReceived(std::string_view frame);
    void frameTooLarge();
    // The peer will send no more; it may still read.
    void readingEnded();
    // unsent() fell to zero after it was not.
    void drained();
    // Gone in both directions; emitted once, never from within send().
    void closed();

private:
    void handleReadable();
    void handleWritable();
    void handleEndOfInput();
    bool flush(); // false when the connection failed
    void fail();

    UniqueFd m_fd;
    Peer m_peer;
    jsonl::FrameReader m_reader;
    std::unique_ptr<QSocketNotifier> m_readNotifier;
    std::unique_ptr<QSocketNotifier> m_writeNotifier;
    std::unique_ptr<QSocketNotifier> m_hangupNotifier;
    std::string m_out;
    std::size_t m_outStart = 0;
    bool m_closing = false;
};

} // namespace cortexfs::sockets
