// A run over HTTP that works, and what happens to it when it is paused, cancelled or takes too long.
#include "tests/models/run_fixture.h"
#include "tests/support/loop_watch.h"
#include "tests/support/openai_script.h"
#include "tests/support/wire_replies.h"
#include "tests/support/wire_server.h"

#include <QDeadlineTimer>
#include <QTest>
#include <QThread>

#include <algorithm>
#include <atomic>

using namespace cortexfs;
using namespace cortexfs::test;

namespace {

constexpr char kCanary[] = "canary-key-19c3";
constexpr std::size_t kMiB = 1024 * 1024;

} // namespace

class HttpRunTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void streamBecomesEvents_data();
    void streamBecomesEvents();
    void modelThatDoesNotStreamIsAskedForOnePiece();
    void keyAndStaticHeadersAreSent();
    void keyIsOptionalWhereTheEndpointDoesWithout();
    void answerEndsWithItsTerminalSignal();
    void cancelClosesTheConnection_data();
    void cancelClosesTheConnection();
    void wholeRunHasALimit();
    void pausedRunMakesTheServerWait();
    void pauseIsNoIdleTime();
    void fiftyRunsToOneHost();
    void reportAndLogSayHowItWent();
};

void HttpRunTest::streamBecomesEvents_data()
{
    QTest::addColumn<int>("split");
    QTest::newRow("in one piece") << 1'000'000;
    QTest::newRow("byte by byte") << 1;
    QTest::newRow("in pieces of seven") << 7;
}

void HttpRunTest::streamBecomesEvents()
{
    QFETCH(int, split);
    const WireServer server([split](WirePeer &peer) {
        if (peer.readRequest())
            peer.sendSplit(streamHead() + chunk(chatBody({"hel", "lo \xe2\x82\xac"})) + chunk(""),
                           static_cast<std::size_t>(split));
    });
    RunFixture fixture(server.url("/v1"));
    StartedRun run(fixture.run("hi"));
    QVERIFY(run.runToEnd());
    QVERIFY(run.seen.isWellFormed());
    QCOMPARE(run.seen.types(), std::string("start delta delta message usage done"));
    QCOMPARE(run.seen.deltas(), std::string("hello \xe2\x82\xac"));
    QCOMPARE(run.seen.events()[2].offset, 3);
    QCOMPARE(run.seen.last(abi::EventType::Message)->model, std::string("local/custom-model"));
    QCOMPARE(run.seen.last(abi::EventType::Done)->model, std::string("local/custom-model"));
    QCOMPARE(run.seen.last(abi::EventType::Usage)->usage.inputTokens, 10);
    const CapturedRequest request = server.requests().at(0);
    QCOMPARE(request.target, std::string("/v1/chat/completions"));
    QVERIFY(request.body.find("\"custom-model\"") != std::string::npos);
    QVERIFY(request.body.find("\"hi\"") != std::string::npos);
}

void HttpRunTest::modelThatDoesNotStreamIsAskedForOnePiece()
{
    const WireServer server(openAiScript({.chunks = 2}));
    RunFixture fixture(server.url("/v1"));
    fixture.entry().cap = "chat\n";
    fixture.publish();
    StartedRun run(fixture.run("hi"));
    QVERIFY(run.runToEnd());
    QVERIFY(run.seen.isWellFormed());
    QCOMPARE(run.seen.doneStatus(), std::string("ok"));
    QVERIFY(server.requests().at(0).body.find("\"stream\":true") == std::string::npos);
    QCOMPARE(run.seen.last(abi::EventType::Message)->content.at(0).text, std::string("hello hello "));
}

void HttpRunTest::keyAndStaticHeadersAreSent()
{
    const WireServer server(openAiScript({.requiredKey = kCanary}));
    RunFixture fixture(server.url("/v1"), true);
    fixture.provider().headers = {{"X-Team", "blue"}};
    fixture.publish();
    QVERIFY(fixture.secrets().set("local", "default", SecretString(kCanary)));
    StartedRun run(fixture.run("hi"));
    QVERIFY(run.runToEnd());
    QCOMPARE(run.seen.doneStatus(), std::string("ok"));
    QCOMPARE(server.requests().at(0).header("X-Team"), std::string("blue"));
    QVERIFY(run.seen.json().find(kCanary) == std::string::npos);
    QVERIFY(fixture.log().find(kCanary) == std::string::npos);
    QCOMPARE(run->report().slot, std::string("default"));
    QCOMPARE(run->report().transport, std::string("direct"));
}

