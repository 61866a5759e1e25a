// A provider's own list of models over the real transport: pages, keys, limits, and every way of failing.
#include "common/base/clock.h"
#include "daemon/models/discovery.h"
#include "daemon/providers/curl/curl_transport.h"
#include "tests/common/test_strings.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wire_replies.h"
#include "tests/support/wire_server.h"

#include <QTest>

#include <optional>

#include <unistd.h>

using namespace cortexfs;
using namespace cortexfs::test;
using models::DiscoveryLimits;
using models::ModelDiscovery;

namespace {

constexpr char kCanary[] = "CANARY-sk-77f1";

// Straight to the provider, with the slot that a rule would name.
class FixedSlot final : public providers::EgressResolver {
public:
    void resolve(const providers::EgressQuery &query, Done done) override
    {
        providers::Egress found;
        found.baseUrl = query.provider.baseUrl;
        found.slot = slot;
        done(std::move(found));
    }
    std::string slot = std::string(providers::kDefaultSlot);
};

class Scene {
public:
    explicit Scene(const std::string &baseUrl, const std::string &format = "openai.chat")
        : m_secrets(m_dir.path(), ::geteuid())
    {
        provider.name = "local";
        provider.baseUrl = baseUrl;
        provider.formats = {format};
        provider.needsKey = false;
        provider.headers = {{"X-Own", "yes"}};
    }
    void storeKey() { QVERIFY(m_secrets.set("local", "default", SecretString(kCanary))); }
    // "id id ..." or "ERRNO: message".
    std::string ask(const DiscoveryLimits &limits = {})
    {
        const models::ModelServices services{[] { return std::shared_ptr<const models::ModelCatalog>(); }, m_secrets,
                                             egress, m_http, systemClock()};
        std::optional<std::string> said;
        ModelDiscovery discovery(services, provider, limits);
        discovery.start([&](Result<std::vector<wire::ListedModel>> models) {
            said.emplace();
            if (!models)
                said = std::string(models.error().name()) + ": " + models.error().message();
            for (const wire::ListedModel &model : models ? *models : std::vector<wire::ListedModel>())
                *said += (said->empty() ? "" : " ") + model.id;
        });
        return QTest::qWaitFor([&] { return said.has_value(); }, 30'000) ? *said : std::string("no answer");
    }

    config::ProviderConfig provider;
    FixedSlot egress;

private:
    TempDir m_dir;
    providers::SecretStore m_secrets;
    providers::CurlTransport m_http;
};

std::string json200(const std::string &body) { return reply(200, "application/json", body); }

} // namespace

class DiscoveryTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theListIsAskedWithTheKey()
    {
        const WireServer server([](WirePeer &peer) {
            if (peer.readRequest())
                peer.send(json200("{\"data\":[{\"id\":\"a\"},{\"id\":\"b\"},{\"id\":\"a\"}]}"));
        });
        Scene scene(server.url("/v1"));
        scene.storeKey();
        QCOMPARE(scene.ask(), std::string("a b"));
        const CapturedRequest request = server.requests().front();
        QCOMPARE(request.method + " " + request.target, std::string("GET /v1/models"));
        QCOMPARE(request.header("Authorization"), std::string("Bearer ") + kCanary);
        QCOMPARE(request.header("X-Own"), std::string("yes"));
    }

    void pagesAreFollowed()
    {
        const WireServer server([](WirePeer &peer) {
            while (const auto request = peer.readRequest()) {
                const bool isSecond = request->target.find("after_id=b%2F1") != std::string::npos;
                peer.send(json200(isSecond ? "{\"data\":[{\"id\":\"c\"}],\"has_more\":false,\"last_id\":\"c\"}"
                                           : "{\"data\":[{\"id\":\"a\"},{\"id\":\"b/1\"}],\"has_more\":true,"
                                             "\"last_id\":\"b/1\"}"));
            }
        });
        Scene scene(server.url(), "anthropic.messages");
        scene.storeKey();
        QCOMPARE(scene.ask(), std::string("a b/1 c"));
        QCOMPARE(server.requests().size(), std::size_t(2));
        QCOMPARE(server.requests().front().target, std::string("/v1/models?limit=1000"));
        QCOMPARE(server.requests().front().header("x-api-key"), std::string(kCanary));
        QCOMPARE(server.requests().front().header("anthropic-version"), std::string("2023-06-01"));
        QVERIFY(!server.requests().front().hasHeader("Authorization"));
    }

    void aSlotThatTheRouteNamesHasToBeFilled()
    {
        const WireServer server([](WirePeer &peer) {
            while (peer.readRequest())
                peer.send(json200("{\"data\":[]}"));
        });
        Scene scene(server.url("/v1"));
        scene.storeKey();
        scene.egress.slot = "office";
        const std::string said = scene.ask();
        QVERIFY2(said.starts_with("ENOKEY: ") && said.find("office") != std::string::npos, said.c_str());
        QCOMPARE(server.accepted(), 0);
        scene.egress.slot.clear(); // key(none)
        QCOMPARE(scene.ask(), std::string());
        QVERIFY(!server.requests().front().hasHeader("Authorization"));
    }

