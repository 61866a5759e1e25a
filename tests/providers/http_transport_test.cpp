// One exchange at a time: what arrives, and which errno each way of failing has.
#include "common/base/unique_fd.h"
#include "daemon/providers/core/qnam_transport.h"
#include "tests/providers/stream_probe.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wire_replies.h"
#include "tests/support/wire_server.h"

#include <QDeadlineTimer>
#include <QPointer>
#include <QProcess>
#include <QSslCertificate>
#include <QSslConfiguration>
#include <QSslKey>
#include <QSslServer>
#include <QTest>
#include <QThread>

#include <algorithm>

#include <netinet/in.h>
#include <sys/socket.h>

using namespace cortexfs;
using namespace cortexfs::test;
using providers::HttpCredential;
using providers::HttpRequest;
using providers::QnamTransport;

namespace {

constexpr char kCanary[] = "sk-canary-5f1e7c";

HttpRequest post(const std::string &url, std::string body = R"({"model":"m"})")
{
    HttpRequest request;
    request.url = url;
    request.headers = {{"Content-Type", "application/json"}, {"Accept", "text/event-stream"}};
    request.body = std::move(body);
    return request;
}

HttpRequest withKey(HttpRequest request)
{
    request.credential = HttpCredential{"Authorization", "Bearer ", SecretString(kCanary)};
    return request;
}

// A port on which nobody listens: bound, so that nobody else gets it, and never listened on.
std::uint16_t refusingPort(UniqueFd &holder)
{
    holder = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(holder.get(), reinterpret_cast<sockaddr *>(&address), sizeof address);
    socklen_t length = sizeof address;
    ::getsockname(holder.get(), reinterpret_cast<sockaddr *>(&address), &length);
    return ntohs(address.sin_port);
}

WireServer::Script answerOnce(std::string bytes)
{
    return [bytes = std::move(bytes)](WirePeer &peer) {
        if (peer.readRequest())
            peer.send(bytes);
    };
}

} // namespace

Q_DECLARE_METATYPE(WireServer::Script)

class HttpTransportTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void replyArrives_data();
    void replyArrives();
    void replyArrivesHoweverItIsSplit_data();
    void replyArrivesHoweverItIsSplit();
    void failureHasItsErrno_data();
    void failureHasItsErrno();
    void hostThatCannotBeReachedHasItsErrno();
    void requestIsRefusedBeforeItIsSent_data();
    void requestIsRefusedBeforeItIsSent();
    void requestIsWhatWasAsked();
    void largeBodyArrivesWhole();
    void noKeyMeansNoAuthorizationHeader();
    void redirectIsHandedOnAndKeepsTheKey_data();
    void redirectIsHandedOnAndKeepsTheKey();
    void postIsSentOnceWhenThePeerClosesBeforeReplying();
    void cookiesAreNotKept();
    void silentTlsPeerEndsWithTheConnectTimer();
    void untrustedCertificateIsRefusedWithTheReason();
    void environmentProxyIsIgnoredUnlessAskedFor();
    void abortReachesThePeerWithoutOurEventLoop();
    void connectionIsUsedAgainAfterRetire();
    void retireOfAnEndlessReplyClosesIt();
    void managersGoWhenIdle();
};

void HttpTransportTest::replyArrives_data()
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
    row("gzip", reply(200, "text/plain", gzip("hello hello hello"), {"Content-Encoding: gzip"}), 200,
        "hello hello hello");
    row("after 100 Continue", "HTTP/1.1 100 Continue\r\n\r\n" + reply(200, "text/plain", "hello"), 200, "hello");
    row("an error status with its body", reply(429, "application/json", "{\"error\":1}"), 429, "{\"error\":1}");
    row("400 with its body", reply(400, "application/json", "{\"error\":1}"), 400, "{\"error\":1}");
    row("401 with a challenge keeps its body",
        reply(401, "application/json", "{\"e\":1}", {"WWW-Authenticate: Basic realm=\"x\""}), 401, "{\"e\":1}");
    row("404", reply(404, "text/html", "<html>"), 404, "<html>");
    row("529, a status nobody registered", reply(529, "text/plain", "busy"), 529, "busy");
    row("500 with an empty body", reply(500, "text/plain", ""), 500, "");
}

