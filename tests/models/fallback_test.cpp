// Which candidate answers: what moves a run on along its chain, and what ends it.
#include "common/base/limits.h"
#include "common/base/unique_fd.h"
#include "daemon/models/candidate.h"
#include "tests/models/run_fixture.h"
#include "tests/support/openai_script.h"
#include "tests/support/wire_replies.h"
#include "tests/support/wire_server.h"

#include <QTest>

#include <netinet/in.h>
#include <sys/socket.h>

using namespace cortexfs;
using namespace cortexfs::test;

namespace {

WireServer::Script answering(std::string bytes)
{
    return [bytes = closing(std::move(bytes))](WirePeer &peer) {
        if (peer.readRequest())
            peer.send(bytes);
    };
}

std::string apiError(int status, const char *type = "test_error")
{
    return reply(status, "application/json", chatError("it did not work", type));
}

std::string stream(const std::string &body) { return streamHead() + chunk(body) + chunk(""); }

std::string chatEvent(const std::string &delta)
{
    return "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":" + delta + ",\"finish_reason\":null}]}\n\n";
}

std::string times(int count, const std::string &text)
{
    std::string out;
    for (int i = 0; i < count; ++i)
        out += (i == 0 ? "" : ", ") + text;
    return out;
}

// A port that nobody else gets and nobody listens on.
class ClosedPort {
public:
    ClosedPort() : m_holder(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))
    {
        sockaddr_in address = {};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t length = sizeof address;
        ::bind(m_holder.get(), reinterpret_cast<sockaddr *>(&address), length);
        ::getsockname(m_holder.get(), reinterpret_cast<sockaddr *>(&address), &length);
        m_url = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/v1";
    }
    const std::string &url() const { return m_url; }

private:
    UniqueFd m_holder;
    std::string m_url;
};

models::RunRequest requestFor(abi::Purpose purpose)
{
    models::RunRequest request;
    request.model = {"local", "custom-model"};
    request.purpose = purpose;
    models::Message message;
    message.parts.push_back({models::Part::Type::Text, "hi", {}, {}});
    request.conversation.messages.push_back(std::move(message));
    return request;
}

} // namespace

Q_DECLARE_METATYPE(WireServer::Script)

class FallbackTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void candidatesAreTheModelAndItsLines();
    void atMostSixteenFallbacks();
    void failureBeforeOutputMovesOn_data();
    void failureBeforeOutputMovesOn();
    void outputBindsTheRun_data();
    void outputBindsTheRun();
    void invalidRequestStaysWhereItIs();
    void missingKeyAndRefusedConnectionMoveOn();
    void missingModelIsAnnounced();
    void tooLongGoesToALargerLimit_data();
    void tooLongGoesToALargerLimit();
    void lastFailureEndsTheRun();
    void everyCandidateIsAskedInOrder();
    void modelWithoutDriverOrEndpointMovesOn();
    void builtInModelFallsBackWithoutARetry();
    void nextDriverOfTheListIsTried_data();
    void nextDriverOfTheListIsTried();
    void driverGoesByThePurpose();
    void bytesCountOverAllAttempts();
};

void FallbackTest::candidatesAreTheModelAndItsLines()
{
    RunFixture fixture;
    fixture.addModel("second", "http://127.0.0.1:9/v1").fallback = "local/third\n";
    fixture.addModel("third", "http://127.0.0.1:9/v1");
    fixture.entry().fallback = "local/second\nlocal/custom-model\nlocal/gone\nlocal/second\ndebug/echo\n";
    fixture.publish();
    std::string names;
    std::string missing;
    for (const models::Candidate &candidate :
         models::candidatesFor(fixture.catalog(), abi::ModelRef{"local", "custom-model"})) {
        names += candidate.name() + " ";
        missing += candidate.entry ? "" : candidate.name();
    }
    QCOMPARE(names, std::string("local/custom-model local/second local/gone debug/echo "));
    QCOMPARE(missing, std::string("local/gone"));
    QVERIFY(models::candidatesFor(fixture.catalog(), abi::ModelRef{"local", "gone"}).empty());
}

void FallbackTest::atMostSixteenFallbacks()
{
    RunFixture fixture;
    for (int i = 0; i < 20; ++i)
        fixture.entry().fallback += "local/m" + std::to_string(i) + "\n";
    fixture.publish();
    const auto candidates = models::candidatesFor(fixture.catalog(), abi::ModelRef{"local", "custom-model"});
    QCOMPARE(candidates.size(), static_cast<std::size_t>(limits::kFallbacks) + 1);
    QCOMPARE(candidates.back().name(), std::string("local/m15"));
}

