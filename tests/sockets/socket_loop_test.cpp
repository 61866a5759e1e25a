#include "daemon/sockets/frame_socket.h"
#include "daemon/sockets/socket_loop.h"
#include "tests/sockets/raw_client.h"

#include <QCoreApplication>
#include <QTest>

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <sys/socket.h>

using namespace cortexfs;
using namespace cortexfs::sockets;
using test::RawClient;

namespace {

std::shared_ptr<SocketLoop> newLoop() { return *SocketLoop::create(); }

// One end of a pair, watched for reading; the other end is `peer`.
class Watched : public SocketHandler {
public:
    explicit Watched(const std::shared_ptr<SocketLoop> &sharedLoop) : loop(sharedLoop)
    {
        int ends[2] = {};
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
            qFatal("socketpair");
        fd = UniqueFd(ends[0]);
        peer = RawClient(UniqueFd(ends[1]));
        key = *loop->watch(fd.get(), {true, false}, *this);
    }
    virtual ~Watched() { loop->unwatch(key); }
    Watched(const Watched &) = delete;
    Watched &operator=(const Watched &) = delete;

    void socketReadable() override
    {
        ++readable;
        char byte = 0;
        if (::recv(fd.get(), &byte, 1, MSG_DONTWAIT) == 1 && onReadable)
            onReadable();
    }
    void socketWritable() override { ++writable; }
    void socketHungUp() override { ++hungUp; }
    void sendQueued() override
    {
        ++queued;
        if (onQueued)
            onQueued();
    }
    void deadlineReached() override
    {
        ++deadlines;
        if (onDeadline)
            onDeadline();
    }

    std::shared_ptr<SocketLoop> loop;
    UniqueFd fd;
    RawClient peer;
    SocketLoop::Key key = SocketLoop::kNoKey;
    std::function<void()> onReadable;
    std::function<void()> onQueued;
    std::function<void()> onDeadline;
    int readable = 0;
    int writable = 0;
    int hungUp = 0;
    int queued = 0;
    int deadlines = 0;
};

void settle()
{
    for (int i = 0; i < 20; ++i)
        QCoreApplication::processEvents();
}

// A framed client and its peer on a loop that is shared.
struct Client {
    explicit Client(const std::shared_ptr<SocketLoop> &loop)
    {
        int ends[2] = {};
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
            qFatal("socketpair");
        socket = std::make_unique<FrameSocket>(UniqueFd(ends[0]), Peer{}, loop);
        peer = RawClient(UniqueFd(ends[1]));
        QObject::connect(socket.get(), &FrameSocket::closed, socket.get(), [this] { ++closed; });
        QObject::connect(socket.get(), &FrameSocket::frameReceived, socket.get(),
                         [this](std::string_view frame) { frames.emplace_back(frame); });
    }
    std::unique_ptr<FrameSocket> socket;
    RawClient peer;
    std::vector<std::string> frames;
    int closed = 0;
};

} // namespace

class SocketLoopTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aHandlerMayEndAnotherReadySocket_data();
    void aHandlerMayEndAnotherReadySocket();
    void aPlaceGivenToAnotherIsNotMistaken();
    void theLastOwnerGoesInItsOwnHandler_data();
    void theLastOwnerGoesInItsOwnHandler();
    void moreReadySocketsThanOneTurnTakes();
    void aHangUpIsToldWhereNothingIsRead();
    void onlyWhatIsAskedForIsTold();
    void queuedOnceForEachCall();
    void deadlines();
    void aDeadlineMayEndAnotherThatIsDueToo();
    void aStalledReaderIsDroppedAndOnlyIt();
    void aStalledReaderThatIsBeingClosedIsDropped();
    void withoutALimitNobodyIsDropped();
    void framesCutAndJoinedAtRandom();
};

void SocketLoopTest::aHandlerMayEndAnotherReadySocket_data()
{
    QTest::addColumn<int>("count");
    QTest::newRow("two sockets") << 2;
    QTest::newRow("more than one turn takes") << 200;
}

void SocketLoopTest::aHandlerMayEndAnotherReadySocket()
{
    QFETCH(int, count);
    const auto loop = newLoop();
    std::vector<std::unique_ptr<Watched>> sockets;
    int told = 0;
    for (int i = 0; i < count; ++i) {
        sockets.push_back(std::make_unique<Watched>(loop));
        Watched *self = sockets.back().get();
        // Whoever is first ends all others, which are ready as well.
        self->onReadable = [&, self] {
            ++told;
            for (auto &other : sockets) {
                if (other.get() != self)
                    other.reset();
            }
        };
    }
    for (auto &socket : sockets)
        QVERIFY(socket->peer.send("x"));
    QTRY_COMPARE(told, 1);
    settle();
    QCOMPARE(told, 1);
    QCOMPARE(loop->watchedCount(), 1);
}