void HttpRunTest::keyIsOptionalWhereTheEndpointDoesWithout()
{
    const WireServer server(openAiScript({}));
    RunFixture fixture(server.url("/v1"), false);
    StartedRun without(fixture.run("hi"));
    QVERIFY(without.runToEnd());
    QVERIFY(!server.requests().at(0).hasHeader("Authorization"));
    QVERIFY(fixture.secrets().set("local", "default", SecretString(kCanary)));
    StartedRun with(fixture.run("hi"));
    QVERIFY(with.runToEnd());
    QCOMPARE(server.requests().at(1).header("Authorization"), std::string("Bearer ") + kCanary);
}

void HttpRunTest::answerEndsWithItsTerminalSignal()
{
    // The server keeps the stream open; nobody has to wait for it.
    const WireServer server([](WirePeer &peer) {
        if (peer.readRequest())
            peer.send(streamHead() + chunk(chatBody({"hello"})));
        peer.stall();
    });
    RunFixture fixture(server.url("/v1"));
    StartedRun run(fixture.run("hi"));
    QVERIFY(run.runToEnd());
    QCOMPARE(run.seen.types(), std::string("start delta message usage done"));
    QTRY_COMPARE(server.openConnections(), 0);
}

void HttpRunTest::cancelClosesTheConnection_data()
{
    QTest::addColumn<bool>("hasHead");
    QTest::newRow("before the reply") << false;
    QTest::newRow("inside the stream") << true;
}

void HttpRunTest::cancelClosesTheConnection()
{
    QFETCH(bool, hasHead);
    const WireServer server([hasHead](WirePeer &peer) {
        peer.readRequest();
        if (hasHead)
            peer.send(streamHead() + chunk(chatDelta("hel")));
        peer.waitForClose();
    });
    RunFixture fixture(server.url("/v1"));
    StartedRun run(fixture.run("hi"));
    if (hasHead)
        QTRY_COMPARE(run.seen.deltas(), std::string("hel"));
    else
        QTRY_COMPARE(server.requests().size(), 1u);
    run->cancel();
    // Our event loop does not turn here.
    const QDeadlineTimer deadline(5000);
    while (server.closedByPeer() == 0 && !deadline.hasExpired())
        QThread::yieldCurrentThread();
    QCOMPARE(server.closedByPeer(), 1);
    QVERIFY(run.runToEnd());
    QVERIFY(run.seen.isWellFormed());
    QCOMPARE(run.seen.types(), std::string(hasHead ? "start delta done" : "start done"));
    QCOMPARE(run.seen.doneStatus(), std::string("cancelled"));
    QVERIFY(fixture.log().find(" cancelled ") != std::string::npos);
}

void HttpRunTest::wholeRunHasALimit()
{
    const WireServer server([](WirePeer &peer) {
        peer.readRequest();
        peer.send(streamHead());
        while (peer.send(chunk(chatDelta("x"))))
            peer.pause(20);
    });
    RunFixture fixture(server.url("/v1"));
    fixture.provider().timeouts.runMs = 400;
    fixture.publish();
    StartedRun run(fixture.run("hi"));
    QVERIFY(run.runToEnd());
    QVERIFY(run.seen.isWellFormed());
    QCOMPARE(run.seen.errorCode(), ETIMEDOUT);
    QVERIFY(run.seen.count(abi::EventType::Delta) > 1);
    QTRY_COMPARE(server.openConnections(), 0);
}

