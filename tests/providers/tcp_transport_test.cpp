// The transport over TCP: the whole suite, and what names, TLS and proxies add.
#include "common/base/unique_fd.h"
#include "tests/providers/transport_conformance.h"

#include <QElapsedTimer>
#include <QProcess>
#include <QSslCertificate>
#include <QSslConfiguration>
#include <QSslKey>
#include <QSslServer>
#include <QSslSocket>
#include <QTest>

#include <condition_variable>
#include <mutex>

#include <dlfcn.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

using namespace cortexfs;
using namespace cortexfs::test;
using providers::CurlTransport;
using providers::HttpRequest;

namespace {

constexpr char kSlowName[] = "slow.invalid";

// Lookups of kSlowName wait behind it.
class Gate {
public:
    static Gate &instance()
    {
        static Gate gate;
        return gate;
    }
    void wait()
    {
        std::unique_lock lock(m_mutex);
        ++m_waiting;
        m_changed.wait(lock, [this] { return m_isOpen; });
        --m_waiting;
        m_changed.notify_all();
    }
    void open()
    {
        std::unique_lock lock(m_mutex);
        m_isOpen = true;
        m_changed.notify_all();
        m_changed.wait(lock, [this] { return m_waiting == 0; });
        m_isOpen = false;
    }
    int waiting()
    {
        const std::lock_guard lock(m_mutex);
        return m_waiting;
    }

private:
    std::mutex m_mutex;
    std::condition_variable m_changed;
    int m_waiting = 0;
    bool m_isOpen = false;
};

} // namespace

// Takes the place of the C library's for this program and the libraries it loads.
extern "C" int getaddrinfo(const char *node, const char *service, const addrinfo *hints, addrinfo **result)
{
    using Lookup = int (*)(const char *, const char *, const addrinfo *, addrinfo **);
    static const auto lookup = reinterpret_cast<Lookup>(::dlsym(RTLD_NEXT, "getaddrinfo"));
    if (node && std::string_view(node) == kSlowName)
        Gate::instance().wait();
    return lookup(node, service, hints, result);
}

namespace {

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

// Answers every connection with these bytes once a request's head has come.
class TlsServer {
public:
    bool start(const std::string &certificate, const std::string &key, const QByteArray &answer)
    {
        QSslConfiguration configuration = QSslConfiguration::defaultConfiguration();
        const QList<QSslCertificate> chain = QSslCertificate::fromPath(QString::fromStdString(certificate));
        if (chain.isEmpty())
            return false;
        configuration.setLocalCertificate(chain.at(0));
        QFile keyFile(QString::fromStdString(key));
        if (!keyFile.open(QIODevice::ReadOnly))
            return false;
        configuration.setPrivateKey(QSslKey(keyFile.readAll(), QSsl::Ec));
        m_server.setSslConfiguration(configuration);
        QObject::connect(&m_server, &QTcpServer::pendingConnectionAvailable, &m_server, [this, answer] {
            QTcpSocket *socket = m_server.nextPendingConnection();
            QObject::connect(socket, &QIODevice::readyRead, socket, [socket, answer] {
                if (socket->readAll().contains("\r\n\r\n"))
                    socket->write(answer);
            });
        });
        return m_server.listen(QHostAddress::LocalHost);
    }
    std::string url(const std::string &host = "localhost") const
    {
        return "https://" + host + ":" + std::to_string(m_server.serverPort()) + "/v1/x";
    }

private:
    QSslServer m_server;
};

bool makeCertificate(const TempDir &dir)
{
    QProcess openssl;
    const QString words = QStringLiteral("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
                                         "-subj /CN=localhost -addext subjectAltName=DNS:localhost");
    openssl.start(QStringLiteral("openssl"),
                  words.split(QLatin1Char(' '))
                      + QStringList{QStringLiteral("-keyout"), QString::fromStdString(dir.path("key.pem")),
                                    QStringLiteral("-out"), QString::fromStdString(dir.path("cert.pem"))});
    return openssl.waitForFinished() && openssl.exitCode() == 0;
}

class Environment {
public:
    Environment(const char *name, const QByteArray &value) : m_name(name) { qputenv(name, value); }
    ~Environment() { qunsetenv(m_name); }
    Environment(const Environment &) = delete;
    Environment &operator=(const Environment &) = delete;

private:
    const char *m_name;
};

} // namespace