void HttpTransportTest::replyArrives()
{
    QFETCH(QByteArray, bytes);
    QFETCH(int, status);
    QFETCH(QByteArray, body);
    const WireServer server(answerOnce(bytes.toStdString()));
    QnamTransport transport;
    StreamProbe probe(transport, withKey(post(server.url("/v1/x"))));
    QTRY_VERIFY(probe.isOver());
    QCOMPARE(probe.outcome(), std::string());
    QCOMPARE(probe.status(), status);
    QCOMPARE(probe.heads, 1);
    QCOMPARE(QByteArray::fromStdString(probe.body), body);
    QCOMPARE(server.requests().size(), 1u);
}

void HttpTransportTest::replyArrivesHoweverItIsSplit_data()
{
    QTest::addColumn<int>("size");
    for (const int size : {1, 2, 3, 7, 64})
        QTest::addRow("in pieces of %d bytes", size) << size;
}

void HttpTransportTest::replyArrivesHoweverItIsSplit()
{
    QFETCH(int, size);
    const std::string body = chatBody({"hel", "lo"});
    const WireServer server([&](WirePeer &peer) {
        if (peer.readRequest())
            peer.sendSplit(streamHead() + chunk(body.substr(0, 20)) + chunk(body.substr(20)) + chunk(""),
                           static_cast<std::size_t>(size));
    });
    QnamTransport transport;
    StreamProbe probe(transport, post(server.url("/v1/x")));
    QTRY_VERIFY(probe.isOver());
    QCOMPARE(probe.outcome(), std::string());
    QCOMPARE(probe.body, body);
    QCOMPARE(probe.header("Content-Type"), std::string("text/event-stream"));
}

void HttpTransportTest::failureHasItsErrno_data()
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
        "ECONNRESET");
    row(
        "broken gzip",
        [](WirePeer &peer) {
            peer.readRequest();
            peer.send(reply(200, "text/plain", "this is no gzip", {"Content-Encoding: gzip"}));
        },
        "EBADMSG");
}

void HttpTransportTest::failureHasItsErrno()
{
    QFETCH(WireServer::Script, script);
    QFETCH(QByteArray, name);
    QFETCH(QByteArray, bodyBefore);
    WireServer server(script);
    QnamTransport transport;
    HttpRequest request = withKey(post(server.url("/v1/x")));
    request.firstByteMs = 300;
    StreamProbe probe(transport, std::move(request));
    QTRY_VERIFY(probe.isOver() || !probe.body.empty());
    server.signal("seen");
    QTRY_VERIFY(probe.isOver());
    QCOMPARE(QByteArray::fromStdString(probe.outcome()), name);
    QCOMPARE(QByteArray::fromStdString(probe.body), bodyBefore);
    QVERIFY(probe.message().find(kCanary) == std::string::npos);
    QVERIFY2(probe.message().find("127.0.0.1:") != std::string::npos, probe.message().c_str());
}

