// The sockets of one thread behind one epoll descriptor, which is one QSocketNotifier of Qt's event loop: a turn costs by
// what happened, not by how many sockets there are, and a socket needs no QObject to be waited for.
//
// Lives on the thread that made it, as everything that uses it. Whoever uses it holds it (shared_ptr); it may lose its last
// owner within a handler.
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"

#include <QBasicTimer>
#include <QObject>
#include <QSocketNotifier>

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

namespace cortexfs::sockets {

// What a watched socket does. Any of these may stop watching this or another socket, or delete it.
class SocketHandler {
public:
    // There is something to read, or its end, or an error that reading gives.
    virtual void socketReadable() = 0;
    virtual void socketWritable() = 0;
    // Gone in both directions, while reading is not asked for. Said at each turn until nobody watches.
    virtual void socketHungUp() = 0;
    // The event loop is about to wait (SocketLoop::callBeforeWait).
    virtual void sendQueued() = 0;
    // SocketLoop::setDeadline went by; it is not set any more.
    virtual void deadlineReached() = 0;

protected:
    ~SocketHandler() = default;
};

class SocketLoop : public QObject, public std::enable_shared_from_this<SocketLoop> {
    Q_OBJECT
public:
    // Names a watched socket, for as long as it is watched only: never given out twice within 2^32 sockets.
    using Key = std::uint64_t;
    static constexpr Key kNoKey = 0;

    struct Interest {
        bool reading = false;
        bool writing = false;
        bool operator==(const Interest &) const = default;
    };

    // Of the calling thread, which must have an event dispatcher (a QCoreApplication, or a running QThread). EMFILE, ENFILE
    // or ENOMEM when there is no descriptor to be had.
    static Result<std::shared_ptr<SocketLoop>> create();
    ~SocketLoop() override;

    // Level-triggered. `handler` stays until unwatch(), which comes before the descriptor is closed. ENOSPC or ENOMEM when
    // the kernel cannot watch more.
    Result<Key> watch(int fd, Interest interest, SocketHandler &handler);
    void setInterest(Key key, Interest interest);
    // What is still to be dispatched for it in this turn is dropped. kNoKey is fine.
    void unwatch(Key key);

    // Calls sendQueued() once, when the event loop is about to wait: so what one turn writes to one client leaves in one
    // system call and wakes that client once.
    void callBeforeWait(Key key) { m_queued.push_back(key); }

    // Calls deadlineReached() after so many milliseconds; replaces the deadline there was. All deadlines share one timer,
    // which does not run while there is none. Moving a deadline on is cheap.
    void setDeadline(Key key, int milliseconds);
    void clearDeadline(Key key);

    int watchedCount() const { return m_watched; }

protected:
    void timerEvent(QTimerEvent *event) override;

private:
    using Clock = std::chrono::steady_clock;

    struct Slot {
        SocketHandler *handler = nullptr; // null: free
        int fd = -1;
        std::uint32_t serial = 0;
        Interest interest;
        Clock::time_point deadline; // the epoch: none
    };

    explicit SocketLoop(UniqueFd epoll);
    Slot *find(Key key);
    void dispatch();
    void callQueued();
    void wakeAt(Clock::time_point deadline);

    UniqueFd m_epoll;
    std::unique_ptr<QSocketNotifier> m_notifier;
    std::vector<Slot> m_slots;
    std::vector<std::uint32_t> m_freeSlots;
    std::vector<Key> m_queued;
    std::vector<Key> m_calling; // kept for its memory
    QBasicTimer m_timer;
    Clock::time_point m_timerDue;
    int m_watched = 0;
    int m_deadlines = 0;
    bool m_isDispatching = false;
};

} // namespace cortexfs::sockets
