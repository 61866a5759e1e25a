#include "daemon/fs/tree/pending_changes.h"

#include <algorithm>
#include <atomic>
#include <cerrno>

namespace cortexfs::fs {

// Outlives the PendingChanges: an outcome that comes after the end is thrown away here.
struct PendingChanges::Inbox {
    std::mutex mutex;
    std::vector<std::pair<std::uint64_t, int>> outcomes;
    std::function<void()> wake; // empty once nobody listens

    void put(std::uint64_t id, int error)
    {
        const std::lock_guard lock(mutex);
        if (!wake)
            return;
        outcomes.emplace_back(id, error);
        wake();
    }
};

// The other side's right to answer once. Dropping the last copy answers EIO.
class PendingChanges::Ticket {
public:
    Ticket(std::shared_ptr<Inbox> inbox, std::uint64_t id) : m_inbox(std::move(inbox)), m_id(id) {}
    ~Ticket() { answer(EIO); }
    void answer(int error)
    {
        if (!m_isAnswered.exchange(true))
            m_inbox->put(m_id, error);
    }

private:
    std::shared_ptr<Inbox> m_inbox;
    const std::uint64_t m_id;
    std::atomic<bool> m_isAnswered{false};
};

PendingChanges::PendingChanges(TreeChangeHandler &handler, WorkQueue &work, std::function<void()> wake,
                               const Clock &clock, int deadlineMs)
    : m_handler(handler), m_work(work), m_clock(clock), m_deadlineMs(deadlineMs), m_inbox(std::make_shared<Inbox>())
{
    m_inbox->wake = std::move(wake);
}

PendingChanges::~PendingChanges() { dropAll(); }

std::shared_ptr<PendingChanges::Ticket> PendingChanges::admit(Continuation then)
{
    const std::uint64_t id = ++m_lastId;
    m_waiting.emplace(id, Waiting{m_clock.monotonicMs() + m_deadlineMs, std::move(then)});
    return std::make_shared<Ticket>(m_inbox, id);
}

void PendingChanges::post(TreeChange change, Continuation then)
{
    if (m_isClosed)
        return then(EIO);
    auto ticket = admit(std::move(then));
    m_handler.postTreeChange(std::move(change), [ticket = std::move(ticket)](Result<void> outcome) {
        ticket->answer(outcome ? 0 : outcome.error().number());
    });
}

void PendingChanges::run(std::function<int()> job, Continuation then)
{
    if (m_isClosed)
        return then(EIO);
    auto ticket = admit(std::move(then));
    m_work.post([job = std::move(job), ticket = std::move(ticket)] { ticket->answer(job()); });
}

PendingChanges::Continuation PendingChanges::settling(NodeId node)
{
    m_settling.try_emplace(node);
    return [this, node](int) {
        auto held = m_settling.extract(node);
        if (held.empty())
            return;
        for (const auto &whenSettled : held.mapped())
            whenSettled();
    };
}

bool PendingChanges::defer(NodeId node, std::function<void()> whenSettled)
{
    if (m_settling.empty())
        return false;
    const auto found = m_settling.find(node);
    if (found == m_settling.end())
        return false;
    found->second.push_back(std::move(whenSettled));
    return true;
}

void PendingChanges::finish(std::uint64_t id, int error)
{
    auto entry = m_waiting.extract(id); // gone already: it ran into its deadline
    if (!entry.empty())
        entry.mapped().then(error);
}

void PendingChanges::deliver()
{
    std::vector<std::pair<std::uint64_t, int>> outcomes;
    {
        const std::lock_guard lock(m_inbox->mutex);
        outcomes.swap(m_inbox->outcomes);
    }
    for (const auto &[id, error] : outcomes)
        finish(id, error);
}

void PendingChanges::expire()
{
    if (m_waiting.empty())
        return;
    const std::int64_t now = m_clock.monotonicMs();
    std::vector<std::uint64_t> late;
    for (const auto &[id, waiting] : m_waiting) {
        if (waiting.deadlineMs <= now)
            late.push_back(id);
    }
    for (const std::uint64_t id : late)
        finish(id, ETIMEDOUT);
}

int PendingChanges::msToDeadline() const
{
    if (m_waiting.empty())
        return -1;
    std::int64_t next = m_waiting.begin()->second.deadlineMs;
    for (const auto &[id, waiting] : m_waiting)
        next = std::min(next, waiting.deadlineMs);
    return static_cast<int>(std::clamp<std::int64_t>(next - m_clock.monotonicMs(), 0, 60'000));
}

void PendingChanges::dropAll()
{
    {
        const std::lock_guard lock(m_inbox->mutex);
        m_inbox->wake = nullptr;
        m_inbox->outcomes.clear();
    }
    m_isClosed = true;
    while (!m_waiting.empty())
        finish(m_waiting.begin()->first, EIO);
}

} // namespace cortexfs::fs
