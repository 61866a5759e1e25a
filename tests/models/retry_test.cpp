// Asking a candidate again: how long a run waits, what it does not wait for, and how such a wait ends.
#include "common/base/utc_time.h"
#include "tests/models/run_fixture.h"
#include "tests/support/openai_script.h"
#include "tests/support/wire_replies.h"
#include "tests/support/wire_server.h"

#include <QTest>

#include <algorithm>

using namespace cortexfs;
using namespace cortexfs::test;

namespace {

std::string apiError(int status, const HeaderLines &headers = {}, const char *type = "test_error")
{
    return closing(reply(status, "application/json", chatError("it did not work", type), headers));
}

std::string stream(const std::string &body) { return streamHead() + chunk(body) + chunk(""); }

// The first `failures` requests get `bad`, the others an answer.
WireServer::Script failingFirst(int failures, std::string bad)
{
    return [failures, bad = std::move(bad)](WirePeer &peer) {
        if (peer.readRequest())
            peer.send(peer.index() < failures ? bad : closing(stream(chatBody({"hello"}))));
    };
}

models::ModelActivity::Cooldown cooldownFor(std::int64_t ms)
{
    return {.untilMs = systemClock().wallMs() + ms, .errnoNumber = EAGAIN, .reason = "slow down"};
}

models::RunRequest probe()
{
    models::RunRequest request;
    request.model = {"local", "custom-model"};
    models::Message message;
    message.parts.push_back({models::Part::Type::Text, "hi", {}, {}});
    request.conversation.messages.push_back(std::move(message));
    request.isProbe = true;
    return request;
}

bool hasCooldown(const models::ModelEntry &entry)
{
    return entry.activity->cooldown(systemClock().wallMs()).has_value();
}

} // namespace

class RetryTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void shortWishIsHonoured_data();
    void shortWishIsHonoured();
    void longWishIsACooldown_data();
    void longWishIsACooldown();
    void notRetried_data();
    void notRetried();
    void coolingCandidateIsPassedOver();
    void allInCooldownNamesTheEarliestEnd();
    void successEndsTheCooldown();
    void probeAsksOnceAndEndsTheCooldown();
    void statusShowsTheCooldown();
    void cancelEndsAWait();
    void cancelFromAReceiver();
    void cancelDuringALaterAttempt();
    void pauseIsKeptOverAttempts();
    void runTimeCoversWaitsAndAttempts_data();
    void runTimeCoversWaitsAndAttempts();
};

void RetryTest::shortWishIsHonoured_data()
{
    QTest::addColumn<std::string>("bytes");
    QTest::newRow("milliseconds") << apiError(429, {"Retry-After-Ms: 20"});
    QTest::newRow("seconds") << apiError(429, {"Retry-After: 0.02"});
    QTest::newRow("zero") << apiError(429, {"Retry-After: 0"});
    QTest::newRow("a date that is over") << apiError(503, {"Retry-After: Sun, 06 Nov 1994 08:49:37 GMT"});
    QTest::newRow("nonsense") << apiError(429, {"Retry-After: soon"});
    QTest::newRow("a reset time") << apiError(429, {"x-ratelimit-reset-requests: 20ms"});
    QTest::newRow("none") << apiError(500);
}

void RetryTest::shortWishIsHonoured()
{
    QFETCH(std::string, bytes);
    const WireServer server(failingFirst(1, bytes));
    RunFixture fixture(server.url("/v1"));
    StartedRun run(fixture.run("hi"));
    QVERIFY(run.runToEnd());
    QVERIFY(run.seen.isWellFormed());
    QCOMPARE(run.seen.types(), std::string("start error delta message usage done"));
    QCOMPARE(run.seen.deltas(), std::string("hello"));
    QCOMPARE(run.seen.events().at(1).model, std::string("local/custom-model"));
    QVERIFY(run.seen.events().at(1).errorMessage.find("asked again in") != std::string::npos);
    QCOMPARE(server.requests().size(), 2u);
    QVERIFY(!hasCooldown(fixture.entry()));
}

