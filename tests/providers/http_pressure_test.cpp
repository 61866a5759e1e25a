// Many streams at once, and streams that nobody reads. Counts instead of times wherever there is a count.
#include "daemon/providers/curl/curl_transport.h"
#include "tests/providers/stream_probe.h"
#include "tests/support/loop_watch.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wire_replies.h"
#include "tests/support/wire_server.h"

#include <QTest>

#include <algorithm>
#include <atomic>
#include <vector>

using namespace cortexfs;
using namespace cortexfs::test;
using providers::CurlTransport;
using providers::HttpRequest;

namespace {

constexpr std::size_t kMiB = 1024 * 1024;

HttpRequest postTo(const WireServer &server)
{
    HttpRequest request;
    request.url = server.url("/v1/x");
    request.unixSocket = server.socketPath();
    request.body = "{}";
    return request;
}

std::unique_ptr<WireServer> serve(const TempDir &dir, bool overUnix, WireServer::Script script)
{
    if (overUnix)
        return std::make_unique<WireServer>(std::move(script), dir.path("x.sock"));
    return std::make_unique<WireServer>(std::move(script));
}

} // namespace

class HttpPressureTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void manyStreamsToOneHostRunAtTheSameTime_data();
    void manyStreamsToOneHostRunAtTheSameTime();
    void pausedStreamMakesTheServerWait_data();
    void pausedStreamMakesTheServerWait();
    void fastStreamDoesNotHoldUpTheLoop();
};

void HttpPressureTest::manyStreamsToOneHostRunAtTheSameTime_data()
{
    QTest::addColumn<bool>("overUnix");
    QTest::newRow("over TCP") << false;
    QTest::newRow("over a unix socket") << true;
}

void HttpPressureTest::manyStreamsToOneHostRunAtTheSameTime()
{
    QFETCH(bool, overUnix);
    constexpr int kStreams = 200;
    const TempDir dir;
    const auto server = serve(dir, overUnix, [](WirePeer &peer) {
        peer.readRequest();
        peer.send(streamHead() + chunk("first"));
        peer.waitFor("all are open"); // nobody ends before everybody has begun
        peer.send(chunk("last") + chunk(""));
    });
    CurlTransport transport;
    std::vector<std::unique_ptr<StreamProbe>> probes;
    for (int i = 0; i < kStreams; ++i)
        probes.push_back(std::make_unique<StreamProbe>(transport, postTo(*server)));
    const auto begun = [&] {
        return std::count_if(probes.begin(), probes.end(), [](const auto &probe) { return probe->body == "first"; });
    };
    QTRY_COMPARE_WITH_TIMEOUT(begun(), kStreams, 15'000);
    QCOMPARE(server->mostOpenConnections(), kStreams);
    server->signal("all are open");
    const auto ended = [&] {
        return std::count_if(probes.begin(), probes.end(),
                             [](const auto &probe) { return probe->isOver() && probe->body == "firstlast"; });
    };
    QTRY_COMPARE_WITH_TIMEOUT(ended(), kStreams, 15'000);
    QCOMPARE(server->requests().size(), static_cast<std::size_t>(kStreams));
}

void HttpPressureTest::pausedStreamMakesTheServerWait_data()
{
    QTest::addColumn<bool>("chunked");
    QTest::addColumn<bool>("overUnix");
    QTest::newRow("chunked over TCP") << true << false;
    QTest::newRow("until the connection closes over TCP") << false << false;
    QTest::newRow("chunked over a unix socket") << true << true;
    QTest::newRow("until the connection closes over a unix socket") << false << true;
}

void HttpPressureTest::pausedStreamMakesTheServerWait()
{
    QFETCH(bool, chunked);
    QFETCH(bool, overUnix);
    const TempDir dir;
    constexpr std::size_t kTotal = 64 * kMiB;
    const std::string pattern = chunked ? chunk(std::string(16000, 'x')) : std::string(16384, 'x');
    const std::size_t total = kTotal / pattern.size() * pattern.size();
    std::atomic<std::size_t> before{0};
    std::atomic<std::size_t> after{0};
    std::atomic<bool> stalled{false};
    const auto server = serve(dir, overUnix, [&](WirePeer &peer) {
        // Our side of the kernel holds little, so that what was taken is what the client and its socket hold.
        peer.shrinkSendBuffer(64 * 1024);
        peer.readRequest();
        peer.send(chunked ? streamHead() : replyHead(200, {"Content-Type: text/plain"}));
        before = peer.offer(total, 700, pattern);
        stalled = true;
        peer.waitFor("go on");
        // The rest, from where the pattern stopped.
        const std::size_t broken = before % pattern.size();
        if (broken != 0)
            peer.send(pattern.substr(broken));
        const std::size_t sent = before + (broken != 0 ? pattern.size() - broken : 0);
        after = peer.offer(total - sent, 20'000, pattern) + sent;
        if (chunked)
            peer.send(chunk(""));
    });
    CurlTransport transport;
    StreamProbe probe(transport, postTo(*server));
    probe.discard = true;
    probe.stream()->setPaused(true);
    QTRY_VERIFY_WITH_TIMEOUT(stalled.load(), 30'000);
    QVERIFY2(before.load() < kMiB, std::to_string(before.load()).c_str());
    QCOMPARE(probe.received, 0u);
    qInfo("the server could write %zu KiB to a paused stream", before.load() / 1024);

    probe.stream()->setPaused(false);
    server->signal("go on");
    QVERIFY(probe.runUntilOver(60'000));
    QCOMPARE(probe.outcome(), std::string());
    QCOMPARE(after.load(), total);
    QCOMPARE(probe.received, chunked ? total / pattern.size() * 16000 : total);
}

void HttpPressureTest::fastStreamDoesNotHoldUpTheLoop()
{
    const std::string pattern = chunk(chatDelta("hello"));
    const std::size_t total = 16 * kMiB / pattern.size() * pattern.size();
    const auto server = serve(TempDir(), false, [&](WirePeer &peer) {
        peer.readRequest();
        peer.send(streamHead());
        peer.offer(total, 20'000, pattern);
        peer.send(chunk(""));
    });
    CurlTransport transport;
    const LoopWatch watch;
    StreamProbe probe(transport, postTo(*server));
    probe.discard = true;
    std::size_t largest = 0;
    connect(probe.stream(), &providers::HttpStream::dataReceived, this,
            [&](std::string_view bytes) { largest = std::max(largest, bytes.size()); });
    QVERIFY(probe.runUntilOver(60'000));
    QVERIFY2(largest <= 128 * 1024, std::to_string(largest).c_str());
    QCOMPARE(probe.received, total / pattern.size() * chatDelta("hello").size());
    QVERIFY2(watch.longestWorkMs() < 250, std::to_string(watch.longestWorkMs()).c_str());
}

QTEST_GUILESS_MAIN(HttpPressureTest)
#include "http_pressure_test.moc"
