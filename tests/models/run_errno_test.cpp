// Every errno of a model run (decisions, section 6), reached by a server that behaves that way.
#include "common/base/limits.h"
#include "common/base/unique_fd.h"
#include "tests/models/run_fixture.h"
#include "tests/support/wire_replies.h"
#include "tests/support/wire_server.h"

#include <QTest>

#include <atomic>

#include <netinet/in.h>
#include <sys/socket.h>

using namespace cortexfs;
using namespace cortexfs::test;

namespace {

constexpr char kCanary[] = "canary-key-8841aa";

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

// A stream whose head is there and whose body is `body`, with its regular end.
std::string stream(const std::string &body) { return streamHead() + chunk(body) + chunk(""); }

bool isRetried(int code)
{
    return code == EAGAIN || code == EHOSTDOWN || code == ETIMEDOUT || code == ECONNREFUSED || code == ECONNRESET;
}

} // namespace

Q_DECLARE_METATYPE(WireServer::Script)

class RunErrnoTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void serverBehaviourHasItsErrno_data();
    void serverBehaviourHasItsErrno();
    void deliveryIsNoMatter_data();
    void deliveryIsNoMatter();
    void limitsOfAReply_data();
    void limitsOfAReply();
    void replyOverTheLimitIsTooLarge();
    void missingKeyNamesProviderAndSlot();
    void refusedAndUnknownHosts();
    void tlsFailureSaysWhy();
    void conversationThatCannotBeSentIsInvalid();
    void endpointThatIsNoUrlIsInvalid();
    void echoedKeyIsNotShown();
};

void RunErrnoTest::serverBehaviourHasItsErrno_data()
{
    QTest::addColumn<WireServer::Script>("script");
    QTest::addColumn<int>("code");
    QTest::addColumn<bool>("hasOutput");
    const auto row = [](const char *title, WireServer::Script script, int code, bool hasOutput = false) {
        QTest::newRow(title) << script << code << hasOutput;
    };
    row("400", answering(apiError(400)), EINVAL);
    row("422", answering(apiError(422)), EINVAL);
    row("413", answering(apiError(413)), EMSGSIZE);
    row("401", answering(apiError(401)), EACCES);
    row("403", answering(apiError(403)), EACCES);
    row("451", answering(apiError(451)), EACCES);
    row("402", answering(apiError(402)), EDQUOT);
    row("exhausted quota", answering(apiError(429, "insufficient_quota")), EDQUOT);
    row("404", answering(apiError(404)), ENOENT);
    row("410", answering(apiError(410)), ENOENT);
    row("405", answering(apiError(405)), ENOTSUP);
    row("415", answering(apiError(415)), ENOTSUP);
    row("501", answering(apiError(501)), ENOTSUP);
    row("408", answering(apiError(408)), ETIMEDOUT);
    row("504", answering(apiError(504)), ETIMEDOUT);
    row("524", answering(apiError(524)), ETIMEDOUT);
    row("409", answering(apiError(409)), EAGAIN);
    row("425", answering(apiError(425)), EAGAIN);
    row("429", answering(apiError(429)), EAGAIN);
    row("500", answering(apiError(500)), EHOSTDOWN);
    row("502 with an HTML page", answering(reply(502, "text/html", "<html>Bad gateway</html>")), EHOSTDOWN);
    row("503", answering(apiError(503)), EHOSTDOWN);
    row("529", answering(apiError(529)), EHOSTDOWN);
    row("HTML on 200", answering(reply(200, "text/html", "<html>Sign in</html>")), EBADMSG);
    row("garbage in the stream", answering(stream("data: {\"choices\":[{\n\n")), EBADMSG);
    row("broken gzip", answering(reply(200, "text/event-stream", "no gzip", {"Content-Encoding: gzip"})), EBADMSG);
    row("close before the reply", answering(""), ECONNRESET);
    row(
        "reset before the reply",
        [](WirePeer &peer) {
            peer.readRequest();
            peer.reset();
        },
        ECONNRESET);
    row("something that is no HTTP", answering("220 mail.example ESMTP\r\n\r\n"), EBADMSG);
    row("chunked stream cut in the middle", answering(streamHead() + chunk(chatDelta("hel"))), ECONNRESET, true);
    row("stream that ends without its terminal signal", answering(stream(chatDelta("hel"))), ECONNRESET, true);
    row("close-delimited stream that ends without its terminal signal",
        answering(replyHead(200, {"Content-Type: text/event-stream"}) + chatDelta("hel")), ECONNRESET, true);
    row("error event inside a 200 stream, by its own type",
        answering(stream("data: " + chatError("busy", "rate_limit_error") + "\n\n")), EAGAIN);
    row("error event that says nothing", answering(stream("data: {\"error\":{\"message\":\"odd\"}}\n\n")), EIO);
    row("redirect", answering(reply(302, "text/html", "", {"Location: http://127.0.0.1:9/"})), 0);
    row(
        "never a reply",
        [](WirePeer &peer) {
            peer.readRequest();
            peer.stall();
        },
        ETIMEDOUT);
    row(
        "head, then silence",
        [](WirePeer &peer) {
            peer.readRequest();
            peer.send(streamHead());
            peer.stall();
        },
        ETIMEDOUT);
    row(
        "comments for ever are no progress",
        [](WirePeer &peer) {
            peer.readRequest();
            peer.send(streamHead() + chunk(chatDelta("hel")));
            while (peer.send(chunk(": keep-alive\n\n")))
                peer.pause(50);
        },
        ETIMEDOUT, true);
}

