// What the control socket answers besides exec, by the shapes of protocol.h.
#include "common/base/limits.h"
#include "common/control_client/client.h"
#include "daemon/core/operations.h"
#include "tests/common/test_strings.h"
#include "tests/control/control_fixture.h"
#include "tests/support/openai_script.h"
#include "tests/support/wire_server.h"

#include <QTest>

#include <set>

#include <sys/stat.h>

using namespace cortexfs;
using namespace cortexfs::test;

namespace {

class Fixture : public ControlFixture {
public:
    bool start()
    {
        if (!ControlFixture::start())
            return false;
        m_route = std::make_unique<providers::RouteEgress>(places.routeFile(), places.geoDir());
        registerOperations(*server, OperationContext{*runtime, *models, *server, *m_route, [] { return false; },
                                                     [] { return std::uint64_t(42); }, systemClock().monotonicMs()});
        return true;
    }
    // The reply as JSON, with its document kept alive here.
    json::Value ask(const std::string &op, const std::string &members = {})
    {
        RawClient asking = client();
        m_text = test::ask(asking, control::requestFrame(op, "1", members) + "\n");
        Result<json::Document> document = json::parse(m_text.substr(0, m_text.find('\n')));
        if (!document)
            return {};
        m_documents.push_back(std::move(*document));
        return m_documents.back().root();
    }
    const std::string &text() const { return m_text; }

private:
    std::unique_ptr<providers::RouteEgress> m_route;
    std::string m_text;
    std::vector<json::Document> m_documents;
};

std::string keysOf(const json::Value &value)
{
    std::string out;
    for (const json::Member &member : value.members())
        out += (out.empty() ? "" : " ") + std::string(member.key);
    return out;
}

std::string str(const json::Value &value) { return std::string(value.stringOr("(none)")); }

constexpr char kLocal[] =
    R"({"name":"local","base_url":"http://127.0.0.1:9/v1","models":["a","b/c"],"default_model":"a","formats":["openai.chat"],"model_limits":{"a":100}})";
constexpr char kFar[] = R"({"name":"far","base_url":"https://h.example/v1","models":["m"],"colour":1,"enabled":true})";

} // namespace

class OperationsTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void status();
    void statusWithThousandsOfProblems();
    void doctor();
    void refresh();
    void modelList();
    void modelListInPages();
    void modelListArguments_data();
    void modelListArguments();
    void providerList();
    void namesThatAreNoText();
    void providerGet();
    void providerGetOfNothing();
    void keySetAndRemove();
    void keyRefusals_data();
    void keyRefusals();
    void keySetByAHalfClosedClient();
    void theKeyIsShownNowhere();
    void providerTest_data();
    void providerTest();
    void providerTestAsksOnceAndEndsTheCooldown();
    void providerTestOfNothing();
    void metrics();
    void everyOperationSurvivesWrongTypes();
};

void OperationsTest::status()
{
    Fixture fixture;
    fixture.provider("local.json", kLocal);
    fixture.provider("bad.json", "{");
    QVERIFY(fixture.start());
    const json::Value reply = fixture.ask("status");
    QCOMPARE(keysOf(reply), std::string("id type state version pid mode mount config state_dir runtime fuse uptime_ms "
                                        "providers models runs problems"));
    QCOMPARE(str(reply["state"]), std::string("ready"));
    QCOMPARE(str(reply["version"]), std::string(CORTEXFS_VERSION));
    QCOMPARE(reply["pid"].asInt().value_or(0), std::int64_t(::getpid()));
    QCOMPARE(str(reply["mode"]), std::string("user"));
    QCOMPARE(str(reply["mount"]), fixture.places.mount);
    QCOMPARE(reply["fuse"].asBool().value_or(true), false);
    QCOMPARE(reply["providers"].asInt().value_or(0), std::int64_t(1));
    QCOMPARE(reply["models"].asInt().value_or(0), std::int64_t(4));
    QCOMPARE(reply["runs"].asInt().value_or(9), std::int64_t(0));
    QVERIFY(reply["uptime_ms"].asInt().value_or(-1) >= 0);
    QCOMPARE(reply["problems"].size(), std::size_t(1));
    const json::Value problem = reply["problems"].at(0);
    QCOMPARE(keysOf(problem), std::string("where code message"));
    QCOMPARE(str(problem["where"]), std::string("providers.d/bad.json"));
    QCOMPARE(str(problem["code"]), std::string("EINVAL"));
}