void SocketLoopTest::aPlaceGivenToAnotherIsNotMistaken()
{
    const auto loop = newLoop();
    auto first = std::make_unique<Watched>(loop);
    auto second = std::make_unique<Watched>(loop);
    std::unique_ptr<Watched> heir;
    const auto replace = [&](std::unique_ptr<Watched> &other) {
        const SocketLoop::Key before = other->key;
        other.reset();
        heir = std::make_unique<Watched>(loop); // takes the place that is free
        QCOMPARE(static_cast<std::uint32_t>(heir->key), static_cast<std::uint32_t>(before));
        QVERIFY(heir->key != before);
        loop->setInterest(before, {false, true});
        loop->callBeforeWait(before);
        loop->setDeadline(before, 0);
        loop->unwatch(before);
    };
    first->onReadable = [&] { replace(second); };
    second->onReadable = [&] { replace(first); };
    QVERIFY(first->peer.send("x"));
    QVERIFY(second->peer.send("x"));
    QTRY_VERIFY(heir);
    settle();
    QCOMPARE(heir->readable, 0);
    QCOMPARE(heir->writable, 0);
    QCOMPARE(heir->queued, 0);
    QCOMPARE(heir->deadlines, 0);
    QVERIFY(heir->peer.send("x"));
    QTRY_COMPARE(heir->readable, 1);
}

void SocketLoopTest::theLastOwnerGoesInItsOwnHandler_data()
{
    QTest::addColumn<std::string>("handler");
    for (const char *name : {"readable", "before the wait", "deadline"})
        QTest::newRow(name) << std::string(name);
}

void SocketLoopTest::theLastOwnerGoesInItsOwnHandler()
{
    QFETCH(std::string, handler);
    auto loop = newLoop();
    const std::weak_ptr<SocketLoop> seen = loop;
    auto *socket = new Watched(loop);
    const SocketLoop::Key key = socket->key;
    socket->onReadable = socket->onQueued = socket->onDeadline = [socket] { delete socket; };
    if (handler == "readable")
        QVERIFY(socket->peer.send("x"));
    else if (handler == "deadline")
        loop->setDeadline(key, 1);
    else
        loop->callBeforeWait(key);
    loop.reset();
    QTRY_VERIFY(seen.expired());
    settle();
}