class TcpTransportTest final : public TransportConformance {
    Q_OBJECT

private:
    std::unique_ptr<WireServer> serve(WireServer::Script script) override
    {
        return std::make_unique<WireServer>(std::move(script));
    }
    std::string placeOf(const WireServer &server) const override
    {
        return "127.0.0.1:" + std::to_string(server.port());
    }

private Q_SLOTS:
    void hostThatCannotBeReachedHasItsErrno();
    void lookUpThatHangsEndsWithTheConnectTimer();
    void abortDoesNotWaitForALookUp();
    void silentTlsPeerEndsWithTheConnectTimer();
    void trustedCertificateIsAccepted();
    void untrustedCertificateIsRefusedWithTheReason_data();
    void untrustedCertificateIsRefusedWithTheReason();
    void peerThatSpeaksNoTlsIsRefusedWithTheReason();
    void peerThatLeavesInsideTheHandshakeHasReset();
    void pausedTlsStreamIsReadToItsEnd();
    void environmentProxyIsIgnoredUnlessAskedFor();
    void environmentProxyMayExceptHosts();
    void proxyThatFailsHasItsErrno();
};

void TcpTransportTest::hostThatCannotBeReachedHasItsErrno()
{
    CurlTransport transport;
    UniqueFd holder;
    StreamProbe refused(transport, post("http://127.0.0.1:" + std::to_string(refusingPort(holder)) + "/v1/x"));
    QTRY_VERIFY(refused.isOver());
    QCOMPARE(refused.outcome(), std::string("ECONNREFUSED"));
    // RFC 6761: this name never resolves.
    StreamProbe unknown(transport, post("http://no-such-host.invalid/v1/x"));
    QTRY_VERIFY_WITH_TIMEOUT(unknown.isOver(), 15'000);
    QCOMPARE(unknown.outcome(), std::string("EHOSTUNREACH"));
    QVERIFY2(unknown.message().find("no-such-host.invalid:80") != std::string::npos, unknown.message().c_str());
}

void TcpTransportTest::lookUpThatHangsEndsWithTheConnectTimer()
{
    CurlTransport transport;
    HttpRequest request = post(std::string("http://") + kSlowName + "/v1/x");
    request.connectMs = 300;
    StreamProbe probe(transport, std::move(request));
    QTRY_COMPARE(Gate::instance().waiting(), 1);
    QTRY_VERIFY(probe.isOver());
    QCOMPARE(Gate::instance().waiting(), 1); // the lookup goes on, and nobody waits for it
    QCOMPARE(probe.outcome(), std::string("ETIMEDOUT"));
    QVERIFY2(probe.message().find("300 ms") != std::string::npos, probe.message().c_str());
    Gate::instance().open();
}

void TcpTransportTest::abortDoesNotWaitForALookUp()
{
    {
        CurlTransport transport;
        StreamProbe probe(transport, post(std::string("http://") + kSlowName + "/v1/x"));
        StreamProbe left(transport, post(std::string("http://") + kSlowName + "/v1/x"));
        QTRY_COMPARE(Gate::instance().waiting(), 2);
        probe.stream()->abort();
        QCOMPARE(Gate::instance().waiting(), 2);
        QCoreApplication::processEvents();
        QCOMPARE(probe.ends, 0);
    }
    QCOMPARE(Gate::instance().waiting(), 2);
    Gate::instance().open();
}

void TcpTransportTest::silentTlsPeerEndsWithTheConnectTimer()
{
    const WireServer server([](WirePeer &peer) { peer.stall(); });
    CurlTransport transport({.idleMs = 50});
    HttpRequest request = post("https://127.0.0.1:" + std::to_string(server.port()) + "/v1/x");
    request.connectMs = 300;
    StreamProbe probe(transport, std::move(request));
    QTRY_VERIFY(probe.isOver());
    QCOMPARE(probe.outcome(), std::string("ETIMEDOUT"));
    QVERIFY(probe.message().find("300 ms") != std::string::npos);
    QTRY_COMPARE(server.openConnections(), 0);
    QTRY_VERIFY(transport.isIdle());
}

void TcpTransportTest::trustedCertificateIsAccepted()
{
    const TempDir dir;
    QVERIFY2(makeCertificate(dir), "needs the openssl program");
    TlsServer server;
    QVERIFY(server.start(dir.path("cert.pem"), dir.path("key.pem"),
                         QByteArray::fromStdString(reply(200, "text/plain", "hello"))));
    CurlTransport transport({.caFile = dir.path("cert.pem")});
    for (int i = 0; i < 2; ++i) {
        StreamProbe probe(transport, withKey(post(server.url())));
        QTRY_VERIFY(probe.isOver());
        QCOMPARE(probe.outcome() + probe.message(), std::string());
        QCOMPARE(probe.body, std::string("hello"));
    }
    // The same certificate does not stand for another name.
    StreamProbe other(transport, withKey(post(server.url("127.0.0.1"))));
    QTRY_VERIFY(other.isOver());
    QCOMPARE(other.outcome(), std::string("EPROTO"));
    QVERIFY2(other.message().find("127.0.0.1") != std::string::npos, other.message().c_str());
}

void TcpTransportTest::untrustedCertificateIsRefusedWithTheReason_data()
{
    QTest::addColumn<QByteArray>("variable");
    QTest::newRow("plain") << QByteArray();
    // What switches the check off or points it elsewhere in other programs.
    for (const char *name :
         {"CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_TLS_REJECT_UNAUTHORIZED", "GIT_SSL_NO_VERIFY"})
        QTest::newRow(name) << QByteArray(name);
}

void TcpTransportTest::untrustedCertificateIsRefusedWithTheReason()
{
    QFETCH(QByteArray, variable);
    const TempDir dir;
    QVERIFY2(makeCertificate(dir), "needs the openssl program");
    TlsServer server;
    QVERIFY(server.start(dir.path("cert.pem"), dir.path("key.pem"), "HTTP/1.1 200 OK\r\n\r\n"));
    const bool isBundle = variable.endsWith("BUNDLE");
    const Environment environment(variable.isEmpty() ? "CORTEXFS_NOTHING" : variable.constData(),
                                  isBundle ? QByteArray::fromStdString(dir.path("cert.pem")) : QByteArray("0"));
    CurlTransport transport;
    StreamProbe probe(transport, withKey(post(server.url())));
    QTRY_VERIFY(probe.isOver());
    QCOMPARE(probe.outcome(), std::string("EPROTO"));
    QVERIFY2(probe.message().find("self-signed") != std::string::npos, probe.message().c_str());
    QCOMPARE(probe.heads, 0);
}

void TcpTransportTest::peerThatSpeaksNoTlsIsRefusedWithTheReason()
{
    const WireServer plain([](WirePeer &peer) { peer.send(reply(400, "text/plain", "no TLS here")); });
    CurlTransport transport;
    StreamProbe probe(transport, withKey(post("https://localhost:" + std::to_string(plain.port()) + "/v1/x")));
    QTRY_VERIFY(probe.isOver());
    QCOMPARE(probe.outcome(), std::string("EPROTO"));
    QVERIFY2(probe.message().find("wrong version number") != std::string::npos, probe.message().c_str());
}

void TcpTransportTest::peerThatLeavesInsideTheHandshakeHasReset()
{
    const WireServer server([](WirePeer &peer) { peer.halfClose(); });
    CurlTransport transport;
    StreamProbe probe(transport, post("https://127.0.0.1:" + std::to_string(server.port()) + "/v1/x"));
    QTRY_VERIFY(probe.isOver());
    QCOMPARE(probe.outcome(), std::string("ECONNRESET"));
}

void TcpTransportTest::pausedTlsStreamIsReadToItsEnd()
{
    constexpr std::size_t kSize = 3 * 1024 * 1024 + 17;
    const TempDir dir;
    QVERIFY2(makeCertificate(dir), "needs the openssl program");
    TlsServer server;
    QVERIFY(server.start(dir.path("cert.pem"), dir.path("key.pem"),
                         QByteArray::fromStdString(reply(200, "text/plain", std::string(kSize, 'x')))));
    CurlTransport transport({.caFile = dir.path("cert.pem")});
    StreamProbe probe(transport, post(server.url()));
    probe.discard = true;
    // Paused anew after everything that comes, so that each way of holding bytes back is gone through.
    std::size_t pauses = 0;
    connect(probe.stream(), &providers::HttpStream::dataReceived, this, [&] {
        ++pauses;
        probe.stream()->setPaused(true);
        QTimer::singleShot(0, probe.stream(), [&] { probe.stream()->setPaused(false); });
    });
    QVERIFY(probe.runUntilOver(30'000));
    QCOMPARE(probe.outcome() + probe.message(), std::string());
    QCOMPARE(probe.received, kSize);
    QVERIFY(pauses > 10);
}

void TcpTransportTest::environmentProxyIsIgnoredUnlessAskedFor()
{
    const WireServer trap(answerOnce(reply(200, "text/plain", "from the trap")));
    const WireServer server(answerOnce(reply(200, "text/plain", "direct")));
    const Environment http("http_proxy", QByteArray::fromStdString(trap.url()));
    const Environment all("ALL_PROXY", QByteArray::fromStdString(trap.url()));
    CurlTransport transport;
    StreamProbe direct(transport, withKey(post(server.url("/v1/x"))));
    QTRY_VERIFY(direct.isOver());
    QCOMPARE(direct.body, std::string("direct"));
    QCOMPARE(trap.accepted(), 0);

    HttpRequest request = post(server.url("/v1/x"));
    request.proxyFromEnvironment = true;
    StreamProbe proxied(transport, std::move(request));
    QTRY_VERIFY(proxied.isOver());
    QCOMPARE(proxied.body, std::string("from the trap"));
    QCOMPARE(trap.requests().at(0).target, server.url("/v1/x"));
}

void TcpTransportTest::environmentProxyMayExceptHosts()
{
    const WireServer trap(answerOnce(reply(200, "text/plain", "from the trap")));
    const WireServer server(answerOnce(reply(200, "text/plain", "direct")));
    const Environment http("http_proxy", QByteArray::fromStdString(trap.url()));
    const Environment except("no_proxy", "example.org,127.0.0.1");
    CurlTransport transport;
    HttpRequest request = post(server.url("/v1/x"));
    request.proxyFromEnvironment = true;
    StreamProbe probe(transport, std::move(request));
    QTRY_VERIFY(probe.isOver());
    QCOMPARE(probe.body, std::string("direct"));
    QCOMPARE(trap.accepted(), 0);
}

void TcpTransportTest::proxyThatFailsHasItsErrno()
{
    const WireServer refusing(answerOnce(reply(407, "text/plain", "who are you")));
    const auto outcomeWith = [](const QByteArray &proxy) {
        const Environment https("https_proxy", proxy);
        CurlTransport transport;
        HttpRequest request = withKey(post("https://models.example/v1/x"));
        request.proxyFromEnvironment = true;
        StreamProbe probe(transport, std::move(request));
        if (!QTest::qWaitFor([&] { return probe.isOver(); }, 15'000))
            return std::string("nothing");
        return probe.message().find("proxy") == std::string::npos ? probe.message() : probe.outcome();
    };
    UniqueFd holder;
    QCOMPARE(outcomeWith(QByteArray::fromStdString(refusing.url())), std::string("EACCES"));
    QCOMPARE(outcomeWith("http://no-such-host.invalid:3128"), std::string("EHOSTUNREACH"));
    QCOMPARE(outcomeWith("http://127.0.0.1:" + QByteArray::number(refusingPort(holder))), std::string("ECONNREFUSED"));
    QVERIFY(!refusing.requests().empty() || refusing.accepted() == 1);
}

QTEST_GUILESS_MAIN(TcpTransportTest)
#include "tcp_transport_test.moc"