void OperationsTest::statusWithThousandsOfProblems()
{
    Fixture fixture;
    std::string keys;
    for (int i = 0; i < 400; ++i)
        keys += ",\"key" + std::to_string(i) + "_token\":\"\\u0001\"";
    for (int i = 0; i < 1'500; ++i)
        fixture.provider("p" + std::to_string(i) + ".json", "{\"base_url\":7" + keys + "}");
    QVERIFY(fixture.start());
    for (const char *op : {"status", "doctor", "refresh", "provider.list"}) {
        const json::Value reply = fixture.ask(op);
        QCOMPARE(str(reply["type"]), std::string("result"));
        QVERIFY(fixture.text().size() < limits::kFrame);
        QVERIFY2(fixture.text().find("more") != std::string::npos, op);
    }
}

void OperationsTest::doctor()
{
    Fixture fixture;
    fixture.provider("local.json", kLocal);
    fixture.provider("far.json", kFar);
    fixture.provider("bad.json", "[]");
    QVERIFY(fixture.start());
    const json::Value reply = fixture.ask("doctor");
    std::string summary;
    for (const json::Value &check : reply["checks"].elements()) {
        QCOMPARE(keysOf(check), std::string("name status message hint"));
        summary += str(check["name"]) + "=" + str(check["status"]) + "\n";
    }
    for (const char *line : {"mount=warning\n", "state=ok\n", "secrets=ok\n", "providers.d/bad.json=error\n",
                             "provider local=ok\n", "provider far=warning\n"})
        QVERIFY2(summary.find(line) != std::string::npos, (std::string(line) + summary).c_str());
    QVERIFY(fixture.text().find("ctx provider key set far") != std::string::npos);
    QVERIFY(fixture.text().find("/colour: unknown key, ignored") != std::string::npos);
    QCOMPARE(::mkdir((fixture.places.state + "/secrets").c_str(), 0755), 0);
    QCOMPARE(::mkdir(fixture.places.secretsDir().c_str(), 0755), 0);
    fixture.ask("doctor");
    QVERIFY(fixture.text().find("is open to others") != std::string::npos);
    QVERIFY(fixture.text().find("chmod 700") != std::string::npos);
}

void OperationsTest::refresh()
{
    Fixture fixture;
    QVERIFY(fixture.start());
    fixture.provider("local.json", kLocal);
    fixture.provider("bad.json", "");
    QCOMPARE(fixture.ask("status")["models"].asInt().value_or(0), std::int64_t(2));
    const json::Value reply = fixture.ask("refresh");
    QCOMPARE(keysOf(reply), std::string("id type providers models problems"));
    QCOMPARE(reply["providers"].asInt().value_or(0), std::int64_t(1));
    QCOMPARE(reply["models"].asInt().value_or(0), std::int64_t(4));
    QCOMPARE(reply["problems"].size(), std::size_t(1));
}

void OperationsTest::modelList()
{
    Fixture fixture;
    fixture.provider("local.json", kLocal);
    fixture.provider("far.json", kFar);
    QVERIFY(fixture.start());
    const json::Value reply = fixture.ask("model.list");
    QCOMPARE(keysOf(reply), std::string("id type models aliases more"));
    QCOMPARE(reply["more"].asBool().value_or(true), false);
    std::string names;
    for (const json::Value &model : reply["models"].elements())
        names += str(model["name"]) + "=" + str(model["id"]) + ":" + str(model["state"]) + " ";
    QCOMPARE(names, std::string("debug/echo=debug/echo:ready debug/script=debug/script:ready far/m=far/m:unconfigured "
                                "local/a=local/a:ready local/b_c=local/b/c:ready "));
    const json::Value a = reply["models"].at(3);
    QCOMPARE(keysOf(a), std::string("name id driver cap effort limit session state"));
    QCOMPARE(
        a["driver"].toJson(),
        std::string(
            R"({"default":["openai-chat"],"exec":["openai-chat"],"socket":["openai-chat"],"agent":["openai-chat"]})"));
    QCOMPARE(a["cap"].toJson(), std::string(R"(["chat","stream","tool_call_syntax"])"));
    QCOMPARE(str(a["effort"]), std::string("auto"));
    QCOMPARE(a["limit"].asInt().value_or(0), std::int64_t(100));
    QCOMPARE(str(a["session"]), std::string("none"));
    QVERIFY(reply["models"].at(4)["limit"].isNull());
    QCOMPARE(reply["aliases"].size(), std::size_t(6));
    QCOMPARE(keysOf(reply["aliases"].at(0)), std::string("name target user"));
    for (const json::Value &alias : reply["aliases"].elements())
        QCOMPARE(str(alias["target"]), std::string("local/a"));
}

void OperationsTest::modelListInPages()
{
    Fixture fixture;
    constexpr int kProviders = 10;
    constexpr int kModels = 1'000;
    for (int p = 0; p < kProviders; ++p) {
        std::string models;
        for (int m = 0; m < kModels; ++m)
            models += (m == 0 ? "\"" : ",\"") + std::string("model-") + std::to_string(m) + "\"";
        fixture.provider("p" + std::to_string(p) + ".json", "{\"name\":\"p" + std::to_string(p)
                                                                + "\",\"base_url\":\"http://localhost\",\"models\":["
                                                                + models + "]}");
    }
    QVERIFY(fixture.start());
    std::set<std::string> seen;
    std::string after;
    std::string last;
    int pages = 0;
    for (bool more = true; more; ++pages) {
        const json::Value reply = fixture.ask("model.list", after.empty() ? "" : "\"after\":\"" + after + "\"");
        QVERIFY2(str(reply["type"]) == "result", fixture.text().substr(0, 300).c_str());
        QVERIFY(fixture.text().size() < limits::kFrame);
        QCOMPARE(reply["aliases"].size(), std::size_t(pages == 0 ? 6 : 0));
        for (const json::Value &model : reply["models"].elements()) {
            QVERIFY(seen.insert(str(model["name"])).second);
            after = str(model["name"]);
        }
        more = reply["more"].asBool().value_or(false);
        QVERIFY(!more || after != last);
        last = after;
    }
    QCOMPARE(seen.size(), std::size_t(kProviders * kModels + 2));
    QVERIFY(pages > 2);
    const json::Value one = fixture.ask("model.list", R"("provider":"p3")");
    QCOMPARE(one["models"].size(), std::size_t(kModels));
    QCOMPARE(one["more"].asBool().value_or(true), false);
}

void OperationsTest::modelListArguments_data()
{
    QTest::addColumn<std::string>("members");
    QTest::addColumn<std::string>("names"); // "!" for an error
    const auto row = [](const char *members, const char *names) {
        QTest::newRow(members) << std::string(members) << std::string(names);
    };
    row(R"("provider":"local")", "local/a local/b_c");
    row(R"("provider":"debug")", "debug/echo debug/script");
    row(R"("provider":"gone")", "");
    row(R"("provider":"local/a")", "");
    row(R"("after":"debug/script")", "local/a local/b_c");
    row(R"("after":"debug/zzz")", "local/a local/b_c");
    row(R"("after":"local/b_c")", "");
    row(R"("provider":"local","after":"local/a")", "local/b_c");
    row(R"("after":"nonsense")", "!");
    row(R"("after":"../..")", "!");
}

void OperationsTest::modelListArguments()
{
    QFETCH(std::string, members);
    QFETCH(std::string, names);
    Fixture fixture;
    fixture.provider("local.json", kLocal);
    QVERIFY(fixture.start());
    const json::Value reply = fixture.ask("model.list", members);
    if (names == "!") {
        QCOMPARE(str(reply["code"]), std::string("EINVAL"));
        return;
    }
    std::string found;
    for (const json::Value &model : reply["models"].elements())
        found += (found.empty() ? "" : " ") + str(model["name"]);
    QCOMPARE(found, names);
}

void OperationsTest::providerList()
{
    Fixture fixture;
    fixture.provider("1-local.json", kLocal);
    fixture.provider("2-far.json", kFar);
    fixture.provider("3-bad.json", R"({"name":"bad"})");
    fixture.provider("4-off.json", R"({"name":"off","base_url":"http://x.example","enabled":false})");
    QVERIFY(fixture.start());
    const json::Value reply = fixture.ask("provider.list");
    QCOMPARE(keysOf(reply), std::string("id type providers invalid"));
    std::string summary;
    for (const json::Value &provider : reply["providers"].elements()) {
        QCOMPARE(keysOf(provider), std::string("name file base_url enabled formats default_model models key"));
        summary += str(provider["name"]) + ":" + str(provider["file"]) + ":" + str(provider["key"]) + ":"
                   + provider["enabled"].toJson() + " ";
    }
    QCOMPARE(summary,
             std::string("far:2-far.json:missing:true local:1-local.json:none:true off:4-off.json:missing:false "));
    QCOMPARE(reply["invalid"].size(), std::size_t(1));
    QCOMPARE(keysOf(reply["invalid"].at(0)), std::string("file code message"));
    QCOMPARE(str(reply["invalid"].at(0)["file"]), std::string("3-bad.json"));
}

void OperationsTest::namesThatAreNoText()
{
    Fixture fixture;
    fixture.provider("\xff\xfe.json", kLocal);
    fixture.provider("bad\xff\n.json", "{");
    QVERIFY(fixture.start());
    for (const char *op : {"status", "doctor", "refresh", "provider.list"}) {
        const json::Value reply = fixture.ask(op); // strict JSON, so valid UTF-8
        QVERIFY2(str(reply["type"]) == "result", op);
    }
    const json::Value get = fixture.ask("provider.get", R"("name":"local")");
    QCOMPARE(str(get["type"]), std::string("result"));
}

void OperationsTest::providerGet()
{
    Fixture fixture;
    const std::string text = R"({"zeta":1,"name":"far","base_url":"https://h.example/v1/","extra":{"b":1,"a":[2]}})";
    fixture.provider("far.json", text);
    QVERIFY(fixture.start());
    QVERIFY(fixture.runtime->secrets().set("far", "default", SecretString("sk-1")));
    QVERIFY(fixture.runtime->secrets().set("far", "office", SecretString("sk-2")));
    QVERIFY(fixture.runtime->secrets().set("near", "default", SecretString("sk-3")));
    QCOMPARE(::chmod((fixture.places.secretsDir() + "/far/office").c_str(), 0644), 0);
    const json::Value reply = fixture.ask("provider.get", R"("name":"far")");
    QCOMPARE(keysOf(reply), std::string("id type name file etag text config slots"));
    QCOMPARE(reply["config"].toJson(), text); // as it stands there, order and unknown keys kept
    QCOMPARE(str(reply["etag"]).size(), std::size_t(32));
    QCOMPARE(reply["slots"].size(), std::size_t(2));
    QCOMPARE(reply["slots"].at(0).toJson(), std::string(R"({"name":"default","state":"filled"})"));
    QCOMPARE(str(reply["slots"].at(1)["state"]), std::string("invalid"));
    QVERIFY(!str(reply["slots"].at(1)["reason"]).empty());
    const std::string etag = str(reply["etag"]);
    QCOMPARE(str(fixture.ask("provider.get", R"("name":"far")")["etag"]), etag);
    fixture.provider("far.json", text + "\n");
    QVERIFY(str(fixture.ask("provider.get", R"("name":"far")")["etag"]) != etag);
}

void OperationsTest::providerGetOfNothing()
{
    Fixture fixture;
    fixture.provider("far.json", kFar);
    QVERIFY(fixture.start());
    QCOMPARE(str(fixture.ask("provider.get", R"("name":"gone")")["code"]), std::string("ENOENT"));
    QCOMPARE(str(fixture.ask("provider.get")["code"]), std::string("ENOENT"));
    QCOMPARE(str(fixture.ask("provider.get", R"("name":"debug")")["code"]), std::string("ENOENT"));
    QCOMPARE(str(fixture.ask("provider.get", "\"name\":\"" + std::string(500'000, 'x') + "\"")["code"]),
             std::string("ENOENT"));
    QVERIFY(fixture.text().size() < 10'000);
    QCOMPARE(::unlink(fixture.dir.path("config/providers.d/far.json").c_str()), 0); // since the last refresh
    QCOMPARE(str(fixture.ask("provider.get", R"("name":"far")")["code"]), std::string("ENOENT"));
}

void OperationsTest::keySetAndRemove()
{
    Fixture fixture;
    fixture.provider("far.json", kFar);
    QVERIFY(fixture.start());
    const json::Value set = fixture.ask("provider.key.set", R"("name":"far","value":" sk-123\n")");
    QCOMPARE(fixture.text(), std::string("{\"id\":\"1\",\"type\":\"result\",\"name\":\"far\",\"slot\":\"default\"}\n"));
    QVERIFY(!set.isMissing());
    const Result<SecretString> key = fixture.runtime->secrets().get("far", "default");
    QVERIFY(key);
    QCOMPARE(std::string(key->reveal()), std::string("sk-123"));
    // It counts at once, without a refresh.
    QVERIFY(fixture.runtime->snapshot().load()->catalog->find("far", "m")->isConfigured);
    QCOMPARE(str(fixture.ask("provider.list")["providers"].at(0)["key"]), std::string("filled"));
    QCOMPARE(str(fixture.ask("provider.key.set", R"("name":"later","slot":"office","value":"x")")["slot"]),
             std::string("office"));
    QCOMPARE(str(fixture.ask("provider.key.remove", R"("name":"far")")["type"]), std::string("result"));
    QVERIFY(!fixture.runtime->snapshot().load()->catalog->find("far", "m")->isConfigured);
    QCOMPARE(str(fixture.ask("provider.key.remove", R"("name":"far")")["code"]), std::string("ENOENT"));
}

void OperationsTest::keyRefusals_data()
{
    QTest::addColumn<std::string>("members");
    QTest::addColumn<std::string>("code");
    const auto row = [](const char *title, std::string members, const char *code) {
        QTest::newRow(title) << std::move(members) << std::string(code);
    };
    row("no name", R"("value":"x")", "EINVAL");
    row("a name that is a path", R"("name":"../x","value":"x")", "EINVAL");
    row("a slot that is a path", R"("name":"far","slot":"../../x","value":"x")", "EINVAL");
    row("an empty slot", R"("name":"far","slot":"","value":"x")", "EINVAL");
    row("no value", R"("name":"far")", "EINVAL");
    row("an empty value", R"("name":"far","value":"")", "EINVAL");
    row("blanks", R"("name":"far","value":" \n ")", "EINVAL");
    row("a value that is a number", R"("name":"far","value":5)", "EINVAL");
    row("a control character inside", R"("name":"far","value":"a\u0001b")", "EINVAL");
    row("a line feed inside", R"("name":"far","value":"a\nb")", "EINVAL");
    row("over 64 KiB", "\"name\":\"far\",\"value\":\"" + std::string(65'537, 'x') + "\"", "EMSGSIZE");
}

void OperationsTest::keyRefusals()
{
    QFETCH(std::string, members);
    QFETCH(std::string, code);
    Fixture fixture;
    fixture.provider("far.json", kFar);
    QVERIFY(fixture.start());
    QVERIFY(fixture.runtime->secrets().set("far", "default", SecretString("old")));
    QCOMPARE(str(fixture.ask("provider.key.set", members)["code"]), code);
    QCOMPARE(std::string(fixture.runtime->secrets().get("far", "default")->reveal()), std::string("old"));
}

void OperationsTest::keySetByAHalfClosedClient()
{
    // printf '{...}\n' | socat - UNIX-CONNECT:control.sock
    Fixture fixture;
    QVERIFY(fixture.start());
    RawClient client = fixture.client();
    QVERIFY(client.send("{\"op\":\"provider.key.set\",\"id\":\"k\",\"name\":\"far\",\"value\":\"x\"}\n"));
    client.halfClose();
    QVERIFY(turnUntil([&] { return client.isAtEnd(); }));
    QCOMPARE(client.take(), std::string("{\"id\":\"k\",\"type\":\"result\",\"name\":\"far\",\"slot\":\"default\",\"declared\":false}\n"));
}

void OperationsTest::theKeyIsShownNowhere()
{
    const std::string canary = "sk-canary-7f3a";
    Fixture fixture;
    fixture.provider("far.json", kFar);
    QVERIFY(fixture.start());
    std::string all;
    fixture.ask("provider.key.set", "\"name\":\"far\",\"value\":\"" + canary + "\"");
    all += fixture.text();
    fixture.ask("provider.key.set", "\"name\":\"../far\",\"value\":\"" + canary + "\"");
    all += fixture.text();
    fixture.ask("provider.key.set", "\"name\":\"far\",\"value\":\"" + canary + "\\u0001\"");
    all += fixture.text();
    fixture.ask("provider.key.set", "\"name\":\"far\",\"slot\":7,\"value\":\"" + canary + "\"");
    all += fixture.text();
    for (const char *op : {"status", "doctor", "refresh", "model.list", "provider.list", "metrics"}) {
        fixture.ask(op);
        all += fixture.text();
    }
    fixture.ask("provider.get", R"("name":"far")");
    all += fixture.text();
    const auto snapshot = fixture.runtime->snapshot().load();
    all += snapshot->statusText;
    for (const models::ModelEntry &entry : snapshot->catalog->models()) {
        all += models::metadataText(entry, "/r");
        for (std::size_t i = 0; i < models::kControlCount; ++i)
            all += models::controlText(entry, static_cast<models::Control>(i));
    }
    QVERIFY(all.find("canary") == std::string::npos);
}

void OperationsTest::providerTest_data()
{
    QTest::addColumn<int>("status");
    QTest::addColumn<std::string>("key"); // stored; the server wants "good"
    QTest::addColumn<std::string>("members");
    QTest::addColumn<std::string>("outcome"); // "ok" or the errno
    const auto row = [](const char *title, int status, const char *key, const char *members, const char *outcome) {
        QTest::newRow(title) << status << std::string(key) << std::string(members) << std::string(outcome);
    };
    row("all is well", 200, "good", "", "ok");
    row("a model by its name", 200, "good", R"(,"model":"custom-model")", "ok");
    row("a model by its full name", 200, "good", R"(,"model":"wire/custom-model")", "ok");
    row("a wrong key", 200, "bad", "", "EACCES");
    row("a server that is refusing", 400, "good", "", "EINVAL");
    row("a model that is not declared", 200, "good", R"(,"model":"other")", "ENOENT");
}

void OperationsTest::providerTest()
{
    QFETCH(int, status);
    QFETCH(std::string, key);
    QFETCH(std::string, members);
    QFETCH(std::string, outcome);
    OpenAiOptions options;
    options.status = status;
    options.requiredKey = "good";
    WireServer wire(openAiScript(options));
    Fixture fixture;
    fixture.provider("wire.json",
                     R"({"name":"wire","default_model":"custom-model","base_url":")" + wire.url("/v1") + "\"}");
    QVERIFY(fixture.start());
    QVERIFY(fixture.runtime->secrets().set("wire", "default", SecretString(key)));
    const json::Value reply = fixture.ask("provider.test", "\"name\":\"wire\"" + members);
    QVERIFY2(str(reply["type"]) == "result", fixture.text().c_str()); // a failed test is a result
    QCOMPARE(reply["ok"].asBool().value_or(outcome != "ok"), outcome == "ok");
    if (outcome == "ok") {
        QCOMPARE(keysOf(reply), std::string("id type model ok transport slot rule status first_token_ms total_ms"));
        QCOMPARE(str(reply["model"]), std::string("wire/custom-model"));
        QCOMPARE(str(reply["transport"]), std::string("direct"));
        QCOMPARE(str(reply["slot"]), std::string("default"));
        QCOMPARE(reply["status"].asInt().value_or(0), std::int64_t(200));
        QVERIFY(reply["first_token_ms"].asInt().value_or(-1) >= 0);
    } else {
        QCOMPARE(str(reply["error"]["code"]), outcome);
        QVERIFY(!str(reply["error"]["message"]).empty());
    }
    QVERIFY(fixture.text().find(key == "good" ? "\"good\"" : "\"bad\"") == std::string::npos);
}

void OperationsTest::providerTestAsksOnceAndEndsTheCooldown()
{
    WireServer wire(openAiScript({.status = 500, .failures = 1}));
    Fixture fixture;
    fixture.provider("wire.json", R"({"name":"wire","default_model":"m","base_url":")" + wire.url("/v1") + "\"}");
    QVERIFY(fixture.start());
    const auto activity = fixture.runtime->snapshot().load()->catalog->find("wire", "m")->activity;
    activity->startCooldown({systemClock().wallMs() + 60'000, EAGAIN, "slow down"});
    const auto state = [&] { return str(fixture.ask("model.list", R"("provider":"wire")")["models"].at(0)["state"]); };
    QCOMPARE(state(), std::string("cooldown"));
    QCOMPARE(str(fixture.ask("provider.test", R"("name":"wire")")["error"]["code"]), std::string("EHOSTDOWN"));
    QCOMPARE(wire.requests().size(), std::size_t(1));
    QCOMPARE(state(), std::string("cooldown"));
    activity->endCooldown();
    QCOMPARE(state(), std::string("ready"));
}

void OperationsTest::providerTestOfNothing()
{
    Fixture fixture;
    fixture.provider("empty.json", R"({"name":"empty","base_url":"http://127.0.0.1:9"})");
    fixture.provider("off.json",
                     R"({"name":"off","base_url":"http://127.0.0.1:9","enabled":false,"default_model":"m"})");
    QVERIFY(fixture.start());
    QCOMPARE(str(fixture.ask("provider.test", R"("name":"gone")")["code"]), std::string("ENOENT"));
    QCOMPARE(str(fixture.ask("provider.test")["code"]), std::string("ENOENT"));
    QCOMPARE(str(fixture.ask("provider.test", R"("name":"empty")")["code"]), std::string("EINVAL"));
    const json::Value off = fixture.ask("provider.test", R"("name":"off")");
    QCOMPARE(off["ok"].asBool().value_or(true), false);
    QCOMPARE(str(off["error"]["code"]), std::string("ENOENT"));
}

void OperationsTest::metrics()
{
    Fixture fixture;
    QVERIFY(fixture.start());
    RawClient client = fixture.client();
    const std::string echo = R"({"op":"exec","id":"e","object":"model/debug/echo","argv":["x"]})";
    const std::string none = R"({"op":"exec","id":"e","object":"model/none/none","argv":["x"]})";
    askUntilResult(client, echo + "\n");
    askUntilResult(client, none + "\n");
    QVERIFY(client.send(R"({"op":"exec","id":"w","object":"model/debug/script","argv":["wait 60000"]})"
                        "\n"));
    QVERIFY(turnUntil([&] { return fixture.server->liveExecutions() == 1; }));
    const json::Value reply = fixture.ask("metrics");
    QCOMPARE(keysOf(reply), std::string("id type runs_total exec_total runs_live fuse_requests uptime_ms"));
    QCOMPARE(reply["runs_total"].asInt().value_or(0), std::int64_t(1));
    QCOMPARE(reply["exec_total"].asInt().value_or(0), std::int64_t(3));
    QCOMPARE(reply["runs_live"].asInt().value_or(0), std::int64_t(1));
    QCOMPARE(reply["fuse_requests"].asInt().value_or(0), std::int64_t(42));
}

void OperationsTest::everyOperationSurvivesWrongTypes()
{
    Fixture fixture;
    fixture.provider("far.json", kFar);
    QVERIFY(fixture.start());
    for (const char *op : {"status", "doctor", "refresh", "model.list", "provider.list", "provider.get",
                           "provider.key.set", "provider.key.remove", "provider.test", "metrics"}) {
        for (const char *value : {"null", "7", "[]", "{}", "true", "\"\"", "\"../../../etc\"", "\"\\u0000\""}) {
            const std::string v = value;
            const json::Value reply = fixture.ask(op, "\"name\":" + v + ",\"slot\":" + v + ",\"value\":" + v
                                                          + ",\"model\":" + v + ",\"after\":" + v
                                                          + ",\"provider\":" + v);
            const std::string type = str(reply["type"]);
            QVERIFY2(type == "result" || type == "error", (std::string(op) + " " + v + ": " + fixture.text()).c_str());
        }
    }
    QCOMPARE(str(fixture.ask("status")["state"]), std::string("ready"));
}

QTEST_GUILESS_MAIN(OperationsTest)
#include "operations_test.moc"
