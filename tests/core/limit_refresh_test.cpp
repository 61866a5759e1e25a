// limits.refresh: the cache is replaced by a whole good catalogue and by nothing else.
#include "common/base/clock.h"
#include "daemon/core/limit_refresh.h"
#include "daemon/providers/curl/curl_transport.h"
#include "tests/common/test_strings.h"
#include "tests/core/runtime_fixture.h"
#include "tests/support/wire_replies.h"
#include "tests/support/wire_server.h"

#include <QTest>

#include <sys/stat.h>

using namespace cortexfs;
using namespace cortexfs::test;

namespace {

constexpr char kCatalogue[] =
    "{\"local\":{\"models\":{\"a\":{\"limit\":{\"context\":5}},\"b\":{\"limit\":{\"context\":777}}}}}";
constexpr char kOld[] = "{\"schema\":\"cortexfs.model-limits/v1\",\"models\":{\"local/b\":42}}";

class Scene : public Fixture {
public:
    bool start(const std::string &url, const std::string &cache = {})
    {
        if (!cache.empty())
            dir.write("state/cache/model-limits.json", cache);
        config::DaemonConfig config;
        config.modelsDevUrl = url;
        runtime = std::make_unique<Runtime>(places, config, std::vector<BinLink>());
        if (!runtime->load())
            return false;
        m_services.emplace(models::ModelServices{[this] { return runtime->snapshot().load()->catalog; },
                                                 runtime->secrets(), m_egress, m_http, systemClock()});
        m_refresh = std::make_unique<LimitRefresh>(*runtime, *m_services);
        return true;
    }
    // "" or the errno.
    std::string refresh()
    {
        std::optional<std::string> code;
        m_refresh->start([&](const Result<RefreshedLimits> &outcome) {
            code = outcome ? std::string() : std::string(outcome.error().name());
        });
        return QTest::qWaitFor([&] { return code.has_value(); }, 30'000) ? *code : std::string("no answer");
    }
    void startOnly(int &answers)
    {
        m_refresh->start([&](const Result<RefreshedLimits> &) { ++answers; });
    }
    std::string limit(const char *model) const { return control(model, models::Control::Limit); }
    std::string metadata(const char *model) const
    {
        const auto catalog = runtime->snapshot().load()->catalog;
        return models::metadataText(*catalog->find("local", model), "/r");
    }

private:
    providers::DirectEgress m_egress;
    providers::CurlTransport m_http;
    std::optional<models::ModelServices> m_services;
    std::unique_ptr<LimitRefresh> m_refresh;
};

} // namespace

class LimitRefreshTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theCatalogueIsUsedAtOnce()
    {
        const WireServer server([](WirePeer &peer) {
            if (peer.readRequest())
                peer.send(reply(200, "application/json", kCatalogue, {"ETag: \"v1\""}));
        });
        Scene scene;
        QVERIFY(scene.start(server.url("/api.json"), kOld));
        QCOMPARE(scene.limit("b"), std::string("42\n"));
        QCOMPARE(scene.refresh(), std::string());
        QCOMPARE(scene.limit("a"), std::string("100\n")); // the file's own counts more
        QCOMPARE(scene.limit("b"), std::string("777\n"));
        QVERIFY(scene.metadata("b").find("# cortexfs.context_length=777\n") != std::string::npos);
        QCOMPARE(scene.dir.read("state/cache/model-limits.json"),
                 std::string("{\"schema\":\"cortexfs.model-limits/v1\",\"models\":{\"local/a\":5,\"local/b\":777}}\n"));
        struct stat info = {};
        QCOMPARE(::stat(scene.places.limitsCache().c_str(), &info), 0);
        QCOMPARE(info.st_mode & 07777u, 0644u);
        QCOMPARE(server.requests().front().target, std::string("/api.json"));
        QVERIFY(!server.requests().front().hasHeader("Authorization"));
        QVERIFY(!server.requests().front().hasHeader("If-None-Match"));
    }