void FallbackTest::failureBeforeOutputMovesOn_data()
{
    QTest::addColumn<WireServer::Script>("script");
    QTest::addColumn<int>("code");
    QTest::addColumn<int>("requests");
    const auto row = [](const char *title, WireServer::Script script, int code, int requests) {
        QTest::newRow(title) << script << code << requests;
    };
    const std::string role = chatEvent("{\"role\":\"assistant\",\"content\":\"\"}");
    row("killed in the middle of the head", answering("HTTP/1.1 200 OK\r\nContent-Ty"), ECONNRESET, 3);
    row(
        "reset",
        [](WirePeer &peer) {
            peer.readRequest();
            peer.reset();
        },
        ECONNRESET, 3);
    row("500", answering(apiError(500)), EHOSTDOWN, 3);
    row("429", answering(apiError(429)), EAGAIN, 3);
    row("500 that forbids a retry",
        answering(reply(500, "application/json", chatError("x", "y"), {"x-should-retry: false"})), EHOSTDOWN, 1);
    row("401", answering(apiError(401)), EACCES, 1);
    row("402", answering(apiError(402)), EDQUOT, 1);
    row("exhausted quota", answering(apiError(429, "insufficient_quota")), EDQUOT, 1);
    row("404", answering(apiError(404)), ENOENT, 1);
    row("redirect", answering(reply(302, "text/html", "", {"Location: http://127.0.0.1:9/"})), ENOTSUP, 1);
    row("HTML on 200", answering(reply(200, "text/html", "<html>Sign in</html>")), EBADMSG, 1);
    row("garbage in the stream", answering(stream("data: {\"choices\":[{\n\n")), EBADMSG, 1);
    row("error event at the beginning of a 200 stream",
        answering(stream("data: " + chatError("busy", "overloaded_error") + "\n\n")), EHOSTDOWN, 3);
    row("role chunk, then nothing", answering(stream(role)), ECONNRESET, 3);
    row("role chunk, then an error", answering(stream(role + "data: " + chatError("x", "odd") + "\n\n")), EIO, 1);
    row("comments and pings, then nothing", answering(stream(": keep-alive\n\nevent: ping\n\n: keep-alive\n\n")),
        ECONNRESET, 3);
    row("empty deltas, usage, then nothing",
        answering(stream(role + chatEvent("{\"content\":\"\"}") + chatEvent("{\"reasoning_content\":\"\"}")
                         + chatUsage(7, 9))),
        ECONNRESET, 3);
    row("a tool call that was cut",
        answering(stream(chatEvent(
            "{\"tool_calls\":[{\"index\":0,\"id\":\"1\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}}]}"))),
        ECONNRESET, 3);
}

void FallbackTest::failureBeforeOutputMovesOn()
{
    QFETCH(WireServer::Script, script);
    QFETCH(int, code);
    QFETCH(int, requests);
    const WireServer first(script);
    const WireServer second(answering(stream(chatBody({"hel", "lo"}))));
    RunFixture fixture(first.url("/v1"));
    const models::ModelEntry &other = fixture.addModel("second", second.url("/v1"));
    fixture.entry().fallback = "local/second\n";
    fixture.publish();
    StartedRun run(fixture.run("hi"));
    QVERIFY(run.runToEnd());
    QVERIFY2(run.seen.isWellFormed(), run.seen.json().c_str());
    QCOMPARE(run.seen.recovered(), times(requests, std::string(errnoName(code)) + " local/custom-model"));
    QCOMPARE(run.seen.events().front().model, std::string("local/custom-model"));
    QCOMPARE(run.seen.doneStatus(), std::string("ok"));
    QCOMPARE(run.seen.deltas(), std::string("hello"));
    QCOMPARE(run.seen.count(abi::EventType::Usage), 1u);
    QCOMPARE(run.seen.last(abi::EventType::Usage)->usage.inputTokens, 10);
    QCOMPARE(run.seen.last(abi::EventType::Message)->model, std::string("local/second"));
    QCOMPARE(run.seen.last(abi::EventType::Done)->model, std::string("local/second"));
    QCOMPARE(run->report().model, std::string("local/second"));
    QCOMPARE(first.requests().size(), static_cast<std::size_t>(requests));
    QCOMPARE(second.requests().size(), 1u);
    QVERIFY(second.requests().at(0).body.find("\"second\"") != std::string::npos);
    QVERIFY2(fixture.log().find(" error 0+0 tokens ") != std::string::npos, fixture.log().c_str());
    QVERIFY(other.activity->logText().find(" ok 10+2 tokens ") != std::string::npos);
}