void SocketLoopTest::moreReadySocketsThanOneTurnTakes()
{
    // Each stays ready (one byte of many is read), so that those at the end must not wait for those at the front.
    const auto loop = newLoop();
    std::vector<std::unique_ptr<Watched>> sockets;
    for (int i = 0; i < 300; ++i) {
        sockets.push_back(std::make_unique<Watched>(loop));
        QVERIFY(sockets.back()->peer.send(std::string(10'000, 'x')));
    }
    const auto least = [&] {
        int count = sockets.front()->readable;
        for (const auto &socket : sockets)
            count = std::min(count, socket->readable);
        return count;
    };
    const auto most = [&] {
        int count = 0;
        for (const auto &socket : sockets)
            count = std::max(count, socket->readable);
        return count;
    };
    for (int turn = 0; turn < 1000 && most() < 10; ++turn)
        QCoreApplication::processEvents();
    QVERIFY2(least() >= 8, std::to_string(least()).c_str());
}

void SocketLoopTest::aHangUpIsToldWhereNothingIsRead()
{
    const auto loop = newLoop();
    Watched quiet(loop);
    loop->setInterest(quiet.key, {false, false});
    quiet.peer.halfClose();
    settle();
    QCOMPARE(quiet.hungUp, 0);
    quiet.peer.close();
    QTRY_VERIFY(quiet.hungUp > 0);
    QCOMPARE(quiet.readable, 0);
    Watched reading(loop);
    reading.peer.close();
    QTRY_VERIFY(reading.readable > 0);
    QCOMPARE(reading.hungUp, 0);
}

void SocketLoopTest::onlyWhatIsAskedForIsTold()
{
    const auto loop = newLoop();
    Watched socket(loop);
    loop->setInterest(socket.key, {false, true});
    QVERIFY(socket.peer.send("x"));
    QTRY_VERIFY(socket.writable > 0);
    QCOMPARE(socket.readable, 0);
    loop->setInterest(socket.key, {true, false});
    const int before = socket.writable;
    QTRY_COMPARE(socket.readable, 1);
    QCOMPARE(socket.writable, before);
}

void SocketLoopTest::queuedOnceForEachCall()
{
    const auto loop = newLoop();
    Watched socket(loop);
    Watched ended(loop);
    loop->callBeforeWait(socket.key);
    loop->callBeforeWait(ended.key);
    loop->unwatch(ended.key);
    QCOMPARE(socket.queued, 0);
    QTRY_COMPARE(socket.queued, 1);
    settle();
    QCOMPARE(socket.queued, 1);
    QCOMPARE(ended.queued, 0);
}

void SocketLoopTest::deadlines()
{
    const auto loop = newLoop();
    Watched late(loop);
    Watched soon(loop);
    Watched cleared(loop);
    loop->setDeadline(late.key, 3'600'000);
    loop->setDeadline(soon.key, 3'600'000);
    loop->setDeadline(soon.key, 20); // earlier than the one there was
    loop->setDeadline(cleared.key, 1);
    loop->clearDeadline(cleared.key);
    QTRY_COMPARE(soon.deadlines, 1);
    settle();
    QCOMPARE(soon.deadlines, 1);
    QCOMPARE(late.deadlines, 0);
    QCOMPARE(cleared.deadlines, 0);
}

void SocketLoopTest::aDeadlineMayEndAnotherThatIsDueToo()
{
    const auto loop = newLoop();
    auto first = std::make_unique<Watched>(loop);
    auto second = std::make_unique<Watched>(loop);
    int reached = 0;
    first->onDeadline = [&] { ++reached, second.reset(); };
    second->onDeadline = [&] { ++reached, first.reset(); };
    loop->setDeadline(first->key, 1);
    loop->setDeadline(second->key, 1);
    QTRY_COMPARE(reached, 1);
    settle();
    QCOMPARE(reached, 1);
    QCOMPARE(loop->watchedCount(), 1);
}

void SocketLoopTest::aStalledReaderIsDroppedAndOnlyIt()
{
    const auto loop = newLoop();
    Client stalled(loop);
    Client slow(loop);
    Client idle(loop);
    Client unlimited(loop);
    const std::string much(4'000'000, 'x');
    for (Client *client : {&stalled, &slow, &idle})
        client->socket->setStallLimit(200);
    for (Client *client : {&stalled, &slow, &unlimited})
        client->socket->send(much + "\n");
    QVERIFY(stalled.socket->unsent() > 0);
    QVERIFY(QTest::qWaitFor(
        [&] {
            // Fewer bytes than make the kernel say that there is room again.
            slow.peer.pump(70'000);
            slow.peer.take();
            return stalled.closed > 0;
        },
        30'000));
    settle();
    QCOMPARE(stalled.closed, 1);
    QVERIFY(!stalled.socket->isOpen());
    QVERIFY(stalled.peer.isAtEnd());
    for (Client *client : {&slow, &idle, &unlimited}) {
        QCOMPARE(client->closed, 0);
        QVERIFY(client->socket->isOpen());
    }
    // A limit that comes while it is blocked counts from then.
    unlimited.socket->setStallLimit(20);
    QTRY_COMPARE(unlimited.closed, 1);
    QCOMPARE(idle.closed, 0);
}

void SocketLoopTest::aStalledReaderThatIsBeingClosedIsDropped()
{
    const auto loop = newLoop();
    Client client(loop);
    client.socket->setStallLimit(20);
    client.socket->send(std::string(4'000'000, 'x'));
    client.socket->closeAfterSending();
    QVERIFY(client.socket->isOpen());
    QTRY_COMPARE(client.closed, 1);
    QCOMPARE(loop->watchedCount(), 0);
}

void SocketLoopTest::withoutALimitNobodyIsDropped()
{
    const auto loop = newLoop();
    Client limited(loop);
    Client lifted(loop);
    for (Client *client : {&limited, &lifted}) {
        client->socket->setStallLimit(20);
        client->socket->send(std::string(4'000'000, 'x'));
    }
    lifted.socket->setStallLimit(0);
    QTRY_COMPARE(limited.closed, 1);
    settle();
    QCOMPARE(lifted.closed, 0);
}

void SocketLoopTest::framesCutAndJoinedAtRandom()
{
    const unsigned seed = std::random_device()();
    std::mt19937 random(seed);
    const auto upTo = [&](std::size_t most) { return std::uniform_int_distribution<std::size_t>(0, most)(random); };
    const auto loop = newLoop();
    std::vector<std::unique_ptr<Client>> clients;
    std::vector<std::vector<std::string>> expected;
    std::vector<std::string> bytes;
    for (int i = 0; i < 20; ++i) {
        clients.push_back(std::make_unique<Client>(loop));
        expected.emplace_back();
        bytes.emplace_back();
        for (int frame = 0; frame < 200; ++frame) {
            const std::size_t size = frame % 50 == 49 ? upTo(200'000) : upTo(300);
            expected.back().push_back("f" + std::string(size, static_cast<char>('a' + upTo(25))));
            bytes.back() += expected.back().back() + (upTo(3) == 0 ? "\r\n" : "\n") + (upTo(9) == 0 ? "\n" : "");
        }
    }
    std::vector<std::size_t> given(clients.size());
    for (bool isMore = true; isMore;) {
        isMore = false;
        for (std::size_t i = 0; i < clients.size(); ++i) {
            const std::size_t piece = upTo(9) == 0 ? upTo(100'000) : upTo(700);
            given[i] += clients[i]->peer.offer(std::string_view(bytes[i]).substr(given[i], piece));
            isMore = isMore || given[i] < bytes[i].size();
        }
        if (upTo(3) > 0)
            QCoreApplication::processEvents();
    }
    for (std::size_t i = 0; i < clients.size(); ++i) {
        QTRY_COMPARE(clients[i]->frames.size(), expected[i].size());
        QVERIFY2(clients[i]->frames == expected[i], ("seed " + std::to_string(seed)).c_str());
    }
}

QTEST_GUILESS_MAIN(SocketLoopTest)
#include "socket_loop_test.moc"
