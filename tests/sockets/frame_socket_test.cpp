#include "common/base/limits.h"
#include "daemon/sockets/frame_socket.h"
#include "tests/common/test_strings.h"
#include "tests/sockets/raw_client.h"

#include <QElapsedTimer>
#include <QPointer>
#include <QTest>

#include <csignal>
#include <functional>
#include <memory>

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace cortexfs;
using namespace cortexfs::sockets;
using test::RawClient;

namespace {

// A FrameSocket and its peer, with what the socket said.
struct Pair {
    explicit Pair(int bufferBytes = 0)
    {
        int ends[2] = {};
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
            qFatal("socketpair");
        if (bufferBytes > 0)
            ::setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &bufferBytes, sizeof bufferBytes);
        socket = new FrameSocket(UniqueFd(ends[0]), Peer{1, 2, 3}, *SocketLoop::create());
        client = RawClient(UniqueFd(ends[1]));
        QObject::connect(socket, &FrameSocket::frameReceived, socket, [this](std::string_view frame) {
            frames += std::string(frame) + "|";
            if (onFrame)
                onFrame(frame);
        });
        QObject::connect(socket, &FrameSocket::frameTooLarge, socket, [this] { ++tooLarge; });
        QObject::connect(socket, &FrameSocket::readingEnded, socket, [this] { ++ended; });
        QObject::connect(socket, &FrameSocket::drained, socket, [this] { ++drained; });
        QObject::connect(socket, &FrameSocket::closed, socket, [this] { ++closed; });
    }
    ~Pair() { delete socket.data(); }
    Pair(const Pair &) = delete;
    Pair &operator=(const Pair &) = delete;

    QPointer<FrameSocket> socket;
    RawClient client;
    std::function<void(std::string_view)> onFrame;
    std::string frames;
    int tooLarge = 0;
    int ended = 0;
    int drained = 0;
    int closed = 0;
};

// Turns the event loop without a pause until the condition holds: QTRY_* look only every few tens of milliseconds,
// which is too slow where megabytes go through small buffers.
bool turnUntil(const std::function<bool()> &condition)
{
    QElapsedTimer timer;
    timer.start();
    while (!condition()) {
        if (timer.elapsed() > 30'000)
            return false;
        QCoreApplication::processEvents();
    }
    return true;
}

// Turns the event loop until nothing is left to do.
void settle()
{
    for (int i = 0; i < 20; ++i)
        QCoreApplication::processEvents();
}

} // namespace

class FrameSocketTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void framesSplitAtEachByte();
    void manyFramesInOnePiece();
    void theLargestFrame_data();
    void theLargestFrame();
    void aFrameThatNeverEnds();
    void halfClosedPeersGetTheirAnswer();
    void aLastFrameWithoutLineFeedCounts();
    void aFullCloseIsNoticed_data();
    void aFullCloseIsNoticed();
    void closeAfterAHalfCloseIsNoticed();
    void aSlowReaderIsBuffered();
    void closeAfterSendingDeliversEverything_data();
    void closeAfterSendingDeliversEverything();
    void nothingIsReadOrSentOnceClosing();
    void aPeerThatNeverReadsIsNotRead();
    void framesReadBeforeThePauseKeepTheirOrder();
    void aPeerThatTakesNothingIsDropped_data();
    void aPeerThatTakesNothingIsDropped();
    void aPausedPeerThatGoesIsNoticed();
    void sendingToAPeerThatIsGone();
    void deletedInItsOwnSignal_data();
    void deletedInItsOwnSignal();
    void sendFromWithinASignal();
    void aKilledPeer();
    void destroyedWithUnsentBytes();
};