void FallbackTest::outputBindsTheRun_data()
{
    QTest::addColumn<std::string>("body");
    QTest::newRow("a delta") << chatDelta("hel");
    QTest::newRow("a reasoning delta") << chatEvent("{\"reasoning_content\":\"hm\"}");
    QTest::newRow("a delta, then an error")
        << chatDelta("hel") + "data: " + chatError("busy", "overloaded_error") + "\n\n";
}

void FallbackTest::outputBindsTheRun()
{
    QFETCH(std::string, body);
    const WireServer first(answering(stream(body)));
    const WireServer second(openAiScript({}));
    RunFixture fixture(first.url("/v1"));
    fixture.addModel("second", second.url("/v1"));
    fixture.entry().fallback = "local/second\n";
    fixture.publish();
    StartedRun run(fixture.run("hi"));
    QVERIFY(run.runToEnd());
    QVERIFY(run.seen.isWellFormed());
    QCOMPARE(run.seen.doneStatus(), std::string("error"));
    QCOMPARE(run.seen.recovered(), std::string());
    QCOMPARE(run.seen.last(abi::EventType::Done)->model, std::string("local/custom-model"));
    QCOMPARE(first.requests().size(), 1u);
    QCOMPARE(second.accepted(), 0);
}

void FallbackTest::invalidRequestStaysWhereItIs()
{
    const WireServer first(answering(apiError(400)));
    const WireServer second(openAiScript({}));
    RunFixture fixture(first.url("/v1"));
    fixture.addModel("second", second.url("/v1"));
    fixture.entry().fallback = "local/second\n";
    fixture.publish();
    StartedRun run(fixture.run("hi"));
    QVERIFY(run.runToEnd());
    QVERIFY(run.seen.isWellFormed());
    QCOMPARE(run.seen.types(), std::string("start error done"));
    QCOMPARE(run.seen.errorCode(), EINVAL);
    QCOMPARE(second.accepted(), 0);
}

void FallbackTest::missingKeyAndRefusedConnectionMoveOn()
{
    const ClosedPort closed;
    const WireServer third(openAiScript({.chunks = 1}));
    RunFixture fixture;
    fixture.addModel("second", closed.url());
    fixture.addModel("third", third.url("/v1"));
    fixture.provider().needsKey = true;
    fixture.entry().fallback = "local/second\nlocal/third\n";
    fixture.publish();
    StartedRun run(fixture.run("hi"));
    QVERIFY(run.runToEnd());
    QVERIFY(run.seen.isWellFormed());
    QCOMPARE(run.seen.recovered(), "ENOKEY local/custom-model, " + times(3, std::string("ECONNREFUSED local/second")));
    QCOMPARE(run.seen.last(abi::EventType::Done)->model, std::string("local/third"));
}

void FallbackTest::missingModelIsAnnounced()
{
    const WireServer first(answering(apiError(401)));
    RunFixture fixture(first.url("/v1"));
    fixture.entry().fallback = "local/gone\ndebug/echo\nlocal/gone-too\n";
    fixture.publish();
    StartedRun run(fixture.run("hi"));
    QVERIFY(run.runToEnd());
    QVERIFY(run.seen.isWellFormed());
    QCOMPARE(run.seen.recovered(), std::string("EACCES local/custom-model, ENOENT local/gone"));
    QCOMPARE(run.seen.deltas(), std::string("hi"));
    QCOMPARE(run.seen.last(abi::EventType::Done)->model, std::string("debug/echo"));

    // With nobody left the failure of the one that was asked counts.
    fixture.entry().fallback = "local/gone\n";
    fixture.publish();
    StartedRun second(fixture.run("hi"));
    QVERIFY(second.runToEnd());
    QVERIFY(second.seen.isWellFormed());
    QCOMPARE(second.seen.recovered(), std::string("ENOENT local/gone"));
    QCOMPARE(second.seen.errorCode(), EACCES);
}

