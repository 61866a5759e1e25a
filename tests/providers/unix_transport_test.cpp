// The transport over unix sockets: the whole suite, and what only a socket in the file system can do wrong.
#include "common/base/unique_fd.h"
#include "tests/providers/transport_conformance.h"

#include <QTest>

#include <cstring>
#include <vector>

#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

using namespace cortexfs;
using namespace cortexfs::test;
using providers::CurlTransport;
using providers::HttpRequest;

namespace {

// A listener whose queue the test fills and empties by hand.
class SlowListener {
public:
    explicit SlowListener(const std::string &path)
        : m_fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0))
    {
        m_address.sun_family = AF_UNIX;
        std::memcpy(m_address.sun_path, path.data(), path.size());
        ::bind(m_fd.get(), reinterpret_cast<const sockaddr *>(&m_address), sizeof m_address);
        ::listen(m_fd.get(), 1);
    }

    // Until nobody gets in any more.
    void fill()
    {
        for (;;) {
            UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
            if (::connect(fd.get(), reinterpret_cast<const sockaddr *>(&m_address), sizeof m_address) != 0)
                return;
            m_waiting.push_back(std::move(fd));
        }
    }
    std::size_t waiting() const { return m_waiting.size(); }
    UniqueFd accept() { return UniqueFd(::accept4(m_fd.get(), nullptr, nullptr, SOCK_CLOEXEC)); }

private:
    UniqueFd m_fd;
    sockaddr_un m_address = {};
    std::vector<UniqueFd> m_waiting;
};

} // namespace

class UnixTransportTest final : public TransportConformance {
    Q_OBJECT

private:
    std::unique_ptr<WireServer> serve(WireServer::Script script) override
    {
        // A blank, because somebody's home directory has one.
        return std::make_unique<WireServer>(std::move(script), m_dir.path("s " + std::to_string(++m_count) + ".sock"));
    }
    std::string placeOf(const WireServer &server) const override { return server.socketPath(); }

    TempDir m_dir;
    int m_count = 0;

private Q_SLOTS:
    void urlGivesHostAndPath();
    void socketThatCannotBeConnectedHasItsErrno_data();
    void socketThatCannotBeConnectedHasItsErrno();
    void fullQueueIsWaitedForAndNotLongerThanAConnectionMayTake();
    void socketsAreToldApartByTheirPath();
    void environmentProxyIsNeverUsed();
};

void UnixTransportTest::urlGivesHostAndPath()
{
    const auto server = serve(answerOnce(reply(200, "text/plain", "ok")));
    CurlTransport transport;
    HttpRequest request = postTo(*server);
    request.url = "http://models.example:8080/base/v1/chat/completions?a=1";
    StreamProbe probe(transport, std::move(request));
    QTRY_VERIFY(probe.isOver());
    QCOMPARE(probe.body, std::string("ok"));
    const CapturedRequest seen = server->requests().at(0);
    QCOMPARE(seen.target, std::string("/base/v1/chat/completions?a=1"));
    QCOMPARE(seen.header("Host"), std::string("models.example:8080"));
}

void UnixTransportTest::socketThatCannotBeConnectedHasItsErrno_data()
{
    QTest::addColumn<QByteArray>("name");
    QTest::addColumn<QByteArray>("outcome");
    QTest::newRow("nothing there") << QByteArray("missing.sock") << QByteArray("ECONNREFUSED");
    QTest::newRow("nobody listens any more") << QByteArray("left.sock") << QByteArray("ECONNREFUSED");
    QTest::newRow("a mode that keeps us out") << QByteArray("private.sock") << QByteArray("EACCES");
    QTest::newRow("a path through a file") << QByteArray("file/x.sock") << QByteArray("ECONNREFUSED");
}

