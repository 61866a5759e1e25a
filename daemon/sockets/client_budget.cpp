#include "daemon/sockets/client_budget.h"

namespace cortexfs::sockets {

void ClientBudget::wait(Waiter &waiter, bool hasBeenServed)
{
    stopWaiting(waiter);
    (hasBeenServed ? m_served : m_unserved).push_back(&waiter);
}

void ClientBudget::stopWaiting(Waiter &waiter)
{
    m_unserved.remove(&waiter);
    m_served.remove(&waiter);
}

void ClientBudget::giveBack()
{
    --m_taken;
    if (isFull())
        return;
    // All of them: the client for whom one waits may have left by now, and its seat must not be lost to the others.
    std::list<Waiter *> waiters;
    waiters.swap(m_unserved);
    waiters.splice(waiters.end(), m_served);
    for (Waiter *waiter : waiters)
        waiter->seatsFreed();
}

} // namespace cortexfs::sockets
