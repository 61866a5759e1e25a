// The half of the suite that is about connections: when they are used again, when they are closed.
#include "tests/providers/transport_conformance.h"

#include <QCoreApplication>
#include <QDeadlineTimer>
#include <QPointer>
#include <QTest>
#include <QThread>

#include <algorithm>
#include <filesystem>
#include <vector>

#include <fcntl.h>

namespace cortexfs::test {

using providers::CurlTransport;
using providers::HttpRequest;

void TransportConformance::postIsSentOnceWhenThePeerClosesBeforeReplying_data()
{
    QTest::addColumn<QByteArray>("body");
    QTest::addColumn<bool>("isReset");
    QTest::newRow("with a body") << QByteArray("{\"model\":\"m\"}") << false;
    QTest::newRow("with a body, and the peer resets") << QByteArray("{\"model\":\"m\"}") << true;
    QTest::newRow("with a body of many packets") << QByteArray(4 * 1024 * 1024, 'x') << false;
    QTest::newRow("without a body") << QByteArray() << false;
}

void TransportConformance::postIsSentOnceWhenThePeerClosesBeforeReplying()
{
    QFETCH(QByteArray, body);
    QFETCH(bool, isReset);
    // The second exchange of the first connection is a warm one: there a library likes to send again by itself.
    const auto server = serve([&](WirePeer &peer) {
        if (!peer.readRequest() || peer.index() > 0)
            return;
        peer.send(streamHead() + chunk("ok") + chunk(""));
        if (peer.readRequest() && isReset)
            peer.reset();
    });
    CurlTransport transport;
    StreamProbe warmUp(transport, postTo(*server, "/warm-up"));
    QTRY_VERIFY(warmUp.isOver());
    QCOMPARE(warmUp.outcome(), std::string());
    for (const char *path : {"/on-a-warm-connection", "/on-a-new-one"}) {
        StreamProbe probe(transport, postTo(*server, path, body.toStdString()));
        QTRY_VERIFY(probe.isOver());
        QCOMPARE(probe.outcome(), std::string("ECONNRESET"));
        QTRY_COMPARE(server->openConnections(), 0);
        const std::vector<CapturedRequest> seen = server->requests();
        QCOMPARE(std::count_if(seen.begin(), seen.end(), [&](const auto &request) { return request.target == path; }),
                 1);
    }
    QCOMPARE(server->requests().at(1).connection, 0);
    QCOMPARE(server->accepted(), 2);
}

void TransportConformance::cookiesAreNotKept()
{
    const auto server = serve([](WirePeer &peer) {
        while (peer.readRequest())
            peer.send(reply(200, "text/plain", "ok", {"Set-Cookie: id=1; Path=/"}));
    });
    CurlTransport transport;
    for (int i = 0; i < 2; ++i) {
        StreamProbe probe(transport, postTo(*server, "/v1/x"));
        QTRY_VERIFY(probe.isOver());
    }
    QVERIFY(!server->requests().at(1).hasHeader("Cookie"));
}

void TransportConformance::abortReachesThePeerWithoutOurEventLoop()
{
    const auto server = serve([](WirePeer &peer) {
        peer.readRequest();
        peer.send(streamHead() + chunk("x"));
        peer.waitForClose();
    });
    CurlTransport transport;
    StreamProbe probe(transport, postTo(*server, "/v1/x"));
    QTRY_COMPARE(probe.body, std::string("x"));
    probe.stream()->abort();
    // No event of ours is handled here: the close must not wait for us.
    const QDeadlineTimer deadline(5000);
    while (server->closedByPeer() == 0 && !deadline.hasExpired())
        QThread::yieldCurrentThread();
    QCOMPARE(server->closedByPeer(), 1);
    QCoreApplication::processEvents();
    QCOMPARE(probe.ends, 0);
}

void TransportConformance::connectionIsUsedAgainAfterRetire()
{
    const auto server = serve([](WirePeer &peer) {
        while (peer.readRequest()) {
            peer.send(streamHead() + chunk(chatDone()));
            peer.pause(20); // the end is a packet of its own, as servers send it
            peer.send(chunk(""));
        }
    });
    CurlTransport transport;
    for (int i = 0; i < 5; ++i) {
        StreamProbe probe(transport, postTo(*server, "/v1/x"));
        QTRY_VERIFY(!probe.body.empty());
        providers::HttpStream *raw = probe.stream();
        QPointer<providers::HttpStream> watched(raw);
        providers::HttpStream::retire(probe.take());
        QTRY_VERIFY(watched.isNull());
    }
    QCOMPARE(server->requests().size(), 5u);
    QCOMPARE(server->accepted(), 1);
}

void TransportConformance::retireOfAnEndlessReplyClosesIt()
{
    const auto server = serve([](WirePeer &peer) {
        peer.readRequest();
        peer.send(streamHead() + chunk(chatDone()));
        peer.offer(64 * 1024 * 1024, 10'000, chunk(": ping\n\n"));
        peer.waitForClose();
    });
    CurlTransport transport;
    StreamProbe probe(transport, postTo(*server, "/v1/x"));
    QTRY_VERIFY(!probe.body.empty());
    providers::HttpStream::retire(probe.take());
    QTRY_COMPARE(server->openConnections(), 0);
}

void TransportConformance::connectionIsUsedAgain()
{
    const auto server = serve([](WirePeer &peer) {
        while (peer.readRequest())
            peer.send(streamHead() + chunk("hello") + chunk(""));
    });
    CurlTransport transport;
    for (int i = 0; i < 5; ++i) {
        StreamProbe probe(transport, postTo(*server));
        QTRY_VERIFY(probe.isOver());
        QCOMPARE(probe.outcome(), std::string());
    }
    QCOMPARE(server->requests().size(), 5u);
    QCOMPARE(server->accepted(), 1);
}

void TransportConformance::connectionOfAnAbortedStreamIsNotUsedAgain()
{
    const auto server = serve([](WirePeer &peer) {
        while (peer.readRequest()) {
            peer.send(streamHead() + chunk("x"));
            peer.waitForClose();
        }
    });
    CurlTransport transport;
    for (int i = 0; i < 3; ++i) {
        StreamProbe probe(transport, postTo(*server));
        QTRY_COMPARE(probe.body, std::string("x"));
        probe.stream()->abort();
        QTRY_COMPARE(server->openConnections(), 0);
    }
    QCOMPARE(server->accepted(), 3);
}

void TransportConformance::abortInsideASignalIsTheLastOne_data()
{
    QTest::addColumn<bool>("inHead");
    QTest::addColumn<bool>("destroys");
    QTest::newRow("abort when the head comes") << true << false;
    QTest::newRow("abort when data comes") << false << false;
    QTest::newRow("destroyed when the head comes") << true << true;
    QTest::newRow("destroyed when data comes") << false << true;
}

void TransportConformance::abortInsideASignalIsTheLastOne()
{
    QFETCH(bool, inHead);
    QFETCH(bool, destroys);
    const auto server = serve([](WirePeer &peer) {
        peer.readRequest();
        peer.send(streamHead() + chunk("x"));
        peer.waitForClose();
    });
    CurlTransport transport;
    std::unique_ptr<providers::HttpStream> stream = std::move(transport.open(postTo(*server))).value();
    std::vector<std::string> seen;
    const auto leave = [&] {
        if (destroys)
            stream.reset();
        else
            stream->abort();
    };
    connect(stream.get(), &providers::HttpStream::headReceived, this, [&] {
        seen.emplace_back("head");
        if (inHead)
            leave();
    });
    connect(stream.get(), &providers::HttpStream::dataReceived, this, [&] {
        seen.emplace_back("data");
        leave();
    });
    connect(stream.get(), &providers::HttpStream::ended, this, [&] { seen.emplace_back("end"); });
    QTRY_COMPARE(server->closedByPeer(), 1);
    // A turn of the loop each for what could still be under way.
    for (int i = 0; i < 10; ++i)
        QCoreApplication::processEvents();
    QCOMPARE(seen, inHead ? std::vector<std::string>{"head"} : (std::vector<std::string>{"head", "data"}));
}

void TransportConformance::pausedStreamEndsWhenItIsReadAgain_data()
{
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QByteArray>("outcome");
    const std::string many = chunk(std::string(1000, 'x')) + chunk(std::string(1000, 'x'));
    const auto row = [](const char *name, const std::string &bytes, const char *outcome) {
        QTest::newRow(name) << QByteArray::fromStdString(bytes) << QByteArray(outcome);
    };
    row("a reply that is whole", streamHead() + many + chunk(""), "");
    row("a reply that is cut", streamHead() + many, "ECONNRESET");
    row("with a content length", reply(200, "text/plain", std::string(2000, 'x')), "");
    row("until the connection closes", replyHead(200, {}) + std::string(2000, 'x'), "");
    row("gzip", reply(200, "text/plain", gzip(std::string(2000, 'x')), {"Content-Encoding: gzip"}), "");
}

void TransportConformance::pausedStreamEndsWhenItIsReadAgain()
{
    QFETCH(QByteArray, bytes);
    QFETCH(QByteArray, outcome);
    const auto server = serve(answerOnce(bytes.toStdString()));
    CurlTransport transport;
    StreamProbe probe(transport, postTo(*server));
    probe.stream()->setPaused(true);
    QTRY_COMPARE(server->openConnections(), 0); // all is sent
    QTRY_COMPARE(probe.heads, 1);
    for (int i = 0; i < 10; ++i)
        QCoreApplication::processEvents();
    QCOMPARE(probe.received, 0u);
    QCOMPARE(probe.ends, 0);
    probe.stream()->setPaused(false);
    QCOMPARE(probe.received, 0u); // not from within
    QTRY_VERIFY(probe.isOver());
    QCOMPARE(probe.received, 2000u);
    QCOMPARE(probe.outcome(), outcome.toStdString());
}

void TransportConformance::idleTransportKeepsNothing()
{
    const auto server = serve([](WirePeer &peer) {
        while (peer.readRequest())
            peer.send(reply(200, "text/plain", "ok"));
    });
    CurlTransport transport({.idleMs = 100});
    QVERIFY(transport.isIdle());
    StreamProbe probe(transport, postTo(*server));
    QVERIFY(!transport.isIdle());
    QTRY_VERIFY(probe.isOver());
    QTRY_VERIFY(transport.isIdle());
    QTRY_COMPARE(server->openConnections(), 0);
    StreamProbe again(transport, postTo(*server));
    QTRY_VERIFY(again.isOver());
    QCOMPARE(again.body, std::string("ok"));
}

void TransportConformance::streamOutlivesItsTransport()
{
    const auto server = serve([](WirePeer &peer) {
        peer.readRequest();
        peer.send(streamHead() + chunk("x"));
        peer.waitForClose();
    });
    auto transport = std::make_unique<CurlTransport>();
    StreamProbe kept(*transport, postTo(*server));
    StreamProbe retired(*transport, postTo(*server));
    QTRY_VERIFY(!kept.body.empty() && !retired.body.empty());
    const QPointer<providers::HttpStream> watched(retired.stream());
    providers::HttpStream::retire(retired.take());
    transport.reset();
    QTRY_COMPARE(server->openConnections(), 0);
    QTRY_VERIFY(watched.isNull());
    kept.stream()->setPaused(true);
    kept.stream()->setPaused(false);
    kept.stream()->abort();
    QCoreApplication::processEvents();
    QCOMPARE(kept.ends, 0);
}

namespace {

std::vector<int> openDescriptors()
{
    std::vector<int> found;
    for (const auto &entry : std::filesystem::directory_iterator("/proc/self/fd"))
        found.push_back(std::stoi(entry.path().filename().string()));
    std::erase_if(found, [](int fd) { return ::fcntl(fd, F_GETFD) < 0; }); // the listing's own
    return found;
}

} // namespace

void TransportConformance::noDescriptorIsLeakedOrInherited()
{
    const std::vector<int> before = openDescriptors();
    const auto inherited = [&] {
        std::vector<int> found = openDescriptors();
        std::erase_if(found, [&](int fd) {
            return std::find(before.begin(), before.end(), fd) != before.end()
                   || (::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0;
        });
        return found.size();
    };
    {
        const auto server = serve([](WirePeer &peer) {
            while (const std::optional<CapturedRequest> request = peer.readRequest()) {
                if (request->target == "/whole")
                    peer.send(reply(200, "text/plain", "ok"));
                else if (request->target == "/cut")
                    return;
                else
                    peer.stall();
            }
        });
        CurlTransport transport;
        for (int i = 0; i < 4; ++i) {
            StreamProbe whole(transport, postTo(*server, "/whole"));
            StreamProbe cut(transport, postTo(*server, "/cut"));
            HttpRequest late = postTo(*server, "/late");
            late.firstByteMs = 50;
            StreamProbe timedOut(transport, std::move(late));
            StreamProbe aborted(transport, postTo(*server, "/aborted"));
            QTRY_VERIFY(whole.isOver() && cut.isOver() && timedOut.isOver());
            QCOMPARE(inherited(), 0u);
            aborted.stream()->abort();
            StreamProbe notBegun(transport, postTo(*server, "/not-begun"));
        }
    }
    QCOMPARE(openDescriptors(), before);
}

} // namespace cortexfs::test
