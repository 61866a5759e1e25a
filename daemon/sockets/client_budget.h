// How many clients all listeners of a process may have together, so that accepting stops before descriptors run out and
// those that the rest of the process needs stay free. Lives on the thread of its listeners, which share it.
#pragma once

#include <list>
#include <memory>
#include <utility>

namespace cortexfs::sockets {

class ClientBudget : public std::enable_shared_from_this<ClientBudget> {
public:
    // Somebody with clients at the door for whom there was no seat.
    class Waiter {
    public:
        // There is a seat now; others who wait may be faster. Only asks for a turn of its own: takes no seat here.
        virtual void seatsFreed() = 0;

    protected:
        ~Waiter() = default;
    };

    // One client's; given back when it goes.
    class Seat {
    public:
        Seat() = default;
        explicit Seat(std::shared_ptr<ClientBudget> budget) : m_budget(std::move(budget)) { ++m_budget->m_taken; }
        Seat(Seat &&other) noexcept = default;
        Seat &operator=(Seat &&other) noexcept
        {
            std::swap(m_budget, other.m_budget);
            return *this;
        }
        Seat(const Seat &) = delete;
        Seat &operator=(const Seat &) = delete;
        ~Seat()
        {
            if (m_budget)
                m_budget->giveBack();
        }

    private:
        std::shared_ptr<ClientBudget> m_budget;
    };

    static std::shared_ptr<ClientBudget> create(int most)
    {
        return std::shared_ptr<ClientBudget>(new ClientBudget(most));
    }

    int most() const { return m_most; }
    int taken() const { return m_taken; }
    bool isFull() const { return m_taken >= m_most; }
    // Not while it is full.
    Seat take() { return Seat(shared_from_this()); }

    // Until seatsFreed() or stopWaiting(). Who got a seat since it was last told waits behind those who did not, so that
    // one busy listener does not keep the others out.
    void wait(Waiter &waiter, bool hasBeenServed);
    void stopWaiting(Waiter &waiter);

private:
    explicit ClientBudget(int most) : m_most(most) {}
    void giveBack();

    int m_most;
    int m_taken = 0;
    std::list<Waiter *> m_unserved;
    std::list<Waiter *> m_served;
};

} // namespace cortexfs::sockets