    void withoutAKeyNoneIsSent()
    {
        const WireServer server([](WirePeer &peer) {
            if (peer.readRequest())
                peer.send(json200("{\"data\":[]}"));
        });
        Scene scene(server.url("/v1"));
        QCOMPARE(scene.ask(), std::string());
        QVERIFY(!server.requests().front().hasHeader("Authorization"));
        scene.provider.needsKey = true;
        QVERIFY(scene.ask().starts_with("ENOKEY: "));
        QCOMPARE(server.requests().size(), std::size_t(1));
    }

    void failuresHaveTheirErrno_data()
    {
        QTest::addColumn<std::string>("bytes");
        QTest::addColumn<std::string>("code");
        const auto row = [](const char *name, std::string bytes, const char *code) {
            QTest::newRow(name) << std::move(bytes) << std::string(code);
        };
        row("HTML", reply(200, "text/html", "<!doctype html>"), "EBADMSG");
        row("garbage", reply(200, "application/json", "{\"data\":[{\"id\":"), "EBADMSG");
        row("empty", json200(""), "EBADMSG");
        row("something else", json200("{\"ok\":true}"), "EBADMSG");
        row("cut", replyHead(200, {"Content-Length: 100"}) + "{\"data\"", "ECONNRESET");
        row("closed", "", "ECONNRESET");
        row("401 that echoes the key",
            reply(401, "application/json", std::string("{\"error\":{\"message\":\"bad ") + kCanary + "\"}}"), "EACCES");
        row("403", reply(403, "text/plain", ""), "EACCES");
        row("404", reply(404, "text/plain", ""), "ENOENT");
        row("405", reply(405, "text/plain", ""), "ENOTSUP");
        row("429", reply(429, "text/plain", ""), "EAGAIN");
        row("500", reply(500, "text/plain", ""), "EHOSTDOWN");
        row("504", reply(504, "text/plain", ""), "ETIMEDOUT");
        row("a redirect", replyHead(302, {"Location: http://127.0.0.1:9/", "Content-Length: 0"}), "ENOTSUP");
        row("an error in a success", json200("{\"error\":{\"type\":\"overloaded_error\",\"message\":\"x\"}}"),
            "EHOSTDOWN");
        row("too large", json200("{\"data\":[{\"id\":\"a\",\"x\":\"" + std::string(20'000, 'x') + "\"}]}"), "EMSGSIZE");
        row("too many", json200("{\"data\":[{\"id\":\"a\"},{\"id\":\"b\"},{\"id\":\"c\"},{\"id\":\"d\"}]}"),
            "EMSGSIZE");
    }
    void failuresHaveTheirErrno()
    {
        QFETCH(std::string, bytes);
        QFETCH(std::string, code);
        const WireServer server([&](WirePeer &peer) {
            if (peer.readRequest() && !bytes.empty())
                peer.send(bytes);
        });
        Scene scene(server.url("/v1"));
        scene.storeKey();
        DiscoveryLimits limits;
        limits.maxBytes = 10'000;
        limits.maxEntries = 3;
        const std::string said = scene.ask(limits);
        QVERIFY2(said.starts_with(code + ": "), said.c_str());
        QVERIFY2(said.find("CANARY") == std::string::npos, said.c_str());
    }

    void listsWithoutEndAreLeft_data()
    {
        QTest::addColumn<bool>("isCircle");
        QTest::addColumn<std::string>("code");
        QTest::newRow("always another page") << false << std::string("EMSGSIZE");
        QTest::newRow("a circle") << true << std::string("EBADMSG");
    }
    void listsWithoutEndAreLeft()
    {
        QFETCH(bool, isCircle);
        QFETCH(std::string, code);
        const WireServer server([&](WirePeer &peer) {
            while (const auto request = peer.readRequest()) {
                // The page after "mm" is "mmm", whichever connection asks for it.
                const std::size_t after = request->target.find("after_id=");
                const std::string last = after == std::string::npos ? "" : request->target.substr(after + 9);
                const std::string id = isCircle ? "same" : last + "m";
                peer.send(json200("{\"data\":[{\"id\":\"" + id + "\"}],\"has_more\":true,\"last_id\":\"" + id + "\"}"));
            }
        });
        Scene scene(server.url(), "anthropic.messages");
        DiscoveryLimits limits;
        limits.maxPages = 5;
        const std::string said = scene.ask(limits);
        QVERIFY2(said.starts_with(code), said.c_str());
        QVERIFY(server.requests().size() <= 5);
    }

    void aSilentServerTimesOut()
    {
        const WireServer server([](WirePeer &peer) {
            if (peer.readRequest())
                peer.stall();
        });
        Scene scene(server.url("/v1"));
        DiscoveryLimits limits;
        limits.totalMs = 200;
        QVERIFY(scene.ask(limits).starts_with("ETIMEDOUT: "));
    }
};

QTEST_GUILESS_MAIN(DiscoveryTest)
#include "discovery_test.moc"
