// The commands that change providers: what they send, what they say, and that nothing is sent for a mistake.
#include "tests/ctx/ctx_run.h"

#include <QTest>

#include <algorithm>
#include <fstream>

using namespace cortexfs;
using namespace cortexfs::ctx::test;

namespace {

bool has(const std::string &text, std::string_view part) { return text.find(part) != std::string::npos; }

constexpr char kOpened[] = "\"name\":\"local\",\"file\":\"10.json\",\"etag\":\"e1\",\"text\":\"{\\\"zeta\\\": 1}\\n\","
                           "\"config\":{\"zeta\":1,\"models\":[\"a\"],\"enabled\":true},\"slots\":[]";
constexpr char kStored[] = "\"name\":\"local\",\"file\":\"10.json\",\"etag\":\"e2\"";
constexpr char kPresets[] =
    "\"presets\":[{\"name\":\"openai\",\"aliases\":[\"codex\"],\"state\":\"absent\",\"config\":{\"name\":\"openai\","
    "\"base_url\":\"https://api.openai.com/"
    "v1\",\"default_model\":\"m\",\"models\":[\"m\"],\"formats\":[\"openai.chat\"]}}]";

std::string listOf(const char *name, const char *key, int models)
{
    return std::string("\"providers\":[{\"name\":\"") + name + "\",\"key\":\"" + key
           + "\",\"models\":" + std::to_string(models) + ",\"enabled\":true}],\"invalid\":[]";
}

// The request's members behind its op and id.
std::string members(const std::string &frame)
{
    const std::size_t id = frame.find("\"id\":");
    const std::size_t comma = id == std::string::npos ? id : frame.find(',', id);
    return comma == std::string::npos ? std::string() : frame.substr(comma + 1);
}

} // namespace

class ProviderTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void adding_data()
    {
        QTest::addColumn<QStringList>("options");
        QTest::addColumn<std::string>("config"); // "!text": refused with it
        const auto row = [](const char *name, std::initializer_list<const char *> options, const char *config) {
            QStringList words;
            for (const char *option : options)
                words << QString::fromUtf8(option);
            QTest::newRow(name) << words << std::string(config);
        };
        row("an address", {"--base-url", "http://x/v1"}, "{\"name\":\"n\",\"base_url\":\"http://x/v1\"}");
        row("models, the first is the default",
            {"--base-url", "http://x/v1", "--model", "a", "--model", "b/c", "--limit", "a=100", "--limit", "b/c=5"},
            "{\"name\":\"n\",\"base_url\":\"http://x/v1\",\"default_model\":\"a\",\"models\":[\"a\",\"b/c\"],"
            "\"model_limits\":{\"a\":100,\"b/c\":5}}");
        row("all",
            {"--base-url=http://x", "--default-model", "d", "--format", "openai.responses", "--format", "openai.chat"},
            "{\"name\":\"n\",\"base_url\":\"http://"
            "x\",\"default_model\":\"d\",\"formats\":[\"openai.responses\",\"openai.chat\"]}");
        row("over a preset", {"--from-preset", "codex", "--base-url", "http://x"},
            "{\"name\":\"n\",\"base_url\":\"http://"
            "x\",\"default_model\":\"m\",\"models\":[\"m\"],\"formats\":[\"openai.chat\"]}");
        row("no such preset", {"--from-preset", "gone"}, "!no such preset");
        row("no address", {"--model", "a"}, "!--base-url");
        row("a limit without a number", {"--base-url", "http://x", "--limit", "a=many"}, "!MODEL=TOKENS");
        row("a limit without a model", {"--base-url", "http://x", "--limit", "5"}, "!MODEL=TOKENS");
    }
    void adding()
    {
        QFETCH(QStringList, options);
        QFETCH(std::string, config);
        World world;
        world.daemon().reply("provider.put", "\"name\":\"n\",\"file\":\"n.json\",\"etag\":\"e\"");
        world.daemon().reply("provider.preset.list", kPresets);
        world.daemon().reply("provider.list", listOf("n", "missing", 1));
        std::vector<std::string> line = {"provider", "add", "n"};
        for (const QString &option : options)
            line.push_back(option.toStdString());
        const Outcome outcome = world.run(line);
        if (config.starts_with('!')) {
            QVERIFY(outcome.exitCode == 1 || outcome.exitCode == 2);
            QVERIFY2(has(outcome.err, config.substr(1)), outcome.err.c_str());
            QCOMPARE(QByteArray::fromStdString(world.daemon().request("provider.put")), QByteArray());
            return;
        }
        QVERIFY2(outcome.exitCode == 0, outcome.err.c_str());
        QCOMPARE(QByteArray::fromStdString(members(world.daemon().request("provider.put"))),
                 QByteArray::fromStdString("\"name\":\"n\",\"etag\":\"\",\"config\":" + config + "}"));
        QCOMPARE(QByteArray::fromStdString(outcome.out),
                 QByteArray("n: added (n.json)\nnext: ctx provider key set n\n"));
    }

    void theNameOfAPresetAloneInstallsIt()
    {
        World world;
        world.daemon().reply("provider.preset.install",
                             "\"name\":\"openai\",\"file\":\"openai.json\",\"action\":\"installed\"");
        world.daemon().reply("provider.list", listOf("openai", "filled", 2));
        const Outcome outcome = world.run({"provider", "add", "codex"});
        QVERIFY2(outcome.exitCode == 0, outcome.err.c_str());
        QVERIFY2(has(outcome.out, "openai: installed (openai.json)\nnext: ctx provider test openai"),
                 outcome.out.c_str());
        world.daemon().fail("provider.preset.install", "ENOENT", "no such preset: x");
        const Outcome unknown = world.run({"provider", "add", "x"});
        QCOMPARE(unknown.exitCode, 2);
        QVERIFY2(has(unknown.err, "--base-url"), unknown.err.c_str());
    }

    void addingWithItsKey()
    {
        World world;
        world.daemon().reply("provider.put", "\"name\":\"n\",\"file\":\"n.json\",\"etag\":\"e\"");
        world.daemon().reply("provider.key.set", "\"name\":\"n\",\"slot\":\"default\"");
        world.daemon().reply("provider.list", listOf("n", "filled", 0));
        const Outcome outcome = world.run({"provider", "add", "n", "--base-url", "http://x", "--key"}, "CANARY-1\n");
        QVERIFY2(outcome.exitCode == 0, outcome.err.c_str());
        QVERIFY(has(world.daemon().request("provider.key.set"), "CANARY-1"));
        QVERIFY2(has(outcome.out, "stored\nnext: ctx provider models n --save\n"), outcome.out.c_str());
        QVERIFY(!has(outcome.out + outcome.err, "CANARY"));
    }

    void whatTheDaemonRefusesIsOneLine_data()
    {
        QTest::addColumn<std::string>("code");
        QTest::addColumn<int>("exitCode");
        QTest::addColumn<std::string>("hint");
        QTest::newRow("there already") << std::string("EEXIST") << 1 << std::string("ctx provider edit n");
        QTest::newRow("invalid") << std::string("EINVAL") << 2 << std::string("why");
        QTest::newRow("not allowed") << std::string("EACCES") << 13 << std::string("why");
    }
    void whatTheDaemonRefusesIsOneLine()
    {
        QFETCH(std::string, code);
        QFETCH(int, exitCode);
        QFETCH(std::string, hint);
        World world;
        world.daemon().fail("provider.put", code, "why");
        const Outcome outcome = world.run({"provider", "add", "n", "--base-url", "http://x"});
        QCOMPARE(outcome.exitCode, exitCode);
        QCOMPARE(outcome.out, std::string());
        QVERIFY2(has(outcome.err, hint), outcome.err.c_str());
        QCOMPARE(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1);
    }

    void editingByOptions_data()
    {
        QTest::addColumn<QStringList>("options");
        QTest::addColumn<std::string>("config"); // "!text": refused with it
        const auto row = [](const char *name, std::initializer_list<const char *> options, const char *config) {
            QStringList words;
            for (const char *option : options)
                words << QString::fromUtf8(option);
            QTest::newRow(name) << words << std::string(config);
        };
        row("a member set", {"--set", "/zeta=2"}, "{\"zeta\":2,\"models\":[\"a\"],\"enabled\":true}");
        row("several, in order", {"--set", "/models/-=\"b\"", "--set", "/models/0=\"c\"", "--unset", "/zeta"},
            "{\"models\":[\"c\",\"b\"],\"enabled\":true}");
        row("a value with '='", {"--set", "/x=\"a=b\""},
            "{\"zeta\":1,\"models\":[\"a\"],\"enabled\":true,\"x\":\"a=b\"}");
        row("no JSON", {"--set", "/x=abc"}, "!'/x=\"text\"'");
        row("no value", {"--set", "/x"}, "!POINTER=JSON");
        row("no pointer", {"--set", "x=1"}, "!JSON pointer");
        row("nothing to take out", {"--unset", "/gone"}, "!nothing there");
    }
    void editingByOptions()
    {
        QFETCH(QStringList, options);
        QFETCH(std::string, config);
        World world;
        world.daemon().reply("provider.get", kOpened);
        world.daemon().reply("provider.put", kStored);
        std::vector<std::string> line = {"provider", "edit", "local"};
        for (const QString &option : options)
            line.push_back(option.toStdString());
        const Outcome outcome = world.run(line);
        if (config.starts_with('!')) {
            QVERIFY(outcome.exitCode != 0);
            QVERIFY2(has(outcome.err, config.substr(1)), outcome.err.c_str());
            QCOMPARE(QByteArray::fromStdString(world.daemon().request("provider.put")), QByteArray());
            return;
        }
        QVERIFY2(outcome.exitCode == 0, outcome.err.c_str());
        QCOMPARE(outcome.out, std::string("local: saved in 10.json\n"));
        QCOMPARE(QByteArray::fromStdString(members(world.daemon().request("provider.put"))),
                 QByteArray::fromStdString("\"name\":\"local\",\"etag\":\"e1\",\"config\":" + config + "}"));
    }

    void editingInAnEditorKeepsTheLayout()
    {
        World world;
        world.daemon().reply("provider.get", kOpened);
        world.daemon().reply("provider.put", kStored);
        const std::string editor = world.root() + "/my editor";
        world.write("my editor", "#!/bin/sh\nprintf '{  \"zeta\": 2 }\\n' > \"$1\"\n", 0755);
        const Outcome outcome = world.run({"provider", "edit", "local"}, {}, {{"EDITOR", "'" + editor + "'"}});
        QVERIFY2(outcome.exitCode == 0, outcome.err.c_str());
        QCOMPARE(QByteArray::fromStdString(members(world.daemon().request("provider.put"))),
                 QByteArray("\"name\":\"local\",\"etag\":\"e1\",\"text\":\"{  \\\"zeta\\\": 2 }\\n\"}"));
        const Outcome unchanged = world.run({"provider", "edit", "local"}, {}, {{"EDITOR", "true"}});
        QCOMPARE(unchanged.exitCode, 0);
        QCOMPARE(unchanged.out, std::string("10.json: unchanged\n"));
    }

    void whatWasTypedIsKeptWhenItIsRefused()
    {
        World world;
        world.daemon().reply("provider.get", kOpened);
        const std::string editor = world.root() + "/editor";
        world.write("editor", "#!/bin/sh\necho mine > \"$1\"\n", 0755);
        for (const auto &[code, exitCode] : {std::pair{"EINVAL", 2}, std::pair{"ESTALE", 1}}) {
            world.daemon().fail("provider.put", code, "/x: wrong");
            const Outcome outcome = world.run({"provider", "edit", "local"}, {},
                                              {{"EDITOR", editor}, {"TMPDIR", world.base()}});
            QCOMPARE(outcome.exitCode, exitCode);
            const std::size_t at = outcome.err.find("your text is kept in ");
            QVERIFY2(at != std::string::npos && has(outcome.err, "/x: wrong"), outcome.err.c_str());
            std::string path = outcome.err.substr(at + 21);
            path.erase(path.find('\n'));
            std::ifstream kept(path);
            std::string text;
            QVERIFY(std::getline(kept, text));
            QCOMPARE(text, std::string("mine"));
        }
    }

    void anInvalidFileIsFoundByItsName()
    {
        World world;
        world.daemon().on("provider.get", [](Peer &peer, const json::Value &request) {
            if (request["file"].stringOr("") == "bad.json")
                peer.result(request, "\"name\":\"\",\"file\":\"bad.json\",\"etag\":\"e\",\"text\":\"{\",\"slots\":[]");
            else
                peer.error(request, "ENOENT", "no such provider");
        });
        world.daemon().reply("provider.put", kStored);
        const std::string editor = world.root() + "/editor";
        world.write("editor", "#!/bin/sh\necho '{}' > \"$1\"\n", 0755);
        for (const char *name : {"bad", "bad.json"}) {
            const Outcome outcome = world.run({"provider", "edit", name}, {}, {{"EDITOR", editor}});
            QVERIFY2(outcome.exitCode == 0, outcome.err.c_str());
            QVERIFY(has(world.daemon().request("provider.put"), "\"file\":\"bad.json\",\"etag\":\"e\",\"text\":\"{}"));
        }
        QCOMPARE(world.run({"provider", "edit", "bad", "--set", "/a=1"}).exitCode, 2);
        const Outcome unknown = world.run({"provider", "edit", "gone"});
        QCOMPARE(unknown.exitCode, 1);
        QVERIFY(has(unknown.err, "ctx provider list"));
    }

    void enablingAndDisabling()
    {
        World world;
        world.daemon().reply("provider.get", kOpened);
        world.daemon().reply("provider.put", kStored);
        const Outcome off = world.run({"provider", "disable", "local"});
        QCOMPARE(off.out, std::string("local: disabled\n"));
        QVERIFY(has(world.daemon().request("provider.put"),
                    "\"config\":{\"zeta\":1,\"models\":[\"a\"],\"enabled\":false}"));
        QCOMPARE(world.run({"provider", "enable", "local"}).out, std::string("local: enabled\n"));
    }

    void removing()
    {
        World world;
        world.daemon().reply("provider.get", kOpened);
        world.daemon().reply("provider.remove", "\"name\":\"local\",\"file\":\"10.json\"");
        const Outcome asked = world.run({"provider", "remove", "local"});
        QCOMPARE(asked.exitCode, 2);
        QVERIFY(has(asked.err, "--yes"));
        QCOMPARE(world.daemon().request("provider.remove"), std::string());
        const auto answer = [](const std::string &key) {
            return [key, sent = false](const std::string &shown,
                                       const std::function<void(const std::string &)> &type) mutable {
                if (!sent && has(shown, "[y/N]")) {
                    type(key);
                    sent = true;
                }
                return !sent;
            };
        };
        QCOMPARE(world.runOnTerminal({"provider", "remove", "local"}, answer("\n")).exitCode, 1);
        QCOMPARE(world.daemon().request("provider.remove"), std::string());
        QCOMPARE(world.runOnTerminal({"provider", "remove", "local"}, answer("y\n")).exitCode, 0);
        QCOMPARE(members(world.daemon().request("provider.remove")),
                 std::string("\"name\":\"local\",\"etag\":\"e1\"}"));
        const Outcome forced = world.run({"provider", "remove", "local", "--yes"});
        QCOMPARE(forced.exitCode, 0);
        QVERIFY(has(forced.out, "10.json: removed") && has(forced.out, "ctx provider key remove local"));
    }

    void presets()
    {
        World world;
        world.daemon().reply("provider.preset.list", kPresets);
        world.daemon().reply("provider.list", listOf("openai", "missing", 1));
        const Outcome list = world.run({"provider", "preset", "list"});
        QVERIFY2(has(list.out, "openai  codex  absent"), list.out.c_str());
        const Outcome show = world.run({"provider", "preset", "show", "codex"});
        QVERIFY2(show.out.starts_with("{\n  \"name\": \"openai\","), show.out.c_str());
        QCOMPARE(world.run({"provider", "preset", "show", "gone"}).exitCode, 1);
        world.daemon().reply("provider.preset.install",
                             "\"name\":\"openai\",\"file\":\"openai.json\",\"action\":\"installed\"");
        const Outcome install = world.run({"provider", "preset", "install", "codex"});
        QCOMPARE(install.out, std::string("openai: installed (openai.json)\nnext: ctx provider key set openai\n"));
        QCOMPARE(members(world.daemon().request("provider.preset.install")),
                 std::string("\"name\":\"codex\",\"force\":false}"));
        const Outcome facts = world.run({"provider", "preset", "install", "codex", "--force", "--json"});
        QCOMPARE(facts.out, std::string("{\"name\":\"openai\",\"file\":\"openai.json\",\"action\":\"installed\"}\n"));
        world.daemon().fail("provider.preset.install", "EEXIST", "the file has been changed");
        const Outcome changed = world.run({"provider", "preset", "install", "openai"});
        QCOMPARE(changed.exitCode, 1);
        QVERIFY(has(changed.err, "--force"));
    }

    void modelsOfAProvider()
    {
        World world;
        world.daemon().reply(
            "provider.models.refresh",
            "\"name\":\"local\",\"models\":[{\"id\":\"a\",\"new\":false},{\"id\":\"b\\u001b[2J\",\"new\":true,"
            "\"limit\":128000}],\"added\":1,\"removed\":[\"old\"],\"saved\":false");
        const Outcome outcome = world.run({"provider", "models", "local"});
        QCOMPARE(outcome.exitCode, 0);
        for (const char *part : {"128k", "new", "not in the list: old", "2 models, 1 new", "--save"})
            QVERIFY2(has(outcome.out, part), outcome.out.c_str());
        QVERIFY(!has(outcome.out, "\x1b"));
        QCOMPARE(members(world.daemon().request("provider.models.refresh")),
                 std::string("\"name\":\"local\",\"save\":false}"));
        world.daemon().fail("provider.models.refresh", "ENOKEY", "no key");
        QCOMPARE(world.run({"provider", "models", "local", "--save"}).exitCode, 69);
    }

    void limits()
    {
        World world;
        world.daemon().reply("limits.refresh", "\"models\":5300,\"url\":\"https://models.dev/api.json\"");
        QCOMPARE(world.run({"model", "limits", "refresh"}).out,
                 std::string("limits of 5300 models from https://models.dev/api.json\n"));
        QCOMPARE(world.run({"model", "limits", "refresh", "--json"}).out,
                 std::string("{\"models\":5300,\"url\":\"https://models.dev/api.json\"}\n"));
        world.daemon().fail("limits.refresh", "EBADMSG", "no catalogue");
        const Outcome failed = world.run({"model", "limits", "refresh"});
        QCOMPARE(failed.exitCode, 70);
        QVERIFY(has(failed.err, "the limits of before hold"));
    }

    void aKeyForNoProviderIsStoredWithANote()
    {
        World world;
        world.daemon().reply("provider.key.set", "\"name\":\"openai\",\"slot\":\"default\",\"declared\":false");
        world.daemon().reply("provider.preset.list", kPresets);
        const Outcome outcome = world.run({"provider", "key", "set", "openai"}, "sk-1\n");
        QCOMPARE(outcome.exitCode, 0);
        QVERIFY2(has(outcome.out, "stored; there is no provider of that name yet: ctx provider preset install openai"),
                 outcome.out.c_str());
    }
};

QTEST_GUILESS_MAIN(ProviderTest)
#include "provider_test.moc"