    void anUnchangedCatalogueIsNotSentAgain()
    {
        const WireServer server([](WirePeer &peer) {
            while (const auto request = peer.readRequest())
                peer.send(request->header("If-None-Match") == "\"v1\""
                              ? replyHead(304, {"ETag: \"v1\""})
                              : reply(200, "application/json", kCatalogue, {"ETag: \"v1\""}));
        });
        Scene scene;
        QVERIFY(scene.start(server.url("/api.json")));
        QCOMPARE(scene.refresh(), std::string());
        QCOMPARE(scene.refresh(), std::string());
        QCOMPARE(server.requests().size(), std::size_t(2));
        QCOMPARE(server.requests().back().header("If-None-Match"), std::string("\"v1\""));
        QCOMPARE(scene.limit("b"), std::string("777\n"));
        // Somebody else's cache: the server is not asked whether that has changed.
        scene.dir.write("state/cache/model-limits.json", kOld);
        scene.runtime->refresh();
        QCOMPARE(scene.limit("b"), std::string("42\n"));
        QCOMPARE(scene.refresh(), std::string());
        QVERIFY(!server.requests().back().hasHeader("If-None-Match"));
        QCOMPARE(scene.limit("b"), std::string("777\n"));
    }

    void aFailureKeepsTheOldCache_data()
    {
        QTest::addColumn<std::string>("bytes"); // empty: the connection is closed
        QTest::addColumn<std::string>("code");
        const auto row = [](const char *name, std::string bytes, const char *code) {
            QTest::newRow(name) << std::move(bytes) << std::string(code);
        };
        const auto ok = [](std::string_view body) { return reply(200, "application/json", body); };
        row("closed", "", "ECONNRESET");
        row("cut", replyHead(200, {"Content-Length: 100"}) + "{\"local\"", "ECONNRESET");
        row("half the JSON", ok("{\"local\":{\"models\":{\"b\":{\"limit\":"), "EBADMSG");
        row("HTML", reply(200, "text/html", "<!doctype html>"), "EBADMSG");
        row("an array", ok("[]"), "EBADMSG");
        row("nothing usable", ok("{\"local\":{\"models\":{\"b\":{\"limit\":{\"context\":0}}}}}"), "EBADMSG");
        row("empty", ok(""), "EBADMSG");
        row("304 that nobody asked for", replyHead(304, {}), "ENOTSUP");
        row("404", reply(404, "text/plain", "no"), "ENOENT");
        row("500", reply(500, "text/plain", "no"), "EHOSTDOWN");
        row("a redirect", replyHead(302, {"Location: /x", "Content-Length: 0"}), "ENOTSUP");
        row("over 16 MiB", ok("{\"x\":\"" + std::string(17 * 1024 * 1024, 'x') + "\"}"), "EMSGSIZE");
    }
    void aFailureKeepsTheOldCache()
    {
        QFETCH(std::string, bytes);
        QFETCH(std::string, code);
        const WireServer server([&](WirePeer &peer) {
            if (peer.readRequest() && !bytes.empty())
                peer.send(bytes);
        });
        Scene scene;
        QVERIFY(scene.start(server.url("/api.json"), kOld));
        QCOMPARE(scene.refresh(), code);
        QCOMPARE(scene.dir.read("state/cache/model-limits.json"), std::string(kOld));
        QCOMPARE(scene.limit("b"), std::string("42\n"));
    }

    void onlySafeAddressesAreAsked_data()
    {
        QTest::addColumn<std::string>("url");
        for (const char *url : {"http://models.example/api.json", "ftp://127.0.0.1/x", "nonsense", ""})
            QTest::newRow(url) << std::string(url);
    }
    void onlySafeAddressesAreAsked()
    {
        QFETCH(std::string, url);
        Scene scene;
        QVERIFY(scene.start(url, kOld));
        QCOMPARE(scene.refresh(), std::string("EINVAL"));
    }

    void whoAsksMeanwhileGetsTheSameAnswer()
    {
        WireServer server([](WirePeer &peer) {
            if (peer.readRequest() && peer.waitFor("go"))
                peer.send(reply(200, "application/json", kCatalogue));
        });
        Scene scene;
        QVERIFY(scene.start(server.url("/api.json")));
        int answers = 0;
        scene.startOnly(answers);
        scene.startOnly(answers);
        QTRY_COMPARE(server.requests().size(), std::size_t(1));
        server.signal("go");
        QTRY_COMPARE(answers, 2);
        QCOMPARE(server.requests().size(), std::size_t(1));
    }

    void aCacheThatCannotBeWrittenIsAFailure()
    {
        const WireServer server([](WirePeer &peer) {
            if (peer.readRequest())
                peer.send(reply(200, "application/json", kCatalogue));
        });
        Scene scene;
        scene.dir.write("state/cache", "a file in the way");
        QVERIFY(scene.start(server.url("/api.json")));
        QCOMPARE(scene.refresh(), std::string("ENOTDIR"));
        QCOMPARE(scene.limit("b"), std::string("unknown\n"));
    }
};

QTEST_GUILESS_MAIN(LimitRefreshTest)
#include "limit_refresh_test.moc"