void UnixTransportTest::socketThatCannotBeConnectedHasItsErrno()
{
    QFETCH(QByteArray, name);
    QFETCH(QByteArray, outcome);
    const TempDir dir;
    dir.write("file", "");
    {
        const SlowListener left(dir.path("left.sock"));
    }
    const SlowListener closed(dir.path("private.sock"));
    ::chmod(dir.path().c_str(), 0755);
    ::chmod(dir.path("left.sock").c_str(), 0666);
    ::chmod(dir.path("private.sock").c_str(), 0600);
    HttpRequest request = withKey(post("http://localhost/v1/x"));
    const std::string path = dir.path(name.toStdString());
    request.unixSocket = path;
    CurlTransport transport;
    // Root may connect everywhere; this thread is nobody for a while.
    const auto before = ::geteuid() == 0 ? ::setfsuid(65534) : -1;
    if (before < 0)
        ::chmod(dir.path("private.sock").c_str(), 0);
    StreamProbe probe(transport, std::move(request));
    QTRY_VERIFY(probe.isOver());
    if (before >= 0)
        ::setfsuid(static_cast<uid_t>(before));
    QCOMPARE(probe.outcome(), outcome.toStdString());
    QVERIFY2(probe.message().find(path) != std::string::npos, probe.message().c_str());
    QVERIFY(probe.message().find(kCanary) == std::string::npos);
}

void UnixTransportTest::fullQueueIsWaitedForAndNotLongerThanAConnectionMayTake()
{
    const TempDir dir;
    SlowListener listener(dir.path("slow.sock"));
    listener.fill();
    QVERIFY(listener.waiting() > 0);
    CurlTransport transport;
    const auto request = [&](int connectMs) {
        HttpRequest made = post("http://localhost/v1/x");
        made.unixSocket = dir.path("slow.sock");
        made.connectMs = connectMs;
        return made;
    };
    StreamProbe tooLate(transport, request(200));
    QTRY_VERIFY(tooLate.isOver());
    QCOMPARE(tooLate.outcome(), std::string("ETIMEDOUT"));
    QVERIFY2(tooLate.message().find("no connection to " + dir.path("slow.sock")) != std::string::npos,
             tooLate.message().c_str());

    StreamProbe patient(transport, request(30'000));
    for (int i = 0; i < 10; ++i)
        QCoreApplication::processEvents(); // it has been turned away by now
    for (std::size_t i = 0; i < listener.waiting(); ++i)
        QVERIFY(listener.accept().isValid());
    UniqueFd served;
    QTRY_VERIFY(served.isValid() || (served = listener.accept()).isValid());
    const std::string answer = reply(200, "text/plain", "ok", {"Connection: close"});
    QCOMPARE(::send(served.get(), answer.data(), answer.size(), MSG_NOSIGNAL), static_cast<ssize_t>(answer.size()));
    QTRY_VERIFY(patient.isOver());
    QCOMPARE(patient.outcome(), std::string());
    QCOMPARE(patient.body, std::string("ok"));
}

void UnixTransportTest::socketsAreToldApartByTheirPath()
{
    const auto script = [](const char *name) {
        return [name](WirePeer &peer) {
            while (peer.readRequest())
                peer.send(reply(200, "text/plain", name));
        };
    };
    const auto first = serve(script("first"));
    const auto second = serve(script("second"));
    CurlTransport transport;
    for (int i = 0; i < 2; ++i) {
        for (const auto &[server, name] : {std::pair(first.get(), "first"), std::pair(second.get(), "second")}) {
            StreamProbe probe(transport, postTo(*server));
            QTRY_VERIFY(probe.isOver());
            QCOMPARE(probe.body, std::string(name));
        }
    }
    QCOMPARE(first->accepted(), 1);
    QCOMPARE(second->accepted(), 1);
}

void UnixTransportTest::environmentProxyIsNeverUsed()
{
    const WireServer trap(answerOnce(reply(200, "text/plain", "from the trap")));
    const auto server = serve(answerOnce(reply(200, "text/plain", "direct")));
    qputenv("http_proxy", QByteArray::fromStdString(trap.url()));
    qputenv("no_proxy", "");
    CurlTransport transport;
    HttpRequest request = postTo(*server);
    request.proxyFromEnvironment = true;
    StreamProbe probe(transport, std::move(request));
    QTRY_VERIFY(probe.isOver());
    qunsetenv("http_proxy");
    QCOMPARE(probe.body, std::string("direct"));
    QCOMPARE(trap.accepted(), 0);
}

QTEST_GUILESS_MAIN(UnixTransportTest)
#include "unix_transport_test.moc"
