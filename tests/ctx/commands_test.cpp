// What each command prints and asks, against a control socket of our own.
#include "tests/ctx/ctx_run.h"

#include <QTest>

#include <algorithm>

#include <sys/stat.h>

using namespace cortexfs;
using namespace cortexfs::ctx::test;

namespace {

constexpr char kStatus[] =
    R"("state":"ready","version":"0.1.7","pid":42,"mode":"user","mount":"/m","config":"/c",)"
    R"("state_dir":"/s","runtime":"/r","fuse":true,"uptime_ms":185000,"providers":2,"models":14,"runs":1,)"
    R"("problems":[])";
constexpr char kModels[] =
    R"("models":[{"name":"debug/echo","id":"debug/echo","cap":["chat","stream"],"effort":"auto","limit":null,)"
    R"("session":"none","state":"ready"},{"name":"local/m1","id":"local/m1","cap":["chat","vision"],"effort":"high",)"
    R"("limit":272000,"session":"socket","state":"unconfigured"}],)"
    R"("aliases":[{"name":"main","target":"debug/echo","user":false},{"name":"fast","target":"debug/echo","user":true}])";

bool has(const std::string &text, std::string_view part) { return text.find(part) != std::string::npos; }

} // namespace

#define COMPARE_TEXT(actual, expected) QCOMPARE(QByteArray::fromStdString(actual), QByteArray(expected))

class CommandsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void statusReads()
    {
        World world;
        world.daemon().reply("status", kStatus);
        const Outcome outcome = world.run({"status"});
        QCOMPARE(outcome.exitCode, 0);
        COMPARE_TEXT(outcome.out, "cortexd 0.1.7 is ready, pid 42, up 3 min\n"
                                  "  mount      /m\n"
                                  "  config     /c\n"
                                  "  state      /s\n"
                                  "  runtime    /r\n"
                                  "  providers  2\n"
                                  "  models     14\n"
                                  "  runs       1\n");
        const Outcome facts = world.run({"status", "--json"});
        COMPARE_TEXT(facts.out, QByteArray("{") + kStatus + "}\n");
    }

    void statusShowsProblemsAndTheMissingMount()
    {
        World world;
        world.daemon().reply("status", R"("state":"ready","version":"0.1.7","fuse":false,)"
                                       "\"problems\":[{\"where\":\"providers.d/"
                                       "a.json\",\"code\":\"EINVAL\",\"message\":\"/x: \\u001b[31m bad\"}]");
        const Outcome outcome = world.run({"status"});
        QVERIFY(has(outcome.out, "none (started with --no-fuse)"));
        QVERIFY(has(outcome.out, "problems:\n  providers.d/a.json  EINVAL  /x: \\x1b[31m bad\n"));
    }

    void refreshCountsAndFailsOnProblems()
    {
        World world;
        world.daemon().reply("refresh", R"("providers":1,"models":3,"problems":[])");
        const Outcome good = world.run({"refresh"});
        QCOMPARE(good.exitCode, 0);
        COMPARE_TEXT(good.out, "configuration read again: 1 provider, 3 models\n");
        world.daemon().reply(
            "refresh", R"("providers":1,"models":3,"problems":[{"where":"a.json","code":"EINVAL","message":"m"}])");
        const Outcome bad = world.run({"refresh"});
        QCOMPARE(bad.exitCode, 1);
        QVERIFY(has(bad.out, "  a.json  EINVAL  m\n"));
    }

    void modelsAreATable()
    {
        World world;
        world.daemon().reply("model.list", kModels);
        const Outcome ready = world.run({"model", "ls"});
        COMPARE_TEXT(ready.out, "MODEL         LIMIT  EFFORT  STATE  CAPABILITIES  ALIASES\n"
                                "debug/echo  unknown  auto    ready  chat stream   main fast\n"
                                "1 more model has no key yet; --all shows them, \"ctx provider list\" says whose\n");
        const Outcome all = world.run({"model", "ls", "--all"});
        QVERIFY(has(all.out, "local/m1       272k  high    unconfigured  chat vision\n"));
        QVERIFY(!has(all.out, "no key yet"));
        const Outcome one = world.run({"model", "ls", "local"});
        QVERIFY(has(one.out, "local/m1") && !has(one.out, "debug/echo"));
        const Outcome none = world.run({"model", "ls", "nobody"});
        QCOMPARE(none.exitCode, 1);
        QVERIFY(has(none.err, "nobody: no models of this provider (ENOENT); \"ctx provider list\""));
        const Outcome facts = world.run({"model", "ls", "--json"});
        QVERIFY(has(facts.out, R"("models":[{"name":"debug/echo")") && has(facts.out, R"("hidden":1})"));
    }

    void thousandsOfModelsComePageByPage()
    {
        World world;
        world.daemon().on("model.list", [](Peer &peer, const json::Value &request) {
            const std::string after(request["after"].stringOr(""));
            const int start = after.empty() ? 0 : std::stoi(after.substr(after.size() - 5)) + 1;
            const int end = std::min(start + 2500, 10'000);
            std::string members = "\"models\":[";
            for (int i = start; i < end; ++i) {
                char name[32];
                std::snprintf(name, sizeof name, "p/m%05d", i);
                members += std::string(i > start ? "," : "") + "{\"name\":\"" + name
                           + "\",\"id\":\"x\",\"cap\":[\"chat\",\"stream\",\"vision\"],\"effort\":\"auto\",\"limit\":"
                             "128000,\"state\":\"ready\"}";
            }
            peer.result(request, members + "],\"aliases\":[],\"more\":" + (end < 10'000 ? "true" : "false"));
        });
        const Outcome outcome = world.run({"model", "ls"});
        QCOMPARE(outcome.exitCode, 0);
        QCOMPARE(std::count(outcome.out.begin(), outcome.out.end(), '\n'), std::ptrdiff_t{10'001});
        QVERIFY(has(outcome.out, "p/m00000 ") && has(outcome.out, "p/m09999 "));
    }

    void providersAreListedWithTheInvalidOnes()
    {
        World world;
        world.daemon().reply(
            "provider.list",
            "\"providers\":[{\"name\":\"local\",\"file\":\"a.json\",\"base_url\":\"http://127.0.0.1:1/"
            "v1\",\"enabled\":true,"
            R"("formats":["openai.chat"],"default_model":"m1","models":3,"key":"none"},)"
            "{\"name\":\"far\",\"file\":\"b.json\",\"base_url\":\"https://far.example/v1\",\"enabled\":false,"
            R"("formats":[],"default_model":"","models":120,"key":"missing"}],)"
            R"("invalid":[{"file":"c.json","code":"EINVAL","message":"/base_url: missing"}])");
        const Outcome outcome = world.run({"provider", "list"});
        COMPARE_TEXT(outcome.out, "PROVIDER  STATE     KEY         MODELS  DEFAULT MODEL  BASE URL\n"
                                  "local     enabled   not needed       3  m1             http://127.0.0.1:1/v1\n"
                                  "far       disabled  missing        120  -              https://far.example/v1\n"
                                  "invalid files, left out:\n"
                                  "  c.json  EINVAL  /base_url: missing\n");
        world.daemon().reply("provider.list", R"("providers":[],"invalid":[])");
        QVERIFY(has(world.run({"provider", "list"}).out, "no providers yet: \"ctx provider preset list\""));
    }

    void oneProviderIsShown()
    {
        World world;
        world.daemon().reply(
            "provider.get",
            R"("name":"local","file":"a.json","etag":"e","config":{"name":"local","models":["b","a"]},)"
            R"("slots":[{"name":"default","state":"filled"},{"name":"x","state":"invalid","reason":"mode 0644"}])");
        const Outcome outcome = world.run({"provider", "show", "local"});
        COMPARE_TEXT(outcome.out, "name  local\n"
                                  "file  a.json\n"
                                  "key   slot default filled\n"
                                  "key   slot x invalid: mode 0644\n"
                                  "{\n  \"name\": \"local\",\n  \"models\": [\n    \"b\",\n    \"a\"\n  ]\n}\n");
        QCOMPARE(world.daemon().request("provider.get"),
                 std::string(R"({"op":"provider.get","id":"c1","name":"local"})"));
    }

    void aProviderTestTellsTheRoute()
    {
        World world;
        world.daemon().reply(
            "provider.test",
            R"("model":"local/m1","ok":true,"transport":"direct","slot":"default","rule":"fallback: direct",)"
            R"("status":200,"first_token_ms":412,"total_ms":873)");
        const Outcome good = world.run({"provider", "test", "local", "--model", "m1"});
        QCOMPARE(good.exitCode, 0);
        COMPARE_TEXT(good.out, "local/m1: works\n"
                               "  rule         fallback: direct\n"
                               "  transport    direct\n"
                               "  key slot     default\n"
                               "  HTTP status  200\n"
                               "  first token  412 ms\n"
                               "  total        873 ms\n");
        QVERIFY(has(world.daemon().request("provider.test"), R"("name":"local","model":"m1")"));
    }

    void aFailedProviderTestSaysWhatToDo_data()
    {
        QTest::addColumn<QByteArray>("code");
        QTest::addColumn<int>("exitCode");
        QTest::addColumn<QByteArray>("says");
        QTest::newRow("no key") << QByteArray("ENOKEY") << 69 << QByteArray("ctx provider key set local");
        QTest::newRow("a wrong key") << QByteArray("EACCES") << 13 << QByteArray("is the key right?");
        QTest::newRow("an unknown model") << QByteArray("ENOENT") << 1 << QByteArray("--model");
        QTest::newRow("a host that is not there")
            << QByteArray("EHOSTUNREACH") << 69 << QByteArray("is base_url right?");
        QTest::newRow("a refused connection")
            << QByteArray("ECONNREFUSED") << 69 << QByteArray("ctx provider show local");
        QTest::newRow("nonsense") << QByteArray("EBADMSG") << 70 << QByteArray("local: it failed (EBADMSG)\n");
    }
    void aFailedProviderTestSaysWhatToDo()
    {
        QFETCH(QByteArray, code);
        QFETCH(int, exitCode);
        QFETCH(QByteArray, says);
        World world;
        world.daemon().reply("provider.test", "\"model\":\"local/m1\",\"ok\":false,\"status\":0,\"error\":{\"code\":\""
                                                  + code.toStdString() + "\",\"message\":\"it failed\"}");
        const Outcome outcome = world.run({"provider", "test", "local"});
        QCOMPARE(outcome.exitCode, exitCode);
        QVERIFY2(has(outcome.err, says.toStdString()), outcome.err.c_str());
        QVERIFY(has(outcome.out, "local/m1: fails\n") && has(outcome.out, "HTTP status  - (no answer)"));
        const Outcome facts = world.run({"provider", "test", "local", "--json"});
        QCOMPARE(facts.exitCode, exitCode);
        QVERIFY(has(facts.out, R"("ok":false)"));
    }

    void errorsOfTheDaemonGiveTheExitCodeOfTheAbi_data()
    {
        QTest::addColumn<QByteArray>("code");
        QTest::addColumn<int>("exitCode");
        const std::pair<const char *, int> rows[] = {
            {"EINVAL", 2},     {"EMSGSIZE", 2}, {"E2BIG", 2},      {"ENOTSUP", 2},       {"EACCES", 13},
            {"EPERM", 13},     {"ENOKEY", 69},  {"EHOSTDOWN", 69}, {"EHOSTUNREACH", 69}, {"ECONNREFUSED", 69},
            {"ETIMEDOUT", 69}, {"EAGAIN", 69},  {"EDQUOT", 69},    {"ENODEV", 69},       {"ECONNRESET", 69},
            {"EIO", 70},       {"EPROTO", 70},  {"EBADMSG", 70},   {"ENOENT", 1},        {"EROFS", 1},
            {"EEXIST", 1},     {"ESTALE", 1}};
        for (const auto &[code, exit] : rows)
            QTest::newRow(code) << QByteArray(code) << exit;
    }
    void errorsOfTheDaemonGiveTheExitCodeOfTheAbi()
    {
        QFETCH(QByteArray, code);
        QFETCH(int, exitCode);
        World world;
        world.daemon().fail("provider.list", code.toStdString(), "because");
        const Outcome outcome = world.run({"provider", "list"});
        QCOMPARE(outcome.exitCode, exitCode);
        QCOMPARE(outcome.out, std::string());
        COMPARE_TEXT(outcome.err, "ctx: because (" + code + ")\n");
    }

    void messagesFromTheDaemonCannotForgeTerminalText()
    {
        World world;
        world.daemon().fail("status", "EIO", "a\nctx: b\x1b[2J");
        COMPARE_TEXT(world.run({"status"}).err, "ctx: a\\nctx: b\\x1b[2J (EIO)\n");
    }

    void garbageIsAnInternalError()
    {
        World world;
        world.daemon().on("status", [](Peer &peer, const json::Value &) { peer.raw("220 smtp ready\r\n"); });
        const Outcome outcome = world.run({"status"});
        QCOMPARE(outcome.exitCode, 70);
        QVERIFY(has(outcome.err, "cortexd sent something that is no reply"));
    }

    void aFullDiskIsTold()
    {
        World world;
        world.daemon().reply("status", kStatus);
        const Outcome outcome = world.shell("\"$CTX\" status >/dev/full");
        QCOMPARE(outcome.exitCode, 1);
        COMPARE_TEXT(outcome.err, "ctx: standard output: No space left on device (ENOSPC)\n");
    }

    void aClosedOutputIsTold()
    {
        World world;
        world.daemon().reply("status", kStatus);
        const Outcome outcome = world.shell("\"$CTX\" status >&-");
        QVERIFY(outcome.exitCode != 0);
        QVERIFY(has(outcome.err, "(EBADF)"));
    }

    void aReaderThatLeavesEndsItQuietly()
    {
        World world;
        std::string models = "\"models\":[";
        for (int i = 0; i < 9000; ++i)
            models += std::string(i ? "," : "") + "{\"name\":\"p/m" + std::to_string(i)
                      + "\",\"cap\":[\"chat\"],\"state\":\"ready\"}";
        world.daemon().reply("model.list", models + "],\"aliases\":[]");
        const Outcome outcome = world.shell("\"$CTX\" model ls | head -n 1; echo ${PIPESTATUS[0]}");
        COMPARE_TEXT(outcome.out, "MODEL      LIMIT  EFFORT  STATE  CAPABILITIES  ALIASES\n141\n");
        QCOMPARE(outcome.err, std::string());
    }
};

QTEST_GUILESS_MAIN(CommandsTest)
#include "commands_test.moc"
