// What the way out that the route table picks means for the request: URL, socket, key.
#include "daemon/models/run_id.h"
#include "tests/models/run_fixture.h"

#include <QTest>

#include <unistd.h>

using namespace cortexfs;
using namespace cortexfs::test;

namespace {

class GivenEgress final : public providers::EgressResolver {
public:
    void resolve(const providers::EgressQuery &, Done done) override { done(answer); }
    Result<providers::Egress> answer = providers::Egress();
};

// Takes the request down and fails.
class NotingTransport final : public providers::HttpTransport {
public:
    Result<std::unique_ptr<providers::HttpStream>> open(providers::HttpRequest request) override
    {
        requests.push_back(std::move(request));
        return errors::refused("nobody is there");
    }
    std::vector<providers::HttpRequest> requests;
};

struct Case {
    providers::Transport transport = providers::Transport::Direct;
    const char *slot = "default";
    bool needsKey = true;
    const char *stored = "default"; // the slot that is filled
    const char *key = "";           // what is sent; "ENOKEY": nothing is sent at all
};

} // namespace
Q_DECLARE_METATYPE(Case)

class HttpEgressTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void keys_data()
    {
        using providers::Transport;
        QTest::addColumn<Case>("given");
        const auto row = [](const char *name, const Case &given) { QTest::newRow(name) << given; };
        row("the key of the slot default", {Transport::Direct, "default", true, "default", "sk-1"});
        row("the key of another slot", {Transport::Direct, "office", true, "office", "sk-1"});
        row("a slot that is not there", {Transport::Direct, "office", true, "default", "ENOKEY"});
        row("a group over http needs its key", {Transport::Http, "office", true, "default", "ENOKEY"});
        row("a group over a socket needs its key", {Transport::Unix, "office", true, "default", "ENOKEY"});
        row("a slot that a rule names, of a service that needs none",
            {Transport::Http, "office", false, "default", "ENOKEY"});
        row("a service that needs none and has none", {Transport::Direct, "default", false, "other", ""});
        row("a service that needs none and has one", {Transport::Direct, "default", false, "default", "sk-1"});
        row("no key wanted", {Transport::Http, "", true, "default", ""});
        row("no key wanted over a socket", {Transport::Unix, "", true, "default", ""});
    }
    void keys()
    {
        QFETCH(Case, given);
        RunFixture fixture("https://far.example/v1", given.needsKey);
        QVERIFY(fixture.secrets().set("local", given.stored, SecretString(std::string("sk-1"))));
        GivenEgress egress;
        providers::Egress way;
        way.transport = given.transport;
        way.baseUrl = "http://way.example/v2";
        way.socketPath = given.transport == providers::Transport::Unix ? "/run/p.sock" : "";
        way.slot = given.slot;
        way.rule = "model(x) -> g";
        egress.answer = way;
        NotingTransport http;
        models::ModelService service(
            {[&] { return fixture.catalog(); }, fixture.secrets(), egress, http, systemClock()});
        StartedRun run(service.createRun(request()));
        QVERIFY(run.runToEnd());
        QCOMPARE(run->report().rule, std::string("model(x) -> g"));
        QCOMPARE(run->report().transport, std::string(providers::transportWord(given.transport)));
        QCOMPARE(run->report().slot, std::string(given.slot));
        const abi::Event *error = nullptr;
        for (const abi::Event &event : run.seen.events()) {
            if (event.type == abi::EventType::Error)
                error = &event;
        }
        QVERIFY(error);
        if (std::string_view(given.key) == "ENOKEY") {
            QCOMPARE(error->code, ENOKEY);
            QVERIFY2(error->errorMessage.find("local") != std::string::npos
                         && error->errorMessage.find(given.slot) != std::string::npos,
                     error->errorMessage.c_str());
            QVERIFY(http.requests.empty());
            return;
        }
        QCOMPARE(error->code, ECONNREFUSED);
        QCOMPARE(http.requests.size(), std::size_t(1));
        const providers::HttpRequest &sent = http.requests.front();
        QCOMPARE(sent.url, std::string("http://way.example/v2/chat/completions"));
        QCOMPARE(sent.unixSocket, way.socketPath);
        QCOMPARE(sent.credential.has_value(), *given.key != '\0');
        if (sent.credential)
            QCOMPARE(sent.credential->value.reveal(), std::string_view(given.key));
    }

    void aBadTableEndsTheRun()
    {
        RunFixture fixture;
        GivenEgress egress;
        egress.answer = errors::invalid("no such group: g").withDetail("model/route, line 1, column 2");
        NotingTransport http;
        models::ModelService service(
            {[&] { return fixture.catalog(); }, fixture.secrets(), egress, http, systemClock()});
        StartedRun run(service.createRun(request()));
        QVERIFY(run.runToEnd());
        QVERIFY(http.requests.empty());
        bool isSaid = false;
        for (const abi::Event &event : run.seen.events())
            isSaid = isSaid || (event.code == EINVAL && event.errorMessage.find("model/route, line 1") == 0);
        QVERIFY(isSaid);
    }

private:
    static models::RunRequest request()
    {
        models::RunRequest request;
        request.run = models::newRunId();
        request.model = {"local", "custom-model"};
        request.isProbe = true; // one request, whatever comes of it
        models::Message message;
        message.parts.push_back({models::Part::Type::Text, "hi", {}, {}});
        request.conversation.messages.push_back(std::move(message));
        return request;
    }
};

QTEST_GUILESS_MAIN(HttpEgressTest)
#include "http_egress_test.moc"