void HttpRunTest::pausedRunMakesTheServerWait()
{
    const std::string pattern = chunk(chatDelta(std::string(40, 'x')));
    std::atomic<std::size_t> written{0};
    std::atomic<bool> stalled{false};
    WireServer server([&](WirePeer &peer) {
        peer.shrinkSendBuffer(64 * 1024);
        peer.readRequest();
        peer.send(streamHead());
        written = peer.offer(64 * kMiB, 700, pattern);
        stalled = true;
        peer.waitForClose();
    });
    RunFixture fixture(server.url("/v1"));
    std::unique_ptr<models::ModelRun> made = fixture.run("hi");
    models::ModelRun *raw = made.get();
    // As a reader's socket does: it takes a little, then nothing.
    QObject::connect(raw, &models::ModelRun::eventReady, raw, [raw](const abi::Event &event) {
        if (event.type == abi::EventType::Delta)
            raw->setPaused(true);
    });
    StartedRun run(std::move(made));
    QTRY_VERIFY_WITH_TIMEOUT(stalled.load(), 20'000);
    QVERIFY2(written.load() < 4 * kMiB, std::to_string(written.load()).c_str());
    // What was in the read that the pause fell into is all that came.
    QVERIFY(run.seen.deltas().size() < 64 * 1024);
    run->cancel();
    QVERIFY(run.runToEnd());
    QCOMPARE(run.seen.doneStatus(), std::string("cancelled"));
    QTRY_COMPARE(server.openConnections(), 0);
}

void HttpRunTest::pauseIsNoIdleTime()
{
    WireServer server([](WirePeer &peer) {
        peer.readRequest();
        peer.send(streamHead() + chunk(chatDelta("hel")));
        peer.waitFor("go on");
        peer.send(chunk(chatBody({"lo"})) + chunk(""));
    });
    RunFixture fixture(server.url("/v1"));
    fixture.provider().timeouts.idleMs = 200;
    fixture.publish();
    StartedRun run(fixture.run("hi"));
    QTRY_COMPARE(run.seen.deltas(), std::string("hel"));
    run->setPaused(true);
    // Two waits of a script are a clock here: well over the idle time.
    StartedRun clock(fixture.run("wait 700\nsay x", "debug/script"));
    QVERIFY(clock.runToEnd());
    QVERIFY(!run.seen.isFinished());
    run->setPaused(false);
    server.signal("go on");
    QVERIFY(run.runToEnd());
    QCOMPARE(run.seen.doneStatus(), std::string("ok"));
    QCOMPARE(run.seen.deltas(), std::string("hello"));
}

void HttpRunTest::fiftyRunsToOneHost()
{
    WireServer server([](WirePeer &peer) {
        peer.readRequest();
        peer.send(streamHead() + chunk(chatDelta("first")));
        peer.waitFor("all run");
        peer.send(chunk(chatBody({"last"})) + chunk(""));
    });
    RunFixture fixture(server.url("/v1"));
    const LoopWatch watch;
    std::vector<std::unique_ptr<StartedRun>> runs;
    for (int i = 0; i < 50; ++i)
        runs.push_back(std::make_unique<StartedRun>(fixture.run("hi")));
    const auto begun = [&] {
        return std::count_if(runs.begin(), runs.end(), [](const auto &run) { return run->seen.deltas() == "first"; });
    };
    QTRY_COMPARE_WITH_TIMEOUT(begun(), 50, 15'000);
    QCOMPARE(server.mostOpenConnections(), 50);
    server.signal("all run");
    for (const auto &run : runs) {
        QVERIFY(run->runToEnd());
        QVERIFY(run->seen.isWellFormed());
        QCOMPARE(run->seen.deltas(), std::string("firstlast"));
    }
    QVERIFY2(watch.longestWorkMs() < 500, std::to_string(watch.longestWorkMs()).c_str());
}

void HttpRunTest::reportAndLogSayHowItWent()
{
    const WireServer server(openAiScript({.chunks = 4}));
    RunFixture fixture(server.url("/v1"));
    StartedRun run(fixture.run("hi"));
    QVERIFY(run.runToEnd());
    const models::RunReport &report = run->report();
    QCOMPARE(report.model, std::string("local/custom-model"));
    QCOMPARE(report.httpStatus, 200);
    QVERIFY(report.firstTokenMs >= 0 && report.firstTokenMs <= report.totalMs);
    const std::string log = fixture.log();
    QVERIFY2(log.find(" ok 10+4 tokens ") != std::string::npos, log.c_str());
    QVERIFY(log.find(run.seen.events().front().run) != std::string::npos);
}

QTEST_GUILESS_MAIN(HttpRunTest)
#include "http_run_test.moc"
