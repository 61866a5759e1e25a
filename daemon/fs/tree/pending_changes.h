// Changes that were handed to another thread and whose requests wait for the outcome. Every one ends exactly once: with
// the outcome, with ETIMEDOUT at its deadline, or with EIO when it was dropped by the other side or by a stop. The
// continuations run on the answering thread, so the tree needs no lock.
#pragma once

#include "common/base/clock.h"
#include "daemon/fs/tree/node_id.h"
#include "daemon/fs/tree/work_queue.h"
#include "daemon/snapshot/tree_change.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace cortexfs::fs {

class PendingChanges {
public:
    using Continuation = std::function<void(int error)>;

    // `wake` makes the answering thread call deliver() soon; it is called from any thread and must not block.
    PendingChanges(TreeChangeHandler &handler, WorkQueue &work, std::function<void()> wake, const Clock &clock,
                   int deadlineMs);
    ~PendingChanges();

    void post(TreeChange change, Continuation then);
    // Runs `job` on the work queue; it gives an errno or 0.
    void run(std::function<int()> job, Continuation then);

    // A change whose asker is gone (the last close of a truncated file). Opens of the node wait for it, so that the
    // next reader does not see the old text.
    [[nodiscard]] Continuation settling(NodeId node);
    // True: `whenSettled` will run later. False: nothing is in flight for the node.
    bool defer(NodeId node, std::function<void()> whenSettled);

    // The other side's outcomes that arrived; called after wake.
    void deliver();
    // Ends what is over its deadline.
    void expire();
    // Milliseconds until expire() has work; -1 when nothing waits.
    int msToDeadline() const;
    // Ends everything with EIO, for good: what is posted later ends at once.
    void dropAll();

private:
    struct Inbox;
    class Ticket;
    struct Waiting {
        std::int64_t deadlineMs = 0;
        Continuation then;
    };

    std::shared_ptr<Ticket> admit(Continuation then);
    void finish(std::uint64_t id, int error);

    TreeChangeHandler &m_handler;
    WorkQueue &m_work;
    const Clock &m_clock;
    const int m_deadlineMs;
    bool m_isClosed = false;
    std::uint64_t m_lastId = 0;
    std::unordered_map<std::uint64_t, Waiting> m_waiting;
    std::unordered_map<NodeId, std::vector<std::function<void()>>> m_settling;
    std::shared_ptr<Inbox> m_inbox;
};

} // namespace cortexfs::fs