void FrameSocketTest::framesSplitAtEachByte()
{
    const std::string bytes = "{\"op\":\"a\"}\n\n{\"op\":\"b\"}\r\n[]\n";
    for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
        Pair pair;
        QVERIFY(pair.client.send(bytes.substr(0, cut)));
        settle();
        QVERIFY(pair.client.send(bytes.substr(cut)));
        QTRY_COMPARE(pair.frames, std::string("{\"op\":\"a\"}|{\"op\":\"b\"}|[]|"));
    }
    Pair pair;
    for (const char &c : bytes) {
        QVERIFY(pair.client.send(std::string_view(&c, 1)));
        QCoreApplication::processEvents();
    }
    QTRY_COMPARE(pair.frames, std::string("{\"op\":\"a\"}|{\"op\":\"b\"}|[]|"));
    QCOMPARE(pair.socket->peer().uid, uid_t(1));
    QCOMPARE(pair.socket->peer().pid, pid_t(3));
}

void FrameSocketTest::manyFramesInOnePiece()
{
    Pair pair;
    int count = 0;
    pair.onFrame = [&](std::string_view) { ++count; };
    std::string bytes;
    for (int i = 0; i < 100'000; ++i)
        bytes += "{}\n";
    std::string_view left = bytes;
    QElapsedTimer timer;
    timer.start();
    while (!left.empty() && timer.elapsed() < 10'000) {
        left.remove_prefix(pair.client.offer(left));
        QCoreApplication::processEvents();
    }
    QTRY_COMPARE(count, 100'000);
}

void FrameSocketTest::theLargestFrame_data()
{
    QTest::addColumn<int>("size"); // with LF
    QTest::addColumn<bool>("ok");
    QTest::newRow("exactly 1 MiB with its line feed") << static_cast<int>(limits::kFrame) << true;
    QTest::newRow("one byte more") << static_cast<int>(limits::kFrame) + 1 << false;
}

void FrameSocketTest::theLargestFrame()
{
    QFETCH(int, size);
    QFETCH(bool, ok);
    Pair pair;
    std::size_t got = 0;
    pair.onFrame = [&](std::string_view frame) { got = frame.size(); };
    const std::string bytes = std::string(static_cast<std::size_t>(size) - 1, 'x') + "\n";
    std::string_view left = bytes;
    QVERIFY(turnUntil([&] { return left.remove_prefix(pair.client.offer(left)), left.empty() || pair.tooLarge > 0; }));
    QTRY_COMPARE(pair.tooLarge, ok ? 0 : 1);
    if (ok)
        QTRY_COMPARE(got, static_cast<std::size_t>(size) - 1);
    else
        QCOMPARE(pair.frames, std::string());
    QVERIFY(pair.socket->isOpen()); // what to answer is the owner's decision
}

void FrameSocketTest::aFrameThatNeverEnds()
{
    Pair pair;
    QObject::connect(pair.socket, &FrameSocket::frameTooLarge, pair.socket, [&] {
        pair.socket->send("EMSGSIZE\n");
        pair.socket->closeAfterSending();
    });
    const std::string block(65536, 'x');
    std::size_t sent = 0;
    QVERIFY(turnUntil([&] { return sent += pair.client.offer(block), pair.closed > 0; }));
    QCOMPARE(pair.tooLarge, 1);
    // Not much more than the limit and what the kernel holds was taken.
    QVERIFY2(sent < 4 * limits::kFrame, std::to_string(sent).c_str());
    QTRY_VERIFY(pair.client.isAtEnd());
    QCOMPARE(pair.client.received(), std::string("EMSGSIZE\n"));
}

void FrameSocketTest::halfClosedPeersGetTheirAnswer()
{
    Pair pair;
    QVERIFY(pair.client.send("{}\n"));
    pair.client.halfClose();
    QTRY_COMPARE(pair.ended, 1);
    QCOMPARE(pair.frames, std::string("{}|"));
    settle();
    QCOMPARE(pair.closed, 0);
    QVERIFY(pair.socket->isOpen());
    pair.socket->send("answer\n");
    QTRY_COMPARE(pair.client.received(), std::string("answer\n"));
    pair.socket->closeAfterSending();
    QTRY_COMPARE(pair.closed, 1);
    QTRY_VERIFY(pair.client.isAtEnd());
}

void FrameSocketTest::aLastFrameWithoutLineFeedCounts()
{
    Pair pair;
    std::string order;
    pair.onFrame = [&](std::string_view) { order += pair.ended ? "late " : "frame "; };
    QVERIFY(pair.client.send("{\"a\":1}\n{\"b\":2}"));
    pair.client.halfClose();
    QTRY_COMPARE(pair.ended, 1);
    QCOMPARE(pair.frames, std::string("{\"a\":1}|{\"b\":2}|"));
    QCOMPARE(order, std::string("frame frame "));
}

void FrameSocketTest::aFullCloseIsNoticed_data()
{
    QTest::addColumn<std::string>("before");
    QTest::newRow("without a word") << std::string();
    QTest::newRow("behind a frame") << std::string("{}\n");
    QTest::newRow("inside a frame") << std::string("{\"op\"");
}

void FrameSocketTest::aFullCloseIsNoticed()
{
    QFETCH(std::string, before);
    Pair pair;
    QVERIFY(pair.client.send(before));
    pair.client.close();
    QTRY_COMPARE(pair.closed, 1);
    QVERIFY(!pair.socket->isOpen());
    QCOMPARE(pair.frames, std::string(before == "{}\n" ? "{}|" : ""));
    pair.socket->send("into the void\n");
    pair.socket->closeAfterSending();
    settle();
    QCOMPARE(pair.closed, 1); // once
}

void FrameSocketTest::closeAfterAHalfCloseIsNoticed()
{
    Pair pair;
    pair.client.halfClose();
    QTRY_COMPARE(pair.ended, 1);
    settle();
    QCOMPARE(pair.closed, 0);
    pair.client.close();
    QTRY_COMPARE(pair.closed, 1);
}

void FrameSocketTest::aSlowReaderIsBuffered()
{
    Pair pair(4096);
    std::string sent;
    for (int i = 0; pair.socket->unsent() < 300'000; ++i) {
        const std::string line = "line " + std::to_string(i) + " " + std::string(200, 'x') + "\n";
        sent += line;
        pair.socket->send(line);
    }
    settle();
    QCOMPARE(pair.drained, 0);
    const std::size_t before = pair.socket->unsent();
    pair.client.pump(10'000);
    QTRY_VERIFY(pair.socket->unsent() < before);
    QCOMPARE(pair.drained, 0);
    QVERIFY(turnUntil([&] { return pair.client.received().size() == sent.size(); }));
    QVERIFY(pair.client.received() == sent);
    QTRY_COMPARE(pair.drained, 1);
    QCOMPARE(pair.socket->unsent(), std::size_t(0));
    settle();
    QCOMPARE(pair.drained, 1);
    pair.socket->send("more\n");
    QTRY_VERIFY(pair.client.received().ends_with("\nmore\n"));
}

void FrameSocketTest::closeAfterSendingDeliversEverything_data()
{
    QTest::addColumn<int>("bytes");
    QTest::addColumn<bool>("peerStillSends");
    QTest::newRow("nothing") << 0 << false;
    QTest::newRow("a line") << 100 << false;
    QTest::newRow("five megabytes") << 5'000'000 << false;
    QTest::newRow("five megabytes to a peer that still sends") << 5'000'000 << true;
}

void FrameSocketTest::closeAfterSendingDeliversEverything()
{
    QFETCH(int, bytes);
    QFETCH(bool, peerStillSends);
    Pair pair(4096);
    std::string all;
    for (int i = 0; static_cast<int>(all.size()) < bytes; ++i)
        all += "line " + std::to_string(i) + "\n";
    pair.socket->send(all);
    pair.socket->closeAfterSending();
    pair.socket->send("too late\n");
    if (peerStillSends)
        QVERIFY(pair.client.send("{}\n{}\n"));
    QVERIFY(turnUntil([&] { return pair.client.isAtEnd(); }));
    QVERIFY(pair.client.received() == all);
    QTRY_COMPARE(pair.closed, 1);
    QCOMPARE(pair.frames, std::string());
}

void FrameSocketTest::nothingIsReadOrSentOnceClosing()
{
    Pair pair;
    pair.onFrame = [&](std::string_view frame) {
        pair.socket->send(std::string(frame) + "\n");
        pair.socket->closeAfterSending();
    };
    QVERIFY(pair.client.send("1\n2\n3\n"));
    QTRY_COMPARE(pair.closed, 1);
    QCOMPARE(pair.frames, std::string("1|"));
    QTRY_VERIFY(pair.client.isAtEnd());
    QCOMPARE(pair.client.received(), std::string("1\n"));
}

void FrameSocketTest::aPeerThatNeverReadsIsNotRead()
{
    // A client that asks a hundred thousand times and reads no answer must not cost us a gigabyte.
    Pair pair;
    const std::string answer(10'000, 'a');
    int asked = 0;
    pair.onFrame = [&](std::string_view) {
        ++asked;
        pair.socket->send(answer + "\n");
    };
    std::string requests;
    for (int i = 0; i < 1000; ++i)
        requests += "{}\n";
    std::size_t given = 0;
    for (int i = 0; i < 300; ++i) {
        given += pair.client.offer(requests);
        QCoreApplication::processEvents();
        QVERIFY2(pair.socket->unsent() < FrameSocket::kMostUnsent + 2 * answer.size(),
                 std::to_string(pair.socket->unsent()).c_str());
    }
    QVERIFY(asked < 1000);
    const int before = asked;
    settle();
    QCOMPARE(asked, before);
    // Once it reads, all that it asked is answered.
    const std::size_t expected = given / 3 * (answer.size() + 1);
    std::size_t got = 0;
    QVERIFY(turnUntil([&] { return got += pair.client.take().size(), got == expected; }));
    QCOMPARE(static_cast<std::size_t>(asked), given / 3);
}

void FrameSocketTest::framesReadBeforeThePauseKeepTheirOrder()
{
    Pair pair;
    pair.onFrame = [&](std::string_view frame) {
        pair.socket->send(std::string(400'000, 'a') + std::string(frame) + "\n");
    };
    std::string requests;
    std::string expected;
    for (int i = 0; i < 60; ++i) {
        requests += std::to_string(i) + "\n";
        expected += std::to_string(i) + "|";
    }
    QVERIFY(pair.client.send(requests));
    pair.client.halfClose();
    settle();
    QVERIFY(pair.frames.size() < expected.size());
    QCOMPARE(pair.ended, 0);
    QVERIFY(turnUntil([&] { return pair.client.take(), pair.ended == 1; }));
    QCOMPARE(pair.frames, expected);
}

void FrameSocketTest::aPeerThatTakesNothingIsDropped_data()
{
    QTest::addColumn<bool>("hasLimit");
    QTest::addColumn<bool>("isReading");
    QTest::newRow("it has a limit and takes nothing") << true << false;
    QTest::newRow("it has a limit and takes a little now and then") << true << true;
    QTest::newRow("it may take its time") << false << false;
}

void FrameSocketTest::aPeerThatTakesNothingIsDropped()
{
    QFETCH(bool, hasLimit);
    QFETCH(bool, isReading);
    constexpr int kLimitMs = 200;
    Pair pair(4096);
    if (hasLimit)
        pair.socket->setStallLimit(kLimitMs);
    const std::string line = std::string(limits::kMiB - 1, 'x') + "\n";
    pair.socket->send(line);
    QElapsedTimer timer;
    timer.start();
    // Twice the time that it may stay still; a reader takes something every few turns.
    QVERIFY(turnUntil([&] {
        if (isReading)
            pair.client.pump(1024);
        return pair.closed > 0 || timer.elapsed() > 2 * kLimitMs;
    }));
    QCOMPARE(pair.closed > 0, hasLimit && !isReading);
    QCOMPARE(pair.socket->isOpen(), !(hasLimit && !isReading));
}

void FrameSocketTest::aPausedPeerThatGoesIsNoticed()
{
    Pair pair;
    pair.onFrame = [&](std::string_view) { pair.socket->send(std::string(1'000'000, 'a') + "\n"); };
    QVERIFY(pair.client.send("1\n2\n3\n4\n5\n6\n7\n8\n9\n"));
    QTRY_VERIFY(pair.socket->unsent() > FrameSocket::kMostUnsent);
    settle();
    QVERIFY(pair.frames.size() < 18);
    pair.client.close();
    QTRY_COMPARE(pair.closed, 1);
}

void FrameSocketTest::sendingToAPeerThatIsGone()
{
    Pair pair;
    pair.client.close();
    pair.socket->send("x\n"); // fails inside send: closed() comes later, not from within
    QCOMPARE(pair.closed, 0);
    QTRY_COMPARE(pair.closed, 1);
}

void FrameSocketTest::deletedInItsOwnSignal_data()
{
    QTest::addColumn<std::string>("signal");
    for (const char *name : {"frameReceived", "frameTooLarge", "readingEnded", "drained", "closed"})
        QTest::newRow(name) << std::string(name);
}

void FrameSocketTest::deletedInItsOwnSignal()
{
    QFETCH(std::string, signal);
    Pair pair(4096);
    FrameSocket *socket = pair.socket;
    const auto destroy = [socket] { delete socket; };
    if (signal == "frameReceived") {
        QObject::connect(socket, &FrameSocket::frameReceived, this, destroy);
        QVERIFY(pair.client.send("1\n2\n3\n"));
    } else if (signal == "frameTooLarge") {
        QObject::connect(socket, &FrameSocket::frameTooLarge, this, destroy);
    } else if (signal == "readingEnded") {
        QObject::connect(socket, &FrameSocket::readingEnded, this, destroy);
        pair.client.halfClose();
    } else if (signal == "drained") {
        QObject::connect(socket, &FrameSocket::drained, this, destroy);
        socket->send(std::string(100'000, 'x'));
        QVERIFY(socket->unsent() > 0);
    } else {
        QObject::connect(socket, &FrameSocket::closed, this, destroy);
        pair.client.close();
    }
    const std::string block(65536, 'x');
    const auto step = [&] {
        if (signal == "frameTooLarge")
            pair.client.offer(block);
        pair.client.pump();
        return pair.socket.isNull();
    };
    QVERIFY(turnUntil(step));
    settle();
}

void FrameSocketTest::sendFromWithinASignal()
{
    Pair pair;
    pair.onFrame = [&](std::string_view frame) { pair.socket->send(std::string(frame) + std::string(frame) + "\n"); };
    QVERIFY(pair.client.send("a\nb\n"));
    QTRY_COMPARE(pair.client.received(), std::string("aa\nbb\n"));
}

void FrameSocketTest::aKilledPeer()
{
    int ends[2] = {};
    QCOMPARE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    const pid_t child = ::fork();
    QVERIFY(child >= 0);
    if (child == 0) {
        ::close(ends[0]);
        if (::write(ends[1], "{}\n{\"op", 7) != 7)
            ::_exit(1);
        for (;;)
            ::pause();
    }
    ::close(ends[1]);
    FrameSocket socket{UniqueFd(ends[0]), Peer{}, *SocketLoop::create()};
    int frames = 0;
    int closed = 0;
    QObject::connect(&socket, &FrameSocket::frameReceived, &socket, [&](std::string_view) { ++frames; });
    QObject::connect(&socket, &FrameSocket::closed, &socket, [&] { ++closed; });
    QTRY_COMPARE(frames, 1);
    socket.send(std::string(3'000'000, 'x')); // more than the kernel holds
    QVERIFY(socket.unsent() > 0);
    ::kill(child, SIGKILL);
    QCOMPARE(::waitpid(child, nullptr, 0), child);
    QTRY_COMPARE(closed, 1);
    QCOMPARE(frames, 1);
    QCOMPARE(socket.unsent(), std::size_t(0));
}

void FrameSocketTest::destroyedWithUnsentBytes()
{
    auto pair = std::make_unique<Pair>();
    pair->socket->send(std::string(2'000'000, 'x'));
    delete pair->socket.data();
    QTRY_VERIFY(pair->client.isAtEnd());
}

QTEST_GUILESS_MAIN(FrameSocketTest)
#include "frame_socket_test.moc"
