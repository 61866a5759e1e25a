#include "daemon/sockets/socket_loop.h"

#include <QAbstractEventDispatcher>
#include <QTimerEvent>

#include <algorithm>
#include <cerrno>

#include <sys/epoll.h>

namespace cortexfs::sockets {

namespace {

// Of one turn, so that posted events, timers and other descriptors get theirs. The kernel puts a socket that is still
// ready behind the others, so none of them waits for ever.
constexpr int kEventsPerTurn = 64;

std::uint32_t maskOf(SocketLoop::Interest interest)
{
    return (interest.reading ? std::uint32_t(EPOLLIN) : 0) | (interest.writing ? std::uint32_t(EPOLLOUT) : 0);
}

SocketLoop::Key keyOf(std::uint32_t index, std::uint32_t serial) { return std::uint64_t(serial) << 32 | index; }

} // namespace

Result<std::shared_ptr<SocketLoop>> SocketLoop::create()
{
    UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
    if (!epoll.isValid())
        return errors::fromErrno(errno, "epoll");
    return std::shared_ptr<SocketLoop>(new SocketLoop(std::move(epoll)));
}

SocketLoop::SocketLoop(UniqueFd epoll)
    : m_epoll(std::move(epoll)), m_notifier(std::make_unique<QSocketNotifier>(m_epoll.get(), QSocketNotifier::Read))
{
    connect(m_notifier.get(), &QSocketNotifier::activated, this, &SocketLoop::dispatch);
    // Before the wait comes what posted events wrote, at the next turn what was written after it; a loop that never waits
    // has the second alone.
    const QAbstractEventDispatcher *dispatcher = QAbstractEventDispatcher::instance();
    connect(dispatcher, &QAbstractEventDispatcher::aboutToBlock, this, &SocketLoop::callQueued);
    connect(dispatcher, &QAbstractEventDispatcher::awake, this, &SocketLoop::callQueued);
}

SocketLoop::~SocketLoop()
{
    // A closed descriptor must not stay in the event dispatcher.
    m_notifier->setEnabled(false);
    if (m_isDispatching)
        m_notifier.release()->deleteLater(); // it is the sender of the signal that brought us here
}

SocketLoop::Slot *SocketLoop::find(Key key)
{
    const auto index = static_cast<std::uint32_t>(key);
    if (index >= m_slots.size())
        return nullptr;
    Slot &slot = m_slots[index];
    return slot.handler && slot.serial == key >> 32 ? &slot : nullptr;
}

Result<SocketLoop::Key> SocketLoop::watch(int fd, Interest interest, SocketHandler &handler)
{
    if (m_freeSlots.empty()) {
        m_freeSlots.push_back(static_cast<std::uint32_t>(m_slots.size()));
        m_slots.emplace_back();
    }
    const std::uint32_t index = m_freeSlots.back();
    Slot &slot = m_slots[index];
    const std::uint32_t serial = std::max(slot.serial + 1, 1u); // no key is kNoKey
    epoll_event event = {};
    event.events = maskOf(interest);
    event.data.u64 = keyOf(index, serial);
    if (::epoll_ctl(m_epoll.get(), EPOLL_CTL_ADD, fd, &event) != 0)
        return errors::fromErrno(errno, "epoll");
    m_freeSlots.pop_back();
    slot = Slot{&handler, fd, serial, interest, {}};
    ++m_watched;
    return event.data.u64;
}

void SocketLoop::setInterest(Key key, Interest interest)
{
    Slot *slot = find(key);
    if (!slot || slot->interest == interest)
        return;
    slot->interest = interest;
    epoll_event event = {};
    event.events = maskOf(interest);
    event.data.u64 = key;
    ::epoll_ctl(m_epoll.get(), EPOLL_CTL_MOD, slot->fd, &event);
}

void SocketLoop::unwatch(Key key)
{
    Slot *slot = find(key);
    if (!slot)
        return;
    clearDeadline(key);
    // Closing alone would not do: a child between fork and exec has the same open file.
    ::epoll_ctl(m_epoll.get(), EPOLL_CTL_DEL, slot->fd, nullptr);
    slot->handler = nullptr;
    m_freeSlots.push_back(static_cast<std::uint32_t>(key));
    --m_watched;
}

void SocketLoop::dispatch()
{
    const std::shared_ptr<SocketLoop> self = shared_from_this();
    m_isDispatching = true;
    epoll_event events[kEventsPerTurn];
    const int count = ::epoll_wait(m_epoll.get(), events, kEventsPerTurn, 0);
    for (int i = 0; i < count; ++i) {
        const Key key = events[i].data.u64;
        const std::uint32_t what = events[i].events;
        const bool isGone = (what & (EPOLLHUP | EPOLLERR)) != 0;
        // Each call may have ended or changed the watch of this socket or of one further down: ask anew.
        if (Slot *slot = find(key); slot && slot->interest.reading && (isGone || (what & EPOLLIN) != 0))
            slot->handler->socketReadable();
        else if (slot && isGone)
            slot->handler->socketHungUp();
        if (Slot *slot = find(key); slot && slot->interest.writing && (what & EPOLLOUT) != 0)
            slot->handler->socketWritable();
    }
    if (self.use_count() > 1)
        m_isDispatching = false;
}

void SocketLoop::callQueued()
{
    if (m_queued.empty())
        return;
    const std::shared_ptr<SocketLoop> self = shared_from_this();
    m_calling.swap(m_queued);
    for (const Key key : m_calling) {
        if (Slot *slot = find(key))
            slot->handler->sendQueued();
    }
    m_calling.clear();
}

void SocketLoop::setDeadline(Key key, int milliseconds)
{
    Slot *slot = find(key);
    if (!slot)
        return;
    if (slot->deadline == Clock::time_point())
        ++m_deadlines;
    slot->deadline = Clock::now() + std::chrono::milliseconds(milliseconds);
    wakeAt(slot->deadline);
}

void SocketLoop::clearDeadline(Key key)
{
    Slot *slot = find(key);
    if (!slot || slot->deadline == Clock::time_point())
        return;
    slot->deadline = {};
    if (--m_deadlines == 0)
        m_timer.stop();
}

// The timer may run for a deadline that has moved on since: then it only looks for the next one.
void SocketLoop::wakeAt(Clock::time_point deadline)
{
    if (m_timer.isActive() && m_timerDue <= deadline)
        return;
    m_timerDue = deadline;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    m_timer.start(static_cast<int>(std::max<std::int64_t>(left, 0)), Qt::CoarseTimer, this);
}

void SocketLoop::timerEvent(QTimerEvent *event)
{
    if (event->timerId() != m_timer.timerId())
        return QObject::timerEvent(event);
    const std::shared_ptr<SocketLoop> self = shared_from_this();
    m_timer.stop();
    const Clock::time_point now = Clock::now();
    for (std::size_t index = 0; index < m_slots.size() && m_deadlines > 0; ++index) {
        Slot &slot = m_slots[index];
        if (!slot.handler || slot.deadline == Clock::time_point())
            continue;
        if (slot.deadline > now) {
            wakeAt(slot.deadline);
            continue;
        }
        clearDeadline(keyOf(static_cast<std::uint32_t>(index), slot.serial));
        slot.handler->deadlineReached();
    }
}

} // namespace cortexfs::sockets