void RunErrnoTest::serverBehaviourHasItsErrno()
{
    QFETCH(WireServer::Script, script);
    QFETCH(int, code);
    QFETCH(bool, hasOutput);
    const WireServer server(script);
    RunFixture fixture(server.url("/v1"), true);
    fixture.provider().timeouts = {.connectMs = 5000, .firstByteMs = 400, .idleMs = 400, .runMs = 30'000};
    fixture.publish();
    QVERIFY(fixture.secrets().set("local", "default", SecretString(kCanary)));
    StartedRun run(fixture.run("hello"));
    QVERIFY(run.runToEnd(60'000));
    QVERIFY(run.seen.isWellFormed());
    QCOMPARE(run.seen.doneStatus(), std::string("error"));
    QVERIFY(run.seen.errorCode() != 0);
    if (code != 0)
        QCOMPARE(errnoName(run.seen.errorCode()), errnoName(code));
    QCOMPARE(run.seen.deltas(), std::string(hasOutput ? "hel" : ""));
    // A failed reply never has a message or a call.
    QCOMPARE(run.seen.count(abi::EventType::Message), 0u);
    QVERIFY(!run.seen.errorMessage().empty());
    QVERIFY(run.seen.errorMessage().find("<html>") == std::string::npos);
    QVERIFY(run.seen.json().find(kCanary) == std::string::npos);
    QVERIFY(fixture.log().find(kCanary) == std::string::npos);
    QVERIFY2(fixture.log().find(std::string(" error ")) != std::string::npos, fixture.log().c_str());
    QVERIFY(fixture.log().find(errnoName(run.seen.errorCode())) != std::string::npos);
    // Twice more where that may help, and never after the answer has begun.
    QCOMPARE(server.requests().size(), !hasOutput && isRetried(run.seen.errorCode()) ? 3u : 1u);
    QCOMPARE(run.seen.count(abi::EventType::Error), server.requests().size());
    QTRY_COMPARE(server.openConnections(), 0);
}

void RunErrnoTest::deliveryIsNoMatter_data()
{
    QTest::addColumn<WireServer::Script>("script");
    const auto row = [](const char *title, WireServer::Script script) { QTest::newRow(title) << script; };
    const std::string body = chatBody({"hel", "lo"});
    row("in one piece", answering(stream(body)));
    row("byte by byte", [body](WirePeer &peer) {
        if (peer.readRequest())
            peer.sendSplit(stream(body), 1);
    });
    row("a chunk a byte", [body](WirePeer &peer) {
        std::string bytes = streamHead();
        for (const char c : body)
            bytes += chunk(std::string(1, c));
        if (peer.readRequest())
            peer.send(bytes + chunk(""));
    });
    row("gzip", answering(reply(200, "text/event-stream", gzip(body), {"Content-Encoding: gzip"})));
    row("wrong content type", answering(reply(200, "text/plain", body)));
    row("HTTP/1.0, ended by the close", answering("HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + body));
    row("100 Continue before the reply", answering("HTTP/1.1 100 Continue\r\n\r\n" + stream(body)));
    row("comments and pings around it",
        answering(stream(": hello\n\n" + std::string("event: ping\n\n") + body + ": bye\n\n")));
}

void RunErrnoTest::deliveryIsNoMatter()
{
    QFETCH(WireServer::Script, script);
    const WireServer server(script);
    RunFixture fixture(server.url("/v1"));
    StartedRun run(fixture.run("hello"));
    QVERIFY(run.runToEnd(60'000));
    QVERIFY(run.seen.isWellFormed());
    QCOMPARE(run.seen.types(), std::string("start delta delta message usage done"));
    QCOMPARE(run.seen.deltas(), std::string("hello"));
    QCOMPARE(server.requests().size(), 1u);
}

void RunErrnoTest::limitsOfAReply_data()
{
    QTest::addColumn<std::string>("body");
    QTest::addColumn<bool>("hasOutput");
    QTest::newRow("an event over 8 MiB") << "data: " + std::string(limits::kSseEvent + 1, ' ') + "\n\n" << false;
    std::string text;
    const std::string piece(64 * limits::kKiB, 'x');
    for (std::size_t size = 0; size <= limits::kMessageText; size += piece.size())
        text += chatDelta(piece);
    QTest::newRow("a text over 768 KiB") << text << true;
    QTest::newRow("arguments over 256 KiB")
        << "data: "
           "{\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"1\",\"function\":{"
           "\"name\":\"f\",\"arguments\":\""
               + std::string(limits::kToolArguments + 1, 'x') + "\"}}]}}]}\n\n"
        << false;
}

void RunErrnoTest::limitsOfAReply()
{
    QFETCH(std::string, body);
    QFETCH(bool, hasOutput);
    const WireServer server(answering(stream(body)));
    RunFixture fixture(server.url("/v1"));
    StartedRun run(fixture.run("hello"));
    QVERIFY(run.runToEnd(60'000));
    QVERIFY(run.seen.isWellFormed());
    QCOMPARE(errnoName(run.seen.errorCode()), errnoName(EMSGSIZE));
    QCOMPARE(run.seen.deltas().empty(), !hasOutput);
    QVERIFY(run.seen.deltas().size() <= limits::kMessageText);
    QCOMPARE(run.seen.count(abi::EventType::Message), 0u);
    QCOMPARE(server.requests().size(), 1u);
}

void RunErrnoTest::replyOverTheLimitIsTooLarge()
{
    std::atomic<std::size_t> taken{0};
    const WireServer server([&](WirePeer &peer) {
        peer.readRequest();
        peer.send(streamHead());
        taken = peer.offer(200u << 20, 20'000, chunk(": " + std::string(30'000, 'x') + "\n\n"));
    });
    RunFixture fixture(server.url("/v1"));
    StartedRun run(fixture.run("hello"));
    QVERIFY(run.runToEnd(60'000));
    QVERIFY(run.seen.isWellFormed());
    QCOMPARE(run.seen.errorCode(), EMSGSIZE);
    QTRY_COMPARE(server.openConnections(), 0);
    QVERIFY(taken.load() < (80u << 20));
}

void RunErrnoTest::missingKeyNamesProviderAndSlot()
{
    const WireServer server(answering(apiError(500)));
    RunFixture fixture(server.url("/v1"), true);
    StartedRun run(fixture.run("hello"));
    QVERIFY(run.runToEnd());
    QVERIFY(run.seen.isWellFormed());
    QCOMPARE(run.seen.errorCode(), ENOKEY);
    QVERIFY(run.seen.errorMessage().find("local") != std::string::npos);
    QVERIFY(run.seen.errorMessage().find("default") != std::string::npos);
    QCOMPARE(server.accepted(), 0);

    // One that anybody could read is as good as none, and the message says so.
    fixture.dir().write("secrets/provider/local/default", kCanary, 0644);
    StartedRun second(fixture.run("hello"));
    QVERIFY(second.runToEnd());
    QCOMPARE(second.seen.errorCode(), ENOKEY);
    QVERIFY(second.seen.errorMessage().find("0644") != std::string::npos);
    QVERIFY(second.seen.json().find(kCanary) == std::string::npos);
}

void RunErrnoTest::refusedAndUnknownHosts()
{
    // Bound, so that nobody else gets the port, and never listened on.
    const UniqueFd holder(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    QCOMPARE(::bind(holder.get(), reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
    socklen_t length = sizeof address;
    ::getsockname(holder.get(), reinterpret_cast<sockaddr *>(&address), &length);
    const std::string port = std::to_string(ntohs(address.sin_port));

    RunFixture refused("http://127.0.0.1:" + port + "/v1");
    StartedRun first(refused.run("hello"));
    QVERIFY(first.runToEnd());
    QCOMPARE(first.seen.errorCode(), ECONNREFUSED);
    QVERIFY(first.seen.errorMessage().find("127.0.0.1:" + port) != std::string::npos);

    RunFixture unknown("http://no-such-host.invalid/v1");
    StartedRun second(unknown.run("hello"));
    QVERIFY(second.runToEnd());
    QCOMPARE(second.seen.errorCode(), EHOSTUNREACH);
}

void RunErrnoTest::tlsFailureSaysWhy()
{
    const WireServer server([](WirePeer &peer) { peer.send("HTTP/1.1 400 Plain\r\n\r\n"); });
    RunFixture fixture("https://127.0.0.1:" + std::to_string(server.port()) + "/v1");
    StartedRun run(fixture.run("hello"));
    QVERIFY(run.runToEnd());
    QCOMPARE(run.seen.errorCode(), EPROTO);
    QVERIFY(run.seen.errorMessage().find("TLS") != std::string::npos);
}

void RunErrnoTest::conversationThatCannotBeSentIsInvalid()
{
    RunFixture fixture;
    models::Conversation conversation;
    models::Message orphan;
    orphan.role = models::Message::Role::Tool; // answers no call
    conversation.messages.push_back(orphan);
    StartedRun run(fixture.run(std::move(conversation), "local/custom-model"));
    QVERIFY(run.runToEnd());
    QVERIFY(run.seen.isWellFormed());
    QVERIFY(run.seen.errorCode() == EINVAL || run.seen.errorCode() == ECONNREFUSED);
}

void RunErrnoTest::endpointThatIsNoUrlIsInvalid()
{
    RunFixture fixture("http://user:pass@127.0.0.1/v1");
    StartedRun run(fixture.run("hello"));
    QVERIFY(run.runToEnd());
    QCOMPARE(run.seen.errorCode(), EINVAL);
    QVERIFY(run.seen.errorMessage().find("pass@") == std::string::npos);

    // A driver that speaks to a server, on a model that has none.
    RunFixture other;
    other.entry().driver = "debug\n";
    other.publish();
    StartedRun builtIn(other.run("hello"));
    QVERIFY(builtIn.runToEnd());
    QCOMPARE(builtIn.seen.deltas(), std::string("hello"));
}

void RunErrnoTest::echoedKeyIsNotShown()
{
    const WireServer server([](WirePeer &peer) {
        if (const auto request = peer.readRequest())
            peer.send(reply(401, "application/json",
                            chatError("wrong key " + request->header("Authorization") + " (" + kCanary + ")", "auth")));
    });
    RunFixture fixture(server.url("/v1"), true);
    QVERIFY(fixture.secrets().set("local", "default", SecretString(kCanary)));
    StartedRun run(fixture.run("hello"));
    QVERIFY(run.runToEnd());
    QCOMPARE(run.seen.errorCode(), EACCES);
    QVERIFY(run.seen.errorMessage().find("wrong key") != std::string::npos);
    QVERIFY(run.seen.json().find(kCanary) == std::string::npos);
    QVERIFY(fixture.log().find(kCanary) == std::string::npos);
}

QTEST_GUILESS_MAIN(RunErrnoTest)
#include "run_errno_test.moc"