void FallbackTest::tooLongGoesToALargerLimit_data()
{
    QTest::addColumn<int>("limit"); // 0: unknown
    QTest::addColumn<int>("secondLimit");
    QTest::addColumn<int>("thirdLimit");
    QTest::addColumn<std::string>("answeredBy"); // empty: EMSGSIZE
    QTest::newRow("larger") << 1000 << 2000 << 0 << std::string("local/second");
    QTest::newRow("smaller, then larger") << 1000 << 500 << 2000 << std::string("local/third");
    QTest::newRow("unknown, then larger") << 1000 << 0 << 1001 << std::string("local/third");
    QTest::newRow("equal") << 1000 << 1000 << 0 << std::string();
    QTest::newRow("own limit unknown") << 0 << 2000 << 3000 << std::string();
}

void FallbackTest::tooLongGoesToALargerLimit()
{
    QFETCH(int, limit);
    QFETCH(int, secondLimit);
    QFETCH(int, thirdLimit);
    QFETCH(std::string, answeredBy);
    const auto limitOf = [](int tokens) {
        return tokens == 0 ? std::optional<std::uint32_t>() : std::optional(static_cast<std::uint32_t>(tokens));
    };
    const WireServer first(answering(apiError(413)));
    const WireServer other(openAiScript({.chunks = 1}));
    RunFixture fixture(first.url("/v1"));
    fixture.entry().limit = limitOf(limit);
    fixture.addModel("second", other.url("/v1")).limit = limitOf(secondLimit);
    fixture.addModel("third", other.url("/v1")).limit = limitOf(thirdLimit);
    fixture.entry().fallback = "local/second\nlocal/third\n";
    fixture.publish();
    StartedRun run(fixture.run("hi"));
    QVERIFY(run.runToEnd());
    QVERIFY(run.seen.isWellFormed());
    QCOMPARE(run.seen.last(abi::EventType::Done)->model, answeredBy);
    QCOMPARE(errnoName(run.seen.errorCode()), errnoName(answeredBy.empty() ? EMSGSIZE : 0));
    QCOMPARE(first.requests().size(), 1u);
}

void FallbackTest::lastFailureEndsTheRun()
{
    const WireServer first(answering(apiError(401)));
    const WireServer second(answering(apiError(402)));
    RunFixture fixture(first.url("/v1"));
    fixture.addModel("second", second.url("/v1"));
    fixture.entry().fallback = "local/second\n";
    fixture.publish();
    StartedRun run(fixture.run("hi"));
    QVERIFY(run.runToEnd());
    QVERIFY(run.seen.isWellFormed());
    QCOMPARE(run.seen.types(), std::string("start error error done"));
    QCOMPARE(run.seen.recovered(), std::string("EACCES local/custom-model"));
    QCOMPARE(run.seen.errorCode(), EDQUOT);
    QVERIFY(run.seen.last(abi::EventType::Done)->model.empty());
}

void FallbackTest::everyCandidateIsAskedInOrder()
{
    const WireServer bad(answering(apiError(401)));
    const WireServer good(openAiScript({.chunks = 1}));
    RunFixture fixture(bad.url("/v1"));
    std::string expected = "EACCES local/custom-model";
    for (int i = 1; i <= limits::kFallbacks; ++i) {
        const std::string name = "m" + std::to_string(i);
        fixture.addModel(name, i == limits::kFallbacks ? good.url("/v1") : bad.url("/v1"));
        fixture.entry().fallback += "local/" + name + "\n";
        expected += i == limits::kFallbacks ? "" : ", EACCES local/" + name;
    }
    fixture.publish();
    StartedRun run(fixture.run("hi"));
    QVERIFY(run.runToEnd());
    QVERIFY(run.seen.isWellFormed());
    QVERIFY2(run.seen.recovered() == expected, run.seen.json().c_str());
    QCOMPARE(run.seen.last(abi::EventType::Done)->model, std::string("local/m16"));
}

void FallbackTest::modelWithoutDriverOrEndpointMovesOn()
{
    RunFixture fixture;
    fixture.addModel("second", "http://127.0.0.1:9/v1").provider = nullptr;
    fixture.entry().driver = "default=of-another-build\n";
    fixture.entry().fallback = "local/second\ndebug/echo\n";
    fixture.publish();
    StartedRun run(fixture.run("hi"));
    QVERIFY(run.runToEnd());
    QVERIFY(run.seen.isWellFormed());
    QCOMPARE(run.seen.recovered(), std::string("ENOTSUP local/custom-model, ENOTSUP local/second"));
    QCOMPARE(run.seen.deltas(), std::string("hi"));
}

