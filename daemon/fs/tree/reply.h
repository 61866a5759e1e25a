// The answer to one request that may be given later and by another part. Exactly one answer leaves: the first; a Reply
// that is dropped says EIO. Move-only. What waits for the Qt thread gets its deadline from PendingChanges.
#pragma once

#include <cerrno>
#include <memory>
#include <utility>
#include <variant>

namespace cortexfs::fs {

using Ack = std::monostate;

template<typename T>
class Responder {
public:
    virtual ~Responder() = default;
    virtual void succeed(T value) = 0;
    virtual void fail(int error) = 0;
};

template<typename T>
class [[nodiscard]] Reply {
public:
    explicit Reply(std::unique_ptr<Responder<T>> responder) : m_responder(std::move(responder)) {}
    Reply(Reply &&) noexcept = default;
    Reply &operator=(Reply &&other) noexcept
    {
        if (this != &other) {
            fail(EIO);
            m_responder = std::move(other.m_responder);
        }
        return *this;
    }
    ~Reply() { fail(EIO); }

    void ok(T value = {})
    {
        if (auto responder = std::exchange(m_responder, nullptr))
            responder->succeed(std::move(value));
    }
    void fail(int error)
    {
        if (auto responder = std::exchange(m_responder, nullptr))
            responder->fail(error);
    }
    // error == 0 is success.
    void finish(int error, T value = {})
    {
        if (error)
            fail(error);
        else
            ok(std::move(value));
    }

private:
    std::unique_ptr<Responder<T>> m_responder;
};

// A reply whose answer is a step of our own: called once with an errno or 0.
template<typename Then>
Reply<Ack> replyThen(Then then)
{
    class Step : public Responder<Ack> {
    public:
        explicit Step(Then step) : m_then(std::move(step)) {}
        void succeed(Ack) override { m_then(0); }
        void fail(int error) override { m_then(error); }

    private:
        Then m_then;
    };
    return Reply<Ack>(std::make_unique<Step>(std::move(then)));
}

// For closures that std::function has to be able to copy.
template<typename T>
std::shared_ptr<Reply<T>> shareReply(Reply<T> reply)
{
    return std::make_shared<Reply<T>>(std::move(reply));
}

} // namespace cortexfs::fs
