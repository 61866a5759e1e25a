// provider.put, remove, presets, the provider's own list, and the limits cache: over the control socket, on real files.
#include "common/config/presets.h"
#include "common/control_client/client.h"
#include "daemon/core/operations.h"
#include "tests/common/test_strings.h"
#include "tests/control/control_fixture.h"
#include "tests/support/wire_replies.h"
#include "tests/support/wire_server.h"

#include <QTest>

#include <filesystem>
#include <fstream>
#include <sstream>

#include <sys/stat.h>
#include <unistd.h>

using namespace cortexfs;
using namespace cortexfs::test;

namespace {

constexpr char kFar[] =
    "{\"zeta\": 1, \"name\": \"far\", \"base_url\": \"https://h.example/v1\", \"models\": [\"m\"]}\n";

class Fixture : public ControlFixture {
public:
    bool start()
    {
        if (!ControlFixture::start())
            return false;
        m_route = std::make_unique<providers::RouteEgress>(places.routeFile(), places.geoDir());
        registerOperations(*server, OperationContext{*runtime, *models, *server, *m_route, [] { return false; },
                                                     [] { return std::uint64_t(0); }, systemClock().monotonicMs()});
        return true;
    }
    json::Value ask(const std::string &op, const std::string &members = {})
    {
        RawClient asking = client();
        const std::string text = test::ask(asking, control::requestFrame(op, "1", members) + "\n");
        Result<json::Document> document = json::parse(text.substr(0, text.find('\n')));
        if (!document)
            return {};
        m_documents.push_back(std::move(*document));
        return m_documents.back().root();
    }
    // "" or the errno of the answer.
    std::string code(const std::string &op, const std::string &members)
    {
        const json::Value reply = ask(op, members);
        return reply["type"].stringOr("") == "result" ? std::string() : std::string(reply["code"].stringOr("none"));
    }
    std::string etag(const std::string &name)
    {
        return std::string(ask("provider.get", "\"name\":\"" + name + "\"")["etag"].stringOr(""));
    }
    std::string file(const std::string &name) const
    {
        std::ifstream in(path(name), std::ios::binary);
        std::ostringstream text;
        text << in.rdbuf();
        return in ? text.str() : std::string("(absent)");
    }
    std::string path(const std::string &name) const { return places.providersDir() + "/" + name; }
    bool hasModel(const char *provider, const char *model) const
    {
        return runtime->snapshot().load()->catalog->find(provider, model) != nullptr;
    }

private:
    std::unique_ptr<providers::RouteEgress> m_route;
    std::vector<json::Document> m_documents;
};

std::string quoted(const std::string &text)
{
    std::string out;
    json::appendQuoted(out, text);
    return out;
}

} // namespace

class ProviderEditTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aNewProviderIsWrittenAndUsed()
    {
        Fixture fixture;
        QVERIFY(fixture.start());
        const json::Value reply = fixture.ask(
            "provider.put", "\"name\":\"n\",\"etag\":\"\",\"config\":{\"zeta\":1,\"name\":\"n\",\"base_url\":"
                            "\"http://127.0.0.1:9/v1\",\"models\":[\"a\"],\"alpha\":{\"b\":2,\"a\":1}}");
        QCOMPARE(reply["name"].stringOr(""), std::string_view("n"));
        QCOMPARE(reply["file"].stringOr(""), std::string_view("n.json"));
        QCOMPARE(std::string(reply["etag"].stringOr("")), fixture.etag("n"));
        QCOMPARE(
            fixture.file("n.json"),
            std::string("{\n  \"zeta\": 1,\n  \"name\": \"n\",\n  \"base_url\": \"http://127.0.0.1:9/v1\",\n"
                        "  \"models\": [\n    \"a\"\n  ],\n  \"alpha\": {\n    \"b\": 2,\n    \"a\": 1\n  }\n}\n"));
        struct stat info = {};
        QCOMPARE(::stat(fixture.path("n.json").c_str(), &info), 0);
        QCOMPARE(info.st_mode & 07777u, 0644u);
        QVERIFY(fixture.hasModel("n", "a"));
    }

    void aFileIsReplacedByItsEtag()
    {
        Fixture fixture;
        fixture.provider("10-far.json", kFar);
        QVERIFY(fixture.start());
        const std::string text =
            "{ \"name\": \"far\",\n\"base_url\": \"https://h.example/v2\", \"models\": [\"m2\"] }\n";
        const json::Value reply = fixture.ask("provider.put", "\"name\":\"far\",\"etag\":" + quoted(fixture.etag("far"))
                                                                  + ",\"text\":" + quoted(text));
        QCOMPARE(reply["file"].stringOr(""), std::string_view("10-far.json"));
        QCOMPARE(fixture.file("10-far.json"), text); // as it was laid out
        QVERIFY(fixture.hasModel("far", "m2") && !fixture.hasModel("far", "m"));
    }

    void whatCannotBeWrittenChangesNothing_data()
    {
        QTest::addColumn<std::string>("members"); // ETAG stands for the right one
        QTest::addColumn<std::string>("code");
        const auto row = [](const char *name, std::string members, const char *code) {
            QTest::newRow(name) << std::move(members) << std::string(code);
        };
        const std::string good = "{\"name\":\"far\",\"base_url\":\"https://h.example/v3\"}";
        const auto put = [](const std::string &config) {
            return "\"name\":\"far\",\"etag\":\"ETAG\",\"config\":" + config;
        };
        row("another etag", "\"name\":\"far\",\"etag\":\"0123\",\"config\":" + good, "ESTALE");
        row("no etag", "\"name\":\"far\",\"config\":" + good, "EINVAL");
        row("a new one that is there", "\"name\":\"far\",\"etag\":\"\",\"config\":" + good, "EEXIST");
        row("a provider that is not there", "\"name\":\"gone\",\"etag\":\"ETAG\",\"config\":" + good, "ENOENT");
        row("the name of another file's provider", put("{\"name\":\"near\",\"base_url\":\"https://h.example\"}"),
            "EEXIST");
        row("a new file for another file's provider",
            "\"file\":\"z.json\",\"etag\":\"\",\"config\":{\"name\":\"near\",\"base_url\":\"https://h.example\"}",
            "EEXIST");
        row("no base_url", put("{\"name\":\"far\"}"), "EINVAL");
        row("a wrong type", put("{\"name\":\"far\",\"base_url\":\"https://h.example\",\"models\":7}"), "EINVAL");
        row("a key", put("{\"name\":\"far\",\"base_url\":\"https://h.example\",\"api_key\":\"x\"}"), "EINVAL");
        row("an alias as name", put("{\"name\":\"main\",\"base_url\":\"https://h.example\"}"), "EINVAL");
        row("a config that is no object", put("[]"), "EINVAL");
        row("neither config nor text", "\"name\":\"far\",\"etag\":\"ETAG\"", "EINVAL");
        row("both", put(good) + ",\"text\":\"{}\"", "EINVAL");
        row("text that is no JSON", "\"name\":\"far\",\"etag\":\"ETAG\",\"text\":\"{\"", "EINVAL");
        row("a file name that is a path", "\"file\":\"../x.json\",\"etag\":\"\",\"config\":" + good, "EINVAL");
        row("a hidden file", "\"file\":\".x.json\",\"etag\":\"\",\"config\":" + good, "EINVAL");
        row("no provider file", "\"file\":\"x.txt\",\"etag\":\"\",\"config\":" + good, "EINVAL");
        row("over 64 KiB",
            put("{\"name\":\"far\",\"base_url\":\"https://h.example\",\"extra\":\"" + std::string(66'000, 'x') + "\"}"),
            "EMSGSIZE");
    }
    void whatCannotBeWrittenChangesNothing()
    {
        QFETCH(std::string, members);
        QFETCH(std::string, code);
        Fixture fixture;
        fixture.provider("far.json", kFar);
        fixture.provider("near.json", "{\"name\":\"near\",\"base_url\":\"https://n.example\"}");
        QVERIFY(fixture.start());
        if (const std::size_t at = members.find("ETAG"); at != std::string::npos)
            members.replace(at, 4, fixture.etag("far"));
        QCOMPARE(fixture.code("provider.put", members), code);
        QCOMPARE(fixture.file("far.json"), std::string(kFar));
        std::size_t files = 0;
        for (const auto &entry : std::filesystem::directory_iterator(fixture.places.providersDir()))
            files += entry.path().empty() ? 0 : 1;
        QCOMPARE(files, std::size_t(2)); // also no temporary one
        QVERIFY(fixture.hasModel("far", "m"));
    }

    void faultsHavePointers()
    {
        Fixture fixture;
        QVERIFY(fixture.start());
        const json::Value reply = fixture.ask(
            "provider.put", "\"etag\":\"\",\"config\":{\"name\":\"n\",\"base_url\":\"https://h.example\",\"timeouts\":"
                            "{\"connect_ms\":\"x\"},\"model_limits\":{\"a/b\":1}}");
        const std::string message(reply["message"].stringOr(""));
        QVERIFY2(message.find("/timeouts/connect_ms: not an integer") != std::string::npos, message.c_str());
        QVERIFY2(message.find("/model_limits/a~1b") != std::string::npos, message.c_str());
    }

    void aLinkIsNotFollowed()
    {
        Fixture fixture;
        fixture.dir.write("elsewhere.json", kFar);
        fixture.provider("x.json", "{}");
        QCOMPARE(::unlink(fixture.path("x.json").c_str()), 0);
        QCOMPARE(::symlink(fixture.dir.path("elsewhere.json").c_str(), fixture.path("far.json").c_str()), 0);
        QVERIFY(fixture.start());
        const std::string config = "{\"name\":\"far\",\"base_url\":\"https://h.example/v3\"}";
        QCOMPARE(fixture.code("provider.get", "\"file\":\"far.json\""), std::string("ELOOP"));
        QCOMPARE(fixture.code("provider.put", "\"file\":\"far.json\",\"etag\":\"x\",\"config\":" + config),
                 std::string("ELOOP"));
        QCOMPARE(fixture.code("provider.put", "\"etag\":\"\",\"config\":" + config), std::string("EEXIST"));
        QCOMPARE(fixture.code("provider.preset.install", "\"name\":\"none\""), std::string("ENOENT"));
        QCOMPARE(fixture.dir.read("elsewhere.json"), std::string(kFar));
    }

    void anInvalidFileIsOpenedAndRepaired()
    {
        Fixture fixture;
        fixture.provider("bad.json", "{\"name\":\"bad\",");
        QVERIFY(fixture.start());
        QCOMPARE(fixture.ask("provider.list")["invalid"].at(0)["file"].stringOr(""), std::string_view("bad.json"));
        const json::Value opened = fixture.ask("provider.get", "\"file\":\"bad.json\"");
        QCOMPARE(opened["text"].stringOr(""), std::string_view("{\"name\":\"bad\","));
        QCOMPARE(opened["name"].stringOr("?"), std::string_view(""));
        QCOMPARE(opened["error"]["code"].stringOr(""), std::string_view("EINVAL"));
        QVERIFY(opened["config"].isMissing());
        const json::Value put = fixture.ask(
            "provider.put",
            "\"file\":\"bad.json\",\"etag\":" + quoted(std::string(opened["etag"].stringOr("")))
                + ",\"config\":{\"name\":\"good\",\"base_url\":\"http://localhost:9\",\"models\":[\"m\"]}");
        QCOMPARE(put["name"].stringOr(""), std::string_view("good"));
        QVERIFY(fixture.hasModel("good", "m"));
        QCOMPARE(fixture.ask("provider.list")["invalid"].size(), std::size_t(0));
    }

    void removing()
    {
        Fixture fixture;
        fixture.provider("far.json", kFar);
        QVERIFY(fixture.start());
        QVERIFY(fixture.runtime->secrets().set("far", "default", SecretString("sk")));
        QCOMPARE(fixture.code("provider.remove", "\"name\":\"far\",\"etag\":\"0\""), std::string("ESTALE"));
        QCOMPARE(fixture.code("provider.remove", "\"name\":\"far\""), std::string("EINVAL"));
        QCOMPARE(fixture.file("far.json"), std::string(kFar));
        const json::Value reply = fixture.ask("provider.remove",
                                              "\"name\":\"far\",\"etag\":" + quoted(fixture.etag("far")));
        QCOMPARE(reply["file"].stringOr(""), std::string_view("far.json"));
        QCOMPARE(fixture.file("far.json"), std::string("(absent)"));
        QVERIFY(!fixture.hasModel("far", "m"));
        QVERIFY(fixture.runtime->secrets().get("far", "default").isOk());
        QCOMPARE(fixture.code("provider.remove", "\"name\":\"far\",\"etag\":\"0\""), std::string("ENOENT"));
    }

    void presets()
    {
        Fixture fixture;
        QVERIFY(fixture.start());
        const auto state = [&](std::string_view name) {
            for (const json::Value &preset : fixture.ask("provider.preset.list")["presets"].elements()) {
                if (preset["name"].stringOr("") == name)
                    return std::string(preset["state"].stringOr(""));
            }
            return std::string("(none)");
        };
        const std::string name(config::presets().front().name);
        const std::string alias(config::presetAliases(name).front());
        const std::string text(config::presets().front().json);
        QCOMPARE(state(name), std::string("absent"));
        const json::Value installed = fixture.ask("provider.preset.install", "\"name\":\"" + alias + "\"");
        QCOMPARE(installed["name"].stringOr(""), std::string_view(name));
        QCOMPARE(installed["action"].stringOr(""), std::string_view("installed"));
        QCOMPARE(fixture.file(name + ".json"), text);
        QCOMPARE(state(name), std::string("installed"));
        QCOMPARE(fixture.ask("provider.preset.install", "\"name\":\"" + name + "\"")["action"].stringOr(""),
                 std::string_view("unchanged"));
        // Its models are there, under the preset's own name.
        QVERIFY(fixture.runtime->snapshot().load()->catalog->rangeOf(name).second > 0);

        const std::string mine = "{\"name\":\"" + name + "\",\"base_url\":\"https://mine.example\"}";
        fixture.provider(name + ".json", mine);
        QCOMPARE(state(name), std::string("changed"));
        QCOMPARE(fixture.code("provider.preset.install", "\"name\":\"" + name + "\""), std::string("EEXIST"));
        QCOMPARE(fixture.file(name + ".json"), mine);
        QCOMPARE(fixture.code("provider.preset.install", "\"name\":\"" + name + "\",\"force\":1"),
                 std::string("EINVAL"));
        const json::Value forced = fixture.ask("provider.preset.install", "\"name\":\"" + name + "\",\"force\":true");
        QCOMPARE(forced["action"].stringOr(""), std::string_view("replaced"));
        QCOMPARE(fixture.file(name + ".json"), text);
    }

    void everyPresetIsValid()
    {
        for (const config::Preset &preset : config::presets()) {
            const auto parsed = config::parseProvider(preset.json, "x.json", knownFormats());
            QVERIFY2(parsed.isOk(), parsed ? "" : parsed.error().text().c_str());
            QVERIFY(parsed->warnings.empty() && !parsed->defaultModel.empty());
            QCOMPARE(parsed->name, std::string(preset.name));
        }
    }

    void theListOfAProviderIsSaved()
    {
        const WireServer server([](WirePeer &peer) {
            while (peer.readRequest())
                peer.send(reply(200, "application/json",
                                "{\"object\":\"list\",\"data\":[{\"id\":\"a\",\"created\":1700000000},"
                                "{\"id\":\"new/one\",\"max_model_len\":4096},{\"id\":\"two\"}]}"));
        });
        Fixture fixture;
        fixture.provider("s.json", "{\"zeta\":1,\"name\":\"s\",\"base_url\":\"" + server.url("/v1")
                                       + "\",\"models\":[\"a\",\"old\"],\"last\":true}");
        QVERIFY(fixture.start());
        const std::string before = fixture.file("s.json");
        const json::Value seen = fixture.ask("provider.models.refresh", "\"name\":\"s\"");
        QCOMPARE(seen["models"].toJson(),
                 std::string("[{\"id\":\"a\",\"new\":false},{\"id\":\"new/one\",\"new\":true,\"limit\":4096},"
                             "{\"id\":\"two\",\"new\":true}]"));
        QCOMPARE(seen["added"].asInt().value_or(0), std::int64_t(2));
        QCOMPARE(seen["removed"].toJson(), std::string("[\"old\"]"));
        QCOMPARE(seen["saved"].asBool().value_or(true), false);
        QCOMPARE(fixture.file("s.json"), before);
        QCOMPARE(fixture.runtime->snapshot().load()->catalog->find("s", "a")->createdAt, std::int64_t(1'700'000'000));

        QCOMPARE(
            fixture.ask("provider.models.refresh", "\"name\":\"s\",\"save\":true")["saved"].asBool().value_or(false),
            true);
        const auto saved = json::parse(fixture.file("s.json"));
        QVERIFY(saved.isOk());
        QCOMPARE(saved->root()["models"].toJson(), std::string("[\"a\",\"old\",\"new/one\",\"two\"]"));
        QCOMPARE(saved->root()["model_limits"].toJson(), std::string("{\"new/one\":4096}"));
        QCOMPARE(saved->root().members().front().key, std::string_view("zeta"));
        QVERIFY(fixture.hasModel("s", "new_one"));
        // Nothing new: nothing is written.
        const std::string after = fixture.file("s.json");
        QCOMPARE(fixture.ask("provider.models.refresh", "\"name\":\"s\",\"save\":true")["added"].asInt().value_or(9),
                 std::int64_t(0));
        QCOMPARE(fixture.file("s.json"), after);
        QCOMPARE(fixture.code("provider.models.refresh", "\"name\":\"gone\""), std::string("ENOENT"));
    }

    void theDoctorSaysWhatIsWrong()
    {
        Fixture fixture;
        fixture.provider("bad.json", "{\"name\":\"bad\",\"base_url\":7}");
        fixture.dir.write("state/cache/model-limits.json", "<html>");
        QVERIFY(fixture.start());
        const std::string checks = fixture.ask("doctor")["checks"].toJson();
        QVERIFY2(checks.find("\"limits cache\",\"status\":\"warning\"") != std::string::npos, checks.c_str());
        QVERIFY2(checks.find("ctx model limits refresh") != std::string::npos, checks.c_str());
        QVERIFY2(checks.find("/base_url: not a string") != std::string::npos, checks.c_str());
        QVERIFY2(checks.find("ctx provider edit bad.json") != std::string::npos, checks.c_str());
    }
};

QTEST_GUILESS_MAIN(ProviderEditTest)
#include "provider_edit_test.moc"