void FallbackTest::builtInModelFallsBackWithoutARetry()
{
    RunFixture fixture;
    fixture.entry().ref.model = "script";
    fixture.entry().driver = "debug\n";
    fixture.entry().fallback = "debug/echo\n";
    fixture.publish();
    StartedRun run(fixture.run("fail EHOSTDOWN", "local/script"));
    QVERIFY(run.runToEnd());
    QVERIFY(run.seen.isWellFormed());
    QCOMPARE(run.seen.recovered(), std::string("EHOSTDOWN local/script"));
    QCOMPARE(run.seen.deltas(), std::string("fail EHOSTDOWN"));
    StartedRun late(fixture.run("say a\nfail EHOSTDOWN", "local/script"));
    QVERIFY(late.runToEnd());
    QVERIFY(late.seen.isWellFormed());
    QCOMPARE(late.seen.errorCode(), EHOSTDOWN);
    QCOMPARE(late.seen.recovered(), std::string());
}

void FallbackTest::nextDriverOfTheListIsTried_data()
{
    QTest::addColumn<int>("status");
    QTest::addColumn<std::string>("code"); // of the first driver; empty: the second is not tried
    QTest::newRow("404") << 404 << std::string("ENOENT");
    QTest::newRow("405") << 405 << std::string("ENOTSUP");
    QTest::newRow("501") << 501 << std::string("ENOTSUP");
    QTest::newRow("401") << 401 << std::string();
    QTest::newRow("400") << 400 << std::string();
}

void FallbackTest::nextDriverOfTheListIsTried()
{
    QFETCH(int, status);
    QFETCH(std::string, code);
    const WireServer server([status](WirePeer &peer) {
        const auto request = peer.readRequest();
        if (request && request->target == "/v1/responses")
            peer.send(closing(apiError(status)));
        else if (request)
            peer.send(stream(chatBody({"hello"})));
    });
    RunFixture fixture(server.url("/v1"));
    fixture.entry().driver = "default=openai-chat\nexec=openai-responses,openai-chat\n";
    fixture.publish();
    StartedRun run(fixture.run("hi"));
    QVERIFY(run.runToEnd());
    QVERIFY(run.seen.isWellFormed());
    QCOMPARE(run.seen.recovered(), code.empty() ? code : code + " local/custom-model");
    QCOMPARE(run.seen.doneStatus(), std::string(code.empty() ? "error" : "ok"));
    QCOMPARE(server.requests().size(), code.empty() ? 1u : 2u);
}

void FallbackTest::driverGoesByThePurpose()
{
    const WireServer server(answering(apiError(401)));
    RunFixture fixture(server.url("/v1"));
    fixture.entry().driver =
        "agent=of-another-build,openai-responses\nsocket=anthropic-messages\ndefault=openai-chat\n";
    fixture.publish();
    for (const abi::Purpose purpose : {abi::Purpose::Exec, abi::Purpose::Socket, abi::Purpose::Agent}) {
        StartedRun run(fixture.run(requestFor(purpose)));
        QVERIFY(run.runToEnd());
        QVERIFY(run.seen.isWellFormed());
    }
    QCOMPARE(server.requests().size(), 3u);
    QCOMPARE(server.requests().at(0).target, std::string("/v1/chat/completions"));
    QVERIFY(server.requests().at(1).target.ends_with("/messages"));
    QCOMPARE(server.requests().at(2).target, std::string("/v1/responses"));
}

void FallbackTest::bytesCountOverAllAttempts()
{
    const std::string comment = chunk(": " + std::string(30'000, 'x') + "\n\n");
    const WireServer first([&](WirePeer &peer) {
        peer.readRequest();
        peer.send(streamHead());
        peer.offer(40u << 20, 20'000, comment);
        peer.reset();
    });
    const WireServer second(openAiScript({}));
    RunFixture fixture(first.url("/v1"));
    fixture.entry().limit = 1000;
    fixture.addModel("second", second.url("/v1")).limit = 2000;
    fixture.entry().fallback = "local/second\n";
    fixture.publish();
    StartedRun run(fixture.run("hi"));
    QVERIFY(run.runToEnd(60'000));
    QVERIFY(run.seen.isWellFormed());
    QCOMPARE(run.seen.recovered(), std::string("ECONNRESET local/custom-model"));
    QCOMPARE(errnoName(run.seen.errorCode()), errnoName(EMSGSIZE));
    // Nothing is left for another one, however large its limit.
    QCOMPARE(second.accepted(), 0);
}

QTEST_GUILESS_MAIN(FallbackTest)
#include "fallback_test.moc"