void HttpTransportTest::hostThatCannotBeReachedHasItsErrno()
{
    QnamTransport transport;
    UniqueFd holder;
    StreamProbe refused(transport, post("http://127.0.0.1:" + std::to_string(refusingPort(holder)) + "/v1/x"));
    QTRY_VERIFY(refused.isOver());
    QCOMPARE(refused.outcome(), std::string("ECONNREFUSED"));
    // RFC 6761: this name never resolves.
    StreamProbe unknown(transport, post("http://no-such-host.invalid/v1/x"));
    QTRY_VERIFY_WITH_TIMEOUT(unknown.isOver(), 15'000);
    QCOMPARE(unknown.outcome(), std::string("EHOSTUNREACH"));
}

void HttpTransportTest::requestIsRefusedBeforeItIsSent_data()
{
    QTest::addColumn<QByteArray>("url");
    QTest::addColumn<QByteArray>("header");
    QTest::addColumn<QByteArray>("value");
    QTest::addColumn<QByteArray>("key");
    const auto row = [](const char *title, const char *url, const char *header, const char *value, const char *key) {
        QTest::newRow(title) << QByteArray(url) << QByteArray(header) << QByteArray(value) << QByteArray(key);
    };
    row("line break in a header value", "http://h/v1", "X-A", "a\r\nX-Evil: 1", "k");
    row("bare line feed in a header value", "http://h/v1", "X-A", "a\nX-Evil: 1", "k");
    row("line break in a header name", "http://h/v1", "X-A\r\nX-Evil", "1", "k");
    row("blank in a header name", "http://h/v1", "X A", "1", "k");
    row("empty header name", "http://h/v1", "", "1", "k");
    row("line break in the key", "http://h/v1", "X-A", "1", "k\r\nX-Evil: 1");
    row("Accept-Encoding turns decompression off", "http://h/v1", "accept-encoding", "gzip", "k");
    row("Content-Length belongs to the transport", "http://h/v1", "Content-Length", "1", "k");
    row("password in the URL", "http://user:secret@h/v1", "X-A", "1", "k");
    row("another scheme", "ftp://h/v1", "X-A", "1", "k");
    row("no host", "http:///v1", "X-A", "1", "k");
    row("no URL", "http://[::1/v1", "X-A", "1", "k");
}

void HttpTransportTest::requestIsRefusedBeforeItIsSent()
{
    QFETCH(QByteArray, url);
    QFETCH(QByteArray, header);
    QFETCH(QByteArray, value);
    QFETCH(QByteArray, key);
    QnamTransport transport;
    HttpRequest request = post(url.toStdString());
    request.headers.emplace_back(header.toStdString(), value.toStdString());
    request.credential = HttpCredential{"Authorization", "Bearer ", SecretString(key.toStdString())};
    const StreamProbe probe(transport, std::move(request));
    QVERIFY(probe.refusal());
    QCOMPARE(probe.refusal()->number(), EINVAL);
    QVERIFY(probe.refusal()->message().find("Evil: 1") == std::string::npos);
    QVERIFY(probe.refusal()->message().find("secret") == std::string::npos);
    QCOMPARE(transport.managerCount(), 0u);
}

void HttpTransportTest::requestIsWhatWasAsked()
{
    const WireServer server(answerOnce(reply(200, "text/plain", "")));
    QnamTransport transport;
    HttpRequest request = withKey(post(server.url("/base/v1/x?api-version=2"), "{\"b\":1,\"a\":2}"));
    request.headers.emplace_back("X-Static", "first");
    request.headers.emplace_back("X-Static", "second");
    StreamProbe probe(transport, std::move(request));
    QTRY_VERIFY(probe.isOver());
    const CapturedRequest seen = server.requests().at(0);
    QCOMPARE(seen.method, std::string("POST"));
    QCOMPARE(seen.target, std::string("/base/v1/x?api-version=2"));
    QCOMPARE(seen.body, std::string("{\"b\":1,\"a\":2}"));
    QCOMPARE(seen.header("Authorization"), std::string("Bearer ") + kCanary);
    QCOMPARE(seen.header("Content-Type"), std::string("application/json"));
    QCOMPARE(seen.header("Content-Length"), std::string("13"));
    QCOMPARE(seen.header("X-Static"), std::string("second"));
    QVERIFY(!seen.hasHeader("Transfer-Encoding"));
    QVERIFY(seen.header("Accept-Encoding").find("gzip") != std::string::npos);
    QVERIFY(seen.header("User-Agent").starts_with("cortexfs/"));

    HttpRequest get;
    get.method = HttpRequest::Method::Get;
    get.url = server.url("/v1/models");
    StreamProbe second(transport, std::move(get));
    QTRY_VERIFY(second.isOver());
    QCOMPARE(second.outcome(), std::string());
    QCOMPARE(server.requests().at(1).method, std::string("GET"));
}

void HttpTransportTest::largeBodyArrivesWhole()
{
    std::string body;
    for (int i = 0; body.size() < 16 * 1024 * 1024; ++i)
        body += std::to_string(i) + ",";
    const WireServer server(answerOnce(reply(200, "text/plain", "ok")));
    QnamTransport transport;
    StreamProbe probe(transport, post(server.url("/v1/x"), body));
    QVERIFY(probe.runUntilOver(30'000));
    QCOMPARE(probe.body, std::string("ok"));
    QVERIFY(server.requests().at(0).body == body);
}

void HttpTransportTest::noKeyMeansNoAuthorizationHeader()
{
    const WireServer server(answerOnce(reply(200, "text/plain", "")));
    QnamTransport transport;
    StreamProbe probe(transport, post(server.url("/v1/x")));
    QTRY_VERIFY(probe.isOver());
    QVERIFY(!server.requests().at(0).hasHeader("Authorization"));
}

void HttpTransportTest::redirectIsHandedOnAndKeepsTheKey_data()
{
    QTest::addColumn<int>("status");
    for (const int status : {301, 302, 303, 307, 308})
        QTest::addRow("%d", status) << status;
}

void HttpTransportTest::redirectIsHandedOnAndKeepsTheKey()
{
    QFETCH(int, status);
    const WireServer target(answerOnce(reply(200, "text/plain", "stolen")));
    const WireServer server(answerOnce(reply(status, "text/plain", "moved", {"Location: " + target.url("/v1/x")})));
    QnamTransport transport;
    StreamProbe probe(transport, withKey(post(server.url("/v1/x"))));
    QTRY_VERIFY(probe.isOver());
    QCOMPARE(probe.status(), status);
    QCOMPARE(probe.outcome(), std::string());
    QCOMPARE(target.accepted(), 0);
}

void HttpTransportTest::postIsSentOnceWhenThePeerClosesBeforeReplying()
{
    // The second exchange of the first connection is a warm one, where Qt is most eager to send again.
    const WireServer server([](WirePeer &peer) {
        if (!peer.readRequest() || peer.index() > 0)
            return;
        peer.send(streamHead() + chunk("ok"));
        peer.pause(20);
        peer.send(chunk(""));
        peer.readRequest();
    });
    QnamTransport transport;
    StreamProbe warmUp(transport, post(server.url("/v1/x")));
    QTRY_VERIFY(warmUp.isOver());
    for (const char *body : {"{\"on\":\"warm\"}", "{\"on\":\"new\"}"}) {
        StreamProbe probe(transport, post(server.url("/v1/x"), body));
        QTRY_VERIFY(probe.isOver());
        QCOMPARE(probe.outcome(), std::string("ECONNRESET"));
        QTRY_COMPARE(server.openConnections(), 0);
        const std::vector<CapturedRequest> seen = server.requests();
        QCOMPARE(std::count_if(seen.begin(), seen.end(), [&](const auto &request) { return request.body == body; }), 1);
    }
    QCOMPARE(server.requests().at(1).connection, 0);
}

void HttpTransportTest::cookiesAreNotKept()
{
    const WireServer server([](WirePeer &peer) {
        while (peer.readRequest())
            peer.send(reply(200, "text/plain", "ok", {"Set-Cookie: id=1; Path=/"}));
    });
    QnamTransport transport;
    for (int i = 0; i < 2; ++i) {
        StreamProbe probe(transport, post(server.url("/v1/x")));
        QTRY_VERIFY(probe.isOver());
    }
    QVERIFY(!server.requests().at(1).hasHeader("Cookie"));
}

void HttpTransportTest::silentTlsPeerEndsWithTheConnectTimer()
{
    const WireServer server([](WirePeer &peer) { peer.stall(); });
    QnamTransport transport;
    HttpRequest request = post("https://127.0.0.1:" + std::to_string(server.port()) + "/v1/x");
    request.connectMs = 300;
    StreamProbe probe(transport, std::move(request));
    QTRY_VERIFY(probe.isOver());
    QCOMPARE(probe.outcome(), std::string("ETIMEDOUT"));
    QVERIFY(probe.message().find("300 ms") != std::string::npos);
    QTRY_COMPARE(server.openConnections(), 0);
    QCOMPARE(transport.managerCount(), 0u);
}

void HttpTransportTest::untrustedCertificateIsRefusedWithTheReason()
{
    const TempDir dir;
    QProcess openssl;
    openssl.start(QStringLiteral("openssl"),
                  {QStringLiteral("req"), QStringLiteral("-x509"), QStringLiteral("-newkey"), QStringLiteral("ec"),
                   QStringLiteral("-pkeyopt"), QStringLiteral("ec_paramgen_curve:prime256v1"), QStringLiteral("-nodes"),
                   QStringLiteral("-subj"), QStringLiteral("/CN=localhost"), QStringLiteral("-days"),
                   QStringLiteral("2"), QStringLiteral("-keyout"), QString::fromStdString(dir.path("key.pem")),
                   QStringLiteral("-out"), QString::fromStdString(dir.path("cert.pem"))});
    QVERIFY2(openssl.waitForFinished() && openssl.exitCode() == 0, "needs the openssl program");
    QSslConfiguration configuration = QSslConfiguration::defaultConfiguration();
    configuration.setLocalCertificate(QSslCertificate::fromPath(QString::fromStdString(dir.path("cert.pem"))).at(0));
    const std::string key = dir.read("key.pem");
    configuration.setPrivateKey(QSslKey(QByteArray::fromStdString(key), QSsl::Ec));
    QSslServer server;
    server.setSslConfiguration(configuration);
    QVERIFY(server.listen(QHostAddress::LocalHost));

    QnamTransport transport;
    StreamProbe probe(transport, withKey(post("https://localhost:" + std::to_string(server.serverPort()) + "/v1/x")));
    QTRY_VERIFY(probe.isOver());
    QCOMPARE(probe.outcome(), std::string("EPROTO"));
    QVERIFY2(probe.message().find("self-signed") != std::string::npos, probe.message().c_str());
    QCOMPARE(probe.heads, 0);

    // A peer that does not speak TLS at all.
    const WireServer plain([](WirePeer &peer) { peer.send(reply(400, "text/plain", "no TLS here")); });
    StreamProbe other(transport, withKey(post("https://localhost:" + std::to_string(plain.port()) + "/v1/x")));
    QTRY_VERIFY(other.isOver());
    QCOMPARE(other.outcome(), std::string("EPROTO"));
}

void HttpTransportTest::environmentProxyIsIgnoredUnlessAskedFor()
{
    const WireServer trap(answerOnce(reply(200, "text/plain", "from the trap")));
    const WireServer server(answerOnce(reply(200, "text/plain", "direct")));
    qputenv("http_proxy", QByteArray::fromStdString(trap.url()));
    qputenv("no_proxy", "");
    QnamTransport transport;
    StreamProbe direct(transport, withKey(post(server.url("/v1/x"))));
    QTRY_VERIFY(direct.isOver());
    QCOMPARE(direct.body, std::string("direct"));
    QCOMPARE(trap.accepted(), 0);

    HttpRequest request = post(server.url("/v1/x"));
    request.proxyFromEnvironment = true;
    StreamProbe proxied(transport, std::move(request));
    QTRY_VERIFY(proxied.isOver());
    qunsetenv("http_proxy");
    QCOMPARE(proxied.body, std::string("from the trap"));
    QCOMPARE(transport.managerCount(), 2u);
}

void HttpTransportTest::abortReachesThePeerWithoutOurEventLoop()
{
    WireServer server([](WirePeer &peer) {
        peer.readRequest();
        peer.send(streamHead() + chunk("x"));
        peer.waitForClose();
    });
    QnamTransport transport;
    StreamProbe probe(transport, post(server.url("/v1/x")));
    QTRY_COMPARE(probe.body, std::string("x"));
    probe.stream()->abort();
    // No event of ours is handled here: the close must not wait for us.
    const QDeadlineTimer deadline(5000);
    while (server.closedByPeer() == 0 && !deadline.hasExpired())
        QThread::yieldCurrentThread();
    QCOMPARE(server.closedByPeer(), 1);
    QCoreApplication::processEvents();
    QCOMPARE(probe.ends, 0);
}

void HttpTransportTest::connectionIsUsedAgainAfterRetire()
{
    const WireServer server([](WirePeer &peer) {
        while (peer.readRequest()) {
            peer.send(streamHead() + chunk(chatDone()));
            peer.pause(20); // the end is a packet of its own, as servers send it
            peer.send(chunk(""));
        }
    });
    QnamTransport transport;
    for (int i = 0; i < 5; ++i) {
        StreamProbe probe(transport, post(server.url("/v1/x")));
        QTRY_VERIFY(!probe.body.empty());
        providers::HttpStream *raw = probe.stream();
        QPointer<providers::HttpStream> watched(raw);
        providers::HttpStream::retire(probe.take());
        QTRY_VERIFY(watched.isNull());
    }
    QCOMPARE(server.requests().size(), 5u);
    QCOMPARE(server.accepted(), 1);
}

void HttpTransportTest::retireOfAnEndlessReplyClosesIt()
{
    const WireServer server([](WirePeer &peer) {
        peer.readRequest();
        peer.send(streamHead() + chunk(chatDone()));
        peer.offer(64 * 1024 * 1024, 10'000, chunk(": ping\n\n"));
        peer.waitForClose();
    });
    QnamTransport transport;
    StreamProbe probe(transport, post(server.url("/v1/x")));
    QTRY_VERIFY(!probe.body.empty());
    providers::HttpStream::retire(probe.take());
    QTRY_COMPARE(server.openConnections(), 0);
}

void HttpTransportTest::managersGoWhenIdle()
{
    const WireServer server(answerOnce(reply(200, "text/plain", "ok")));
    QnamTransport transport(100);
    QCOMPARE(transport.managerCount(), 0u);
    StreamProbe probe(transport, post(server.url("/v1/x")));
    QCOMPARE(transport.managerCount(), 1u);
    QTRY_VERIFY(probe.isOver());
    QTRY_COMPARE(transport.managerCount(), 0u);
}

QTEST_GUILESS_MAIN(HttpTransportTest)
#include "http_transport_test.moc"