void RetryTest::longWishIsACooldown_data()
{
    QTest::addColumn<std::string>("bytes");
    QTest::addColumn<int>("code");
    QTest::newRow("seconds") << apiError(429, {"Retry-After: 60"}) << EAGAIN;
    QTest::newRow("milliseconds") << apiError(429, {"Retry-After-Ms: 60000"}) << EAGAIN;
    QTest::newRow("a date") << apiError(429, {"Retry-After: Fri, 31 Dec 2100 23:59:59 GMT"}) << EAGAIN;
    QTest::newRow("a reset time") << apiError(429, {"x-ratelimit-reset-tokens: 6m0s"}) << EAGAIN;
    QTest::newRow("in the body") << closing(
        reply(429, "application/json",
              "{\"error\":{\"code\":429,\"message\":\"slow\",\"status\":\"RESOURCE_EXHAUSTED\","
              "\"details\":[{\"@type\":\"type.googleapis.com/google.rpc.RetryInfo\","
              "\"retryDelay\":\"34.07s\"}]}}"))
                                 << EAGAIN;
    QTest::newRow("maintenance") << apiError(503, {"Retry-After: 120"}) << EHOSTDOWN;
}

void RetryTest::longWishIsACooldown()
{
    QFETCH(std::string, bytes);
    QFETCH(int, code);
    const WireServer server(failingFirst(1000, bytes));
    RunFixture fixture(server.url("/v1"));
    fixture.entry().fallback = "debug/echo\n";
    fixture.publish();
    StartedRun run(fixture.run("hi"));
    QVERIFY(run.runToEnd());
    QVERIFY(run.seen.isWellFormed());
    QCOMPARE(run.seen.recovered(), std::string(errnoName(code)) + " local/custom-model");
    QCOMPARE(run.seen.deltas(), std::string("hi"));
    const auto cooldown = fixture.entry().activity->cooldown(systemClock().wallMs());
    QVERIFY(cooldown.has_value());
    QCOMPARE(cooldown->errnoNumber, code);

    // Alone it says when it is worth trying again, and keeps its errno.
    fixture.entry().activity->endCooldown();
    fixture.entry().fallback.clear();
    fixture.publish();
    StartedRun alone(fixture.run("hi"));
    QVERIFY(alone.runToEnd());
    QVERIFY(alone.seen.isWellFormed());
    QCOMPARE(alone.seen.errorCode(), code);
    QVERIFY(alone.seen.errorMessage().find("not to be asked again before 2") != std::string::npos);
    QCOMPARE(server.requests().size(), 2u);
}

void RetryTest::notRetried_data()
{
    QTest::addColumn<std::string>("bytes");
    QTest::addColumn<int>("code");
    QTest::newRow("forbidden by the server") << apiError(503, {"X-Should-Retry: false"}) << EHOSTDOWN;
    QTest::newRow("exhausted quota") << apiError(429, {}, "insufficient_quota") << EDQUOT;
    QTest::newRow("exhausted quota with a short wait")
        << apiError(429, {"Retry-After: 1"}, "insufficient_quota") << EDQUOT;
    QTest::newRow("wrong key, though the server wants another try")
        << apiError(401, {"x-should-retry: true"}) << EACCES;
}

void RetryTest::notRetried()
{
    QFETCH(std::string, bytes);
    QFETCH(int, code);
    const WireServer server(failingFirst(1000, bytes));
    RunFixture fixture(server.url("/v1"));
    StartedRun run(fixture.run("hi"));
    QVERIFY(run.runToEnd());
    QVERIFY(run.seen.isWellFormed());
    QCOMPARE(run.seen.types(), std::string("start error done"));
    QCOMPARE(errnoName(run.seen.errorCode()), errnoName(code));
    QCOMPARE(server.requests().size(), 1u);
}

