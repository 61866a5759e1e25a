// A whole answer in memory, or an errno; never more bytes or more time than was said.
#include "daemon/providers/core/bounded_fetch.h"
#include "daemon/providers/curl/curl_transport.h"
#include "tests/common/test_strings.h"
#include "tests/support/wire_replies.h"
#include "tests/support/wire_server.h"

#include <QTest>

#include <optional>

using namespace cortexfs;
using namespace cortexfs::test;
using providers::BoundedFetch;
using providers::FetchedReply;

namespace {

constexpr providers::FetchLimits kLimits = {1000, 30'000};

class Fetching {
public:
    Fetching(const std::string &url, const providers::FetchLimits &limits) : m_fetch(std::make_unique<BoundedFetch>())
    {
        providers::HttpRequest request;
        request.url = url;
        request.headers = {{"Accept", "application/json"}};
        m_fetch->start(m_transport, std::move(request), limits, [this](Result<FetchedReply> reply) {
            ++calls;
            outcome = std::move(reply);
            m_fetch.reset(); // it may be destroyed from within
        });
    }
    bool wait() const
    {
        return QTest::qWaitFor([this] { return calls > 0; }, 30'000);
    }
    void drop() { m_fetch.reset(); }

    int calls = 0;
    std::optional<Result<FetchedReply>> outcome;

private:
    providers::CurlTransport m_transport;
    std::unique_ptr<BoundedFetch> m_fetch;
};

} // namespace

class BoundedFetchTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theAnswerIsWhole_data()
    {
        QTest::addColumn<std::string>("bytes");
        QTest::addColumn<int>("status");
        QTest::addColumn<std::string>("body");
        const auto row = [](const char *name, std::string bytes, int status, std::string body) {
            QTest::newRow(name) << std::move(bytes) << status << std::move(body);
        };
        row("with its length", reply(200, "text/plain", "hello"), 200, "hello");
        row("empty", reply(200, "text/plain", ""), 200, "");
        row("chunked", streamHead() + chunk("hel") + chunk("lo") + chunk(""), 200, "hello");
        row("an error status", reply(404, "text/html", "<html>"), 404, "<html>");
        row("304", replyHead(304, {}), 304, "");
        row("exactly as much as may be", reply(200, "text/plain", std::string(1000, 'x')), 200, std::string(1000, 'x'));
        row("compressed", reply(200, "text/plain", gzip(std::string(900, 'x')), {"Content-Encoding: gzip"}), 200,
            std::string(900, 'x'));
    }
    void theAnswerIsWhole()
    {
        QFETCH(std::string, bytes);
        QFETCH(int, status);
        QFETCH(std::string, body);
        const WireServer server([&](WirePeer &peer) {
            if (peer.readRequest())
                peer.send(bytes);
        });
        Fetching fetch(server.url("/x"), kLimits);
        QCOMPARE(fetch.calls, 0); // never from within start()
        QVERIFY(fetch.wait());
        QVERIFY2(fetch.outcome->isOk(), fetch.outcome->isOk() ? "" : fetch.outcome->error().text().c_str());
        QCOMPARE((*fetch.outcome)->head.status, status);
        QCOMPARE((*fetch.outcome)->body, body);
        QCOMPARE(server.requests().front().method, std::string("GET"));
    }

    void whatIsNotWholeIsAnErrno_data()
    {
        QTest::addColumn<std::string>("bytes");
        QTest::addColumn<std::string>("code");
        const auto row = [](const char *name, std::string bytes, const char *code) {
            QTest::newRow(name) << std::move(bytes) << std::string(code);
        };
        row("closed before the reply", "", "ECONNRESET");
        row("cut", replyHead(200, {"Content-Length: 100"}) + "hello", "ECONNRESET");
        row("a chunk cut", streamHead() + chunk("hello"), "ECONNRESET");
        row("a byte too many", reply(200, "text/plain", std::string(1001, 'x')), "EMSGSIZE");
        row("too many in chunks", streamHead() + chunk(std::string(600, 'x')) + chunk(std::string(600, 'x')),
            "EMSGSIZE");
        row("a small reply that unpacks to a large one",
            reply(200, "text/plain", gzip(std::string(100'000, 'x')), {"Content-Encoding: gzip"}), "EMSGSIZE");
    }
    void whatIsNotWholeIsAnErrno()
    {
        QFETCH(std::string, bytes);
        QFETCH(std::string, code);
        const WireServer server([&](WirePeer &peer) {
            if (peer.readRequest())
                peer.send(bytes);
        });
        Fetching fetch(server.url("/x"), kLimits);
        QVERIFY(fetch.wait());
        QVERIFY(!fetch.outcome->isOk());
        QCOMPARE(std::string(fetch.outcome->error().name()), code);
        QCOMPARE(fetch.calls, 1);
    }

    void aSlowServerIsLeft()
    {
        // One that sends a byte now and then would hold a time limit between bytes for ever.
        const WireServer server([](WirePeer &peer) {
            if (!peer.readRequest())
                return;
            peer.send(replyHead(200, {"Content-Length: 1000"}));
            while (peer.send("x"))
                peer.pause(20);
        });
        Fetching fetch(server.url("/x"), {1000, 300});
        QVERIFY(fetch.wait());
        QVERIFY(!fetch.outcome->isOk());
        QCOMPARE(std::string(fetch.outcome->error().name()), std::string("ETIMEDOUT"));
        QTRY_COMPARE(server.openConnections(), 0);
    }

    void aBadUrlIsRefusedFromTheEventLoop()
    {
        Fetching fetch("ftp://127.0.0.1/x", kLimits);
        QCOMPARE(fetch.calls, 0);
        QVERIFY(fetch.wait());
        QCOMPARE(std::string(fetch.outcome->error().name()), std::string("EINVAL"));
    }

    void droppingItEndsTheConnection()
    {
        const WireServer server([](WirePeer &peer) {
            if (peer.readRequest())
                peer.stall();
        });
        Fetching fetch(server.url("/x"), kLimits);
        QTRY_COMPARE(server.requests().size(), std::size_t(1));
        fetch.drop();
        QTRY_COMPARE(server.openConnections(), 0);
        QCOMPARE(fetch.calls, 0);
    }
};

QTEST_GUILESS_MAIN(BoundedFetchTest)
#include "bounded_fetch_test.moc"
