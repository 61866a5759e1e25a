#include "tests/providers/transport_conformance.h"

#include <QTest>

#include <algorithm>
#include <vector>

Q_DECLARE_METATYPE(cortexfs::test::WireServer::Script)

namespace cortexfs::test {

using providers::CurlTransport;
using providers::HttpCredential;
using providers::HttpRequest;

HttpRequest post(const std::string &url, std::string body)
{
    HttpRequest request;
    request.url = url;
    request.headers = {{"Content-Type", "application/json"}, {"Accept", "text/event-stream"}};
    request.body = std::move(body);
    return request;
}

HttpRequest postTo(const WireServer &server, std::string_view path, std::string body)
{
    HttpRequest request = post(server.url(path), std::move(body));
    request.unixSocket = server.socketPath();
    return request;
}

HttpRequest withKey(HttpRequest request)
{
    request.credential = HttpCredential{"Authorization", "Bearer ", SecretString(kCanary)};
    return request;
}

WireServer::Script answerOnce(std::string bytes)
{
    return [bytes = std::move(bytes)](WirePeer &peer) {
        if (peer.readRequest())
            peer.send(bytes);
    };
}

void TransportConformance::replyArrives_data()
{
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<int>("status");
    QTest::addColumn<QByteArray>("body");
    const auto row = [](const char *name, const std::string &bytes, int status, const std::string &body) {
        QTest::newRow(name) << QByteArray::fromStdString(bytes) << status << QByteArray::fromStdString(body);
    };
    row("with a content length", reply(200, "text/plain", "hello"), 200, "hello");
    row("empty", reply(200, "text/plain", ""), 200, "");
    row("chunked", streamHead() + chunk("hel") + chunk("lo") + chunk(""), 200, "hello");
    row("chunked with an extension and a trailer", streamHead() + "5;a=b\r\nhello\r\n0\r\nX-T: 1\r\n\r\n", 200,
        "hello");
    row("until the connection closes", replyHead(200, {"Content-Type: text/plain"}) + "hello", 200, "hello");
    row("HTTP/1.0 until the connection closes", "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nhello", 200,
        "hello");
    row("204 without a body", replyHead(204, {}), 204, "");
    row("gzip", reply(200, "text/plain", gzip("hello hello hello"), {"Content-Encoding: gzip"}), 200,
        "hello hello hello");
    row("gzip in chunks",
        replyHead(200, {"Content-Encoding: gzip", "Transfer-Encoding: chunked"}) + chunk(gzip("hello hello hello"))
            + chunk(""),
        200, "hello hello hello");
    row("after 103 and 102", replyHead(103, {"Link: </a>"}) + replyHead(102, {}) + reply(200, "text/plain", "hello"),
        200, "hello");
    row("after 100 Continue", "HTTP/1.1 100 Continue\r\n\r\n" + reply(200, "text/plain", "hello"), 200, "hello");
    row("an error status with its body", reply(429, "application/json", "{\"error\":1}"), 429, "{\"error\":1}");
    row("400 with its body", reply(400, "application/json", "{\"error\":1}"), 400, "{\"error\":1}");
    row("401 with a challenge keeps its body",
        reply(401, "application/json", "{\"e\":1}", {"WWW-Authenticate: Basic realm=\"x\""}), 401, "{\"e\":1}");
    row("HTML on 200", reply(200, "text/html", "<html>"), 200, "<html>");
    row("404", reply(404, "text/html", "<html>"), 404, "<html>");
    row("529, a status nobody registered", reply(529, "text/plain", "busy"), 529, "busy");
    row("500 with an empty body", reply(500, "text/plain", ""), 500, "");
}

void TransportConformance::replyArrives()
{
    QFETCH(QByteArray, bytes);
    QFETCH(int, status);
    QFETCH(QByteArray, body);
    const auto server = serve(answerOnce(bytes.toStdString()));
    CurlTransport transport;
    StreamProbe probe(transport, withKey(postTo(*server, "/v1/x")));
    QTRY_VERIFY(probe.isOver());
    QCOMPARE(probe.outcome(), std::string());
    QCOMPARE(probe.status(), status);
    QCOMPARE(probe.heads, 1);
    QCOMPARE(QByteArray::fromStdString(probe.body), body);
    QCOMPARE(server->requests().size(), 1u);
}

void TransportConformance::replyArrivesHoweverItIsSplit_data()
{
    QTest::addColumn<int>("size");
    for (const int size : {1, 2, 3, 7, 64})
        QTest::addRow("in pieces of %d bytes", size) << size;
}

void TransportConformance::replyArrivesHoweverItIsSplit()
{
    QFETCH(int, size);
    const std::string body = chatBody({"hel", "lo"});
    const auto server = serve([&](WirePeer &peer) {
        if (peer.readRequest())
            peer.sendSplit(streamHead() + chunk(body.substr(0, 20)) + chunk(body.substr(20)) + chunk(""),
                           static_cast<std::size_t>(size));
    });
    CurlTransport transport;
    StreamProbe probe(transport, postTo(*server, "/v1/x"));
    QTRY_VERIFY(probe.isOver());
    QCOMPARE(probe.outcome(), std::string());
    QCOMPARE(probe.body, body);
    QCOMPARE(probe.header("Content-Type"), std::string("text/event-stream"));
}

void TransportConformance::headKeepsItsOrderAndLosesOnlyTheCoding()
{
    const auto server = serve(answerOnce(reply(200, "text/plain", gzip("hello"),
                                               {"X-Second: 2", "x-first:  1 ", "X-Folded: a", "\tb", "X-Second: 3",
                                                "Content-Encoding: gzip", "X-Sixty: " + std::string(60 * 1024, 'x')})));
    CurlTransport transport;
    std::vector<providers::HttpHeader> seen;
    Result<std::unique_ptr<providers::HttpStream>> stream = transport.open(postTo(*server));
    QVERIFY(stream);
    connect(stream->get(), &providers::HttpStream::headReceived, this,
            [&](const providers::HttpHead &head) { seen = head.headers; });
    QTRY_COMPARE(seen.size(), 6u);
    seen.erase(seen.begin() + 4);
    const std::vector<providers::HttpHeader> expected = {
        {"X-Second", "2"}, {"x-first", "1"}, {"X-Folded", "a b"}, {"X-Second", "3"}, {"Content-Type", "text/plain"}};
    QCOMPARE(seen, expected);
}

void TransportConformance::failureHasItsErrno_data()
{
    using Script = WireServer::Script;
    QTest::addColumn<Script>("script");
    QTest::addColumn<QByteArray>("name");
    QTest::addColumn<QByteArray>("bodyBefore");
    const auto row = [](const char *title, Script script, const char *name, const char *body = "") {
        QTest::newRow(title) << script << QByteArray(name) << QByteArray(body);
    };
    row(
        "close before the reply", [](WirePeer &peer) { peer.readRequest(); }, "ECONNRESET");
    row(
        "reset before the reply",
        [](WirePeer &peer) {
            peer.readRequest();
            peer.reset();
        },
        "ECONNRESET");
    row(
        "close inside the head",
        [](WirePeer &peer) {
            peer.readRequest();
            peer.send("HTTP/1.1 200 OK\r\nContent-");
        },
        "ECONNRESET");
    row(
        "chunked reply cut short",
        [](WirePeer &peer) {
            peer.readRequest();
            peer.send(streamHead() + chunk("data: 1\n\n"));
        },
        "ECONNRESET", "data: 1\n\n");
    row(
        "content length not reached",
        [](WirePeer &peer) {
            peer.readRequest();
            peer.send(replyHead(200, {"Content-Length: 100"}) + "hello");
        },
        "ECONNRESET", "hello");
    row(
        "reset inside the body",
        [](WirePeer &peer) {
            peer.readRequest();
            peer.send(streamHead() + chunk("x"));
            peer.waitFor("seen");
            peer.reset();
        },
        "ECONNRESET", "x");
    row(
        "never a reply",
        [](WirePeer &peer) {
            peer.readRequest();
            peer.stall();
        },
        "ETIMEDOUT");
    row(
        "half a head, then silence",
        [](WirePeer &peer) {
            peer.readRequest();
            peer.send("HTTP/1.1 200 OK\r\n");
            peer.stall();
        },
        "ETIMEDOUT");
    row(
        "no HTTP at all",
        [](WirePeer &peer) {
            peer.readRequest();
            peer.send("SSH-2.0-OpenSSH_9.2\r\n\r\n");
        },
        "EBADMSG");
    row("a body without a head, as HTTP/0.9 has it", answerOnce("<html>hello</html>"), "EBADMSG");
    row("a chunk size that is no number", answerOnce(streamHead() + "xyz\r\nhello\r\n"), "EBADMSG");
    row("a change of protocols that nobody asked for", answerOnce(replyHead(101, {"Upgrade: websocket"}) + "hello"),
        "EBADMSG");
    row("a coding that nobody asked for", answerOnce(reply(200, "text/plain", "hello", {"Content-Encoding: zstd"})),
        "EBADMSG");
    row("a head of 80 lines of a kilobyte",
        answerOnce(replyHead(200, HeaderLines(80, "X-Long: " + std::string(1024, 'x')))), "EMSGSIZE");
    row("a head with a line of a megabyte", answerOnce(replyHead(200, {"X-Long: " + std::string(1024 * 1024, 'x')})),
        "EMSGSIZE");
    row(
        "interim heads without end",
        [](WirePeer &peer) {
            peer.readRequest();
            while (peer.send(replyHead(102, {"X-Wait: more"})))
                continue;
        },
        "EMSGSIZE");
    row(
        "broken gzip",
        [](WirePeer &peer) {
            peer.readRequest();
            peer.send(reply(200, "text/plain", "this is no gzip", {"Content-Encoding: gzip"}));
        },
        "EBADMSG");
}

void TransportConformance::failureHasItsErrno()
{
    QFETCH(WireServer::Script, script);
    QFETCH(QByteArray, name);
    QFETCH(QByteArray, bodyBefore);
    const auto server = serve(script);
    CurlTransport transport;
    HttpRequest request = withKey(postTo(*server, "/v1/x"));
    // A busy machine must not run out of time where something else is expected.
    request.firstByteMs = name == "ETIMEDOUT" ? 300 : 60'000;
    StreamProbe probe(transport, std::move(request));
    QTRY_VERIFY(probe.isOver() || !probe.body.empty());
    server->signal("seen");
    QTRY_VERIFY(probe.isOver());
    QCOMPARE(QByteArray::fromStdString(probe.outcome()), name);
    QCOMPARE(QByteArray::fromStdString(probe.body), bodyBefore);
    QVERIFY(probe.message().find(kCanary) == std::string::npos);
    QVERIFY2(probe.message().find(placeOf(*server)) != std::string::npos, probe.message().c_str());
}

void TransportConformance::requestIsRefusedBeforeItIsSent_data()
{
    QTest::addColumn<QByteArray>("url");
    QTest::addColumn<QByteArray>("header");
    QTest::addColumn<QByteArray>("value");
    QTest::addColumn<QByteArray>("key");
    QTest::addColumn<QByteArray>("socket");
    const auto row = [](const char *title, const char *url, const char *header, const char *value, const char *key,
                        const QByteArray &socket = {}) {
        QTest::newRow(title) << QByteArray(url) << QByteArray(header) << QByteArray(value) << QByteArray(key) << socket;
    };
    row("line break in a header value", "http://h/v1", "X-A", "a\r\nX-Evil: 1", "k");
    row("bare line feed in a header value", "http://h/v1", "X-A", "a\nX-Evil: 1", "k");
    row("line break in a header name", "http://h/v1", "X-A\r\nX-Evil", "1", "k");
    row("blank in a header name", "http://h/v1", "X A", "1", "k");
    row("empty header name", "http://h/v1", "", "1", "k");
    row("line break in the key", "http://h/v1", "X-A", "1", "k\r\nX-Evil: 1");
    row("Accept-Encoding turns decompression off", "http://h/v1", "accept-encoding", "gzip", "k");
    row("Content-Length belongs to the transport", "http://h/v1", "Content-Length", "1", "k");
    row("Expect belongs to the transport", "http://h/v1", "expect", "100-continue", "k");
    row("password in the URL", "http://user:secret@h/v1", "X-A", "1", "k");
    row("another scheme", "ftp://h/v1", "X-A", "1", "k");
    row("no host", "http:///v1", "X-A", "1", "k");
    row("no URL", "http://[::1/v1", "X-A", "1", "k");
    row("socket path that is not absolute", "http://h/v1", "X-A", "1", "k", "run/x.sock");
    row("socket path of 108 bytes", "http://h/v1", "X-A", "1", "k", "/" + QByteArray(107, 'x'));
    row("socket path with a NUL", "http://h/v1", "X-A", "1", "k", QByteArray("/run/\0x", 7));
}

void TransportConformance::requestIsRefusedBeforeItIsSent()
{
    QFETCH(QByteArray, url);
    QFETCH(QByteArray, header);
    QFETCH(QByteArray, value);
    QFETCH(QByteArray, key);
    QFETCH(QByteArray, socket);
    CurlTransport transport;
    HttpRequest request = post(url.toStdString());
    request.unixSocket = socket.toStdString();
    request.headers.emplace_back(header.toStdString(), value.toStdString());
    request.credential = HttpCredential{"Authorization", "Bearer ", SecretString(key.toStdString())};
    const StreamProbe probe(transport, std::move(request));
    QVERIFY(probe.refusal());
    QCOMPARE(probe.refusal()->number(), EINVAL);
    QVERIFY(probe.refusal()->message().find("Evil: 1") == std::string::npos);
    QVERIFY(probe.refusal()->message().find("secret") == std::string::npos);
    QVERIFY(transport.isIdle());
}

void TransportConformance::requestIsWhatWasAsked()
{
    const auto server = serve(answerOnce(reply(200, "text/plain", "")));
    CurlTransport transport;
    HttpRequest request = withKey(postTo(*server, "/base/v1/x?api-version=2", "{\"b\":1,\"a\":2}"));
    request.headers.emplace_back("X-Static", "first");
    request.headers.emplace_back("x-static", "second");
    request.headers.emplace_back("X-Empty", "");
    request.headers.emplace_back("Authorization", "Bearer of another");
    StreamProbe probe(transport, std::move(request));
    QTRY_VERIFY(probe.isOver());
    const CapturedRequest seen = server->requests().at(0);
    QCOMPARE(seen.method, std::string("POST"));
    QCOMPARE(seen.target, std::string("/base/v1/x?api-version=2"));
    QCOMPARE(seen.body, std::string("{\"b\":1,\"a\":2}"));
    QCOMPARE(seen.header("Authorization"), std::string("Bearer ") + kCanary);
    QCOMPARE(seen.header("Content-Type"), std::string("application/json"));
    QCOMPARE(seen.header("Content-Length"), std::string("13"));
    QCOMPARE(seen.header("X-Static"), std::string("second"));
    QVERIFY(seen.hasHeader("X-Empty"));
    QCOMPARE(std::count_if(seen.headers.begin(), seen.headers.end(),
                           [](const auto &header) { return header.first == "Authorization"; }),
             1);
    QVERIFY(!seen.hasHeader("Transfer-Encoding"));
    QVERIFY(seen.header("Accept-Encoding").find("gzip") != std::string::npos);
    QVERIFY(seen.header("User-Agent").starts_with("cortexfs/"));

    HttpRequest get = postTo(*server, "/v1/models");
    get.method = HttpRequest::Method::Get;
    StreamProbe second(transport, std::move(get));
    QTRY_VERIFY(second.isOver());
    QCOMPARE(second.outcome(), std::string());
    QCOMPARE(server->requests().at(1).method, std::string("GET"));
}

void TransportConformance::requestHasNothingThatNobodyGave()
{
    const auto server = serve(answerOnce(reply(200, "text/plain", "")));
    CurlTransport transport;
    HttpRequest request = postTo(*server, "/v1/x", "");
    request.headers.clear();
    StreamProbe probe(transport, std::move(request));
    QTRY_VERIFY(probe.isOver());
    const CapturedRequest seen = server->requests().at(0);
    QVERIFY(!seen.hasHeader("Authorization"));
    QVERIFY(!seen.hasHeader("Content-Type"));
    QVERIFY(!seen.hasHeader("Expect"));
    QVERIFY(!seen.hasHeader("Cookie"));
    QCOMPARE(seen.header("Content-Length"), std::string("0"));
}

void TransportConformance::largeBodyArrivesWhole()
{
    std::string body;
    for (int i = 0; body.size() < 16 * 1024 * 1024; ++i)
        body += std::to_string(i) + ",";
    const auto server = serve(answerOnce(reply(200, "text/plain", "ok")));
    CurlTransport transport;
    StreamProbe probe(transport, postTo(*server, "/v1/x", body));
    QVERIFY(probe.runUntilOver(30'000));
    QCOMPARE(probe.body, std::string("ok"));
    QVERIFY(server->requests().at(0).body == body);
}

void TransportConformance::redirectIsHandedOnAndKeepsTheKey_data()
{
    QTest::addColumn<int>("status");
    for (const int status : {301, 302, 303, 307, 308})
        QTest::addRow("%d", status) << status;
}

void TransportConformance::redirectIsHandedOnAndKeepsTheKey()
{
    QFETCH(int, status);
    const auto target = serve(answerOnce(reply(200, "text/plain", "stolen")));
    const auto server = serve(answerOnce(reply(status, "text/plain", "moved", {"Location: " + target->url("/v1/x")})));
    CurlTransport transport;
    StreamProbe probe(transport, withKey(postTo(*server, "/v1/x")));
    QTRY_VERIFY(probe.isOver());
    QCOMPARE(probe.status(), status);
    QCOMPARE(probe.outcome(), std::string());
    QCOMPARE(target->accepted(), 0);
}

} // namespace cortexfs::test