void RetryTest::coolingCandidateIsPassedOver()
{
    const WireServer server(openAiScript({}));
    RunFixture fixture(server.url("/v1"));
    fixture.entry().fallback = "debug/echo\n";
    fixture.publish();
    fixture.entry().activity->startCooldown(cooldownFor(60'000));
    StartedRun run(fixture.run("hi"));
    QVERIFY(run.runToEnd());
    QVERIFY(run.seen.isWellFormed());
    QCOMPARE(run.seen.recovered(), std::string("EAGAIN local/custom-model"));
    QCOMPARE(run.seen.last(abi::EventType::Done)->model, std::string("debug/echo"));
    QCOMPARE(server.accepted(), 0);
    // One that is over counts no more.
    fixture.entry().activity->startCooldown(cooldownFor(-1));
    StartedRun later(fixture.run("hi"));
    QVERIFY(later.runToEnd());
    QCOMPARE(later.seen.recovered(), std::string());
    QCOMPARE(server.requests().size(), 1u);
}

void RetryTest::allInCooldownNamesTheEarliestEnd()
{
    const WireServer server(openAiScript({}));
    RunFixture fixture(server.url("/v1"));
    const auto first = cooldownFor(60'000);
    const auto second = cooldownFor(30'000);
    fixture.addModel("second", server.url("/v1")).activity->startCooldown(second);
    fixture.entry().fallback = "local/second\nlocal/gone\n";
    fixture.entry().activity->startCooldown(first);
    fixture.publish();
    StartedRun run(fixture.run("hi"));
    QVERIFY(run.runToEnd());
    QVERIFY(run.seen.isWellFormed());
    QCOMPARE(run.seen.recovered(), std::string("EAGAIN local/custom-model, EAGAIN local/second, ENOENT local/gone"));
    QCOMPARE(run.seen.errorCode(), EAGAIN);
    QVERIFY2(run.seen.errorMessage().find(utcTimestamp(second.untilMs + 999)) != std::string::npos,
             run.seen.errorMessage().c_str());
    QVERIFY2(fixture.log().find("EAGAIN") != std::string::npos, fixture.log().c_str());
    QCOMPARE(server.accepted(), 0);
}

void RetryTest::successEndsTheCooldown()
{
    WireServer server([](WirePeer &peer) {
        peer.readRequest();
        peer.send(streamHead());
        peer.waitFor("go on");
        peer.send(chunk(chatBody({"hello"})) + chunk(""));
    });
    RunFixture fixture(server.url("/v1"));
    StartedRun run(fixture.run("hi"));
    QTRY_COMPARE(server.requests().size(), 1u);
    // Another run met the limit meanwhile.
    fixture.entry().activity->startCooldown(cooldownFor(60'000));
    server.signal("go on");
    QVERIFY(run.runToEnd());
    QCOMPARE(run.seen.doneStatus(), std::string("ok"));
    QVERIFY(!hasCooldown(fixture.entry()));
}

void RetryTest::probeAsksOnceAndEndsTheCooldown()
{
    const WireServer server(failingFirst(1, apiError(500)));
    RunFixture fixture(server.url("/v1"));
    fixture.entry().fallback = "debug/echo\n";
    fixture.publish();
    fixture.entry().activity->startCooldown(cooldownFor(60'000));
    StartedRun failing(fixture.run(probe()));
    QVERIFY(failing.runToEnd());
    QVERIFY(failing.seen.isWellFormed());
    QCOMPARE(failing.seen.types(), std::string("start error done"));
    QCOMPARE(failing.seen.errorCode(), EHOSTDOWN);
    QCOMPARE(server.requests().size(), 1u);
    QVERIFY(hasCooldown(fixture.entry()));
    StartedRun working(fixture.run(probe()));
    QVERIFY(working.runToEnd());
    QCOMPARE(working.seen.doneStatus(), std::string("ok"));
    QCOMPARE(server.requests().size(), 2u);
    QVERIFY(!hasCooldown(fixture.entry()));
}

void RetryTest::statusShowsTheCooldown()
{
    RunFixture fixture;
    models::ModelEntry &entry = fixture.entry();
    // 2026-12-02T10:11:12Z
    constexpr std::int64_t kUntilMs = 1'796'206'272'000;
    entry.activity->startCooldown({.untilMs = kUntilMs, .errnoNumber = EAGAIN, .reason = "slow\ndown"});
    const std::string text = models::controlText(entry, models::Control::Status, kUntilMs - 1);
    QVERIFY2(text.starts_with("state=cooldown\nreason=slow")
                 && text.ends_with("\nerrno=EAGAIN\nuntil=2026-12-02T10:11:12Z\n"),
             text.c_str());
    QCOMPARE(std::count(text.begin(), text.end(), '\n'), 4);
    QVERIFY(models::metadataText(entry, "/r", kUntilMs - 1).find("# cortexfs.status=cooldown\n") != std::string::npos);
    QCOMPARE(models::controlText(entry, models::Control::Status, kUntilMs), std::string("state=ready\n"));
    QVERIFY(models::metadataText(entry, "/r", kUntilMs).find("# cortexfs.status=ready\n") != std::string::npos);
    entry.activity->endCooldown();
    QCOMPARE(models::controlText(entry, models::Control::Status, kUntilMs - 1), std::string("state=ready\n"));
}

void RetryTest::cancelEndsAWait()
{
    const WireServer server(failingFirst(1000, apiError(429, {"Retry-After: 9"})));
    RunFixture fixture(server.url("/v1"));
    StartedRun run(fixture.run("hi"));
    QTRY_COMPARE(run.seen.recovered(), std::string("EAGAIN local/custom-model"));
    run->cancel();
    QVERIFY(run.runToEnd(5000));
    QVERIFY(run.seen.isWellFormed());
    QCOMPARE(run.seen.types(), std::string("start error done"));
    QCOMPARE(run.seen.doneStatus(), std::string("cancelled"));
    QCOMPARE(server.requests().size(), 1u);
}

void RetryTest::cancelFromAReceiver()
{
    const WireServer server(failingFirst(1000, apiError(401)));
    RunFixture fixture(server.url("/v1"));
    fixture.entry().fallback = "local/gone\ndebug/echo\n";
    fixture.publish();
    std::unique_ptr<models::ModelRun> made = fixture.run("hi");
    models::ModelRun *raw = made.get();
    QObject::connect(raw, &models::ModelRun::eventReady, raw, [raw](const abi::Event &event) {
        if (event.type == abi::EventType::Error)
            raw->cancel();
    });
    StartedRun run(std::move(made));
    QVERIFY(run.runToEnd());
    QVERIFY(run.seen.isWellFormed());
    QCOMPARE(run.seen.types(), std::string("start error done"));
    QCOMPARE(run.seen.doneStatus(), std::string("cancelled"));
}

void RetryTest::cancelDuringALaterAttempt()
{
    const WireServer server([](WirePeer &peer) {
        peer.readRequest();
        if (peer.index() == 0)
            peer.send(apiError(500));
        else
            peer.waitForClose();
    });
    RunFixture fixture(server.url("/v1"));
    StartedRun run(fixture.run("hi"));
    QTRY_COMPARE(server.requests().size(), 2u);
    run->cancel();
    QVERIFY(run.runToEnd());
    QVERIFY(run.seen.isWellFormed());
    QCOMPARE(run.seen.doneStatus(), std::string("cancelled"));
    QTRY_COMPARE(server.openConnections(), 0);
}

void RetryTest::pauseIsKeptOverAttempts()
{
    const WireServer server(failingFirst(1, apiError(500)));
    RunFixture fixture(server.url("/v1"));
    std::unique_ptr<models::ModelRun> made = fixture.run("hi");
    models::ModelRun *raw = made.get();
    QObject::connect(raw, &models::ModelRun::eventReady, raw, [raw](const abi::Event &event) {
        if (event.type == abi::EventType::Error)
            raw->setPaused(true);
    });
    StartedRun run(std::move(made));
    QTRY_COMPARE(server.requests().size(), 2u);
    // The wait of a script is a clock here.
    StartedRun clock(fixture.run("wait 200\nsay x", "debug/script"));
    QVERIFY(clock.runToEnd());
    QCOMPARE(run.seen.types(), std::string("start error"));
    run->setPaused(false);
    QVERIFY(run.runToEnd());
    QVERIFY(run.seen.isWellFormed());
    QCOMPARE(run.seen.deltas(), std::string("hello"));
}

void RetryTest::runTimeCoversWaitsAndAttempts_data()
{
    QTest::addColumn<std::string>("bytes"); // of the first request; the others get no reply
    QTest::newRow("a wait") << apiError(429, {"Retry-After: 9"});
    QTest::newRow("a later attempt") << apiError(500);
    QTest::newRow("another candidate") << apiError(401);
}

void RetryTest::runTimeCoversWaitsAndAttempts()
{
    QFETCH(std::string, bytes);
    const WireServer server([bytes](WirePeer &peer) {
        peer.readRequest();
        if (peer.index() == 0)
            peer.send(bytes);
        else
            peer.waitForClose();
    });
    RunFixture fixture(server.url("/v1"));
    fixture.addModel("second", server.url("/v1")); // a run time of its own, which does not count
    fixture.entry().fallback = "local/second\ndebug/echo\n";
    fixture.provider().timeouts.runMs = 1500;
    fixture.publish();
    StartedRun run(fixture.run("hi"));
    QVERIFY(run.runToEnd());
    QVERIFY(run.seen.isWellFormed());
    QCOMPARE(run.seen.types(), std::string("start error error done"));
    QCOMPARE(errnoName(run.seen.errorCode()), errnoName(ETIMEDOUT));
    QVERIFY(run.seen.errorMessage().find("the run took longer") != std::string::npos);
    QTRY_COMPARE(server.openConnections(), 0);
}

QTEST_GUILESS_MAIN(RetryTest)
#include "retry_test.moc"
