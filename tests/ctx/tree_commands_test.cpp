// The commands that look at and write the tree, against a tree of our own.
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

class TreeCommandsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void lsExplainsTheRoot()
    {
        World world;
        world.makeTree();
        const Outcome outcome = world.run({"ls"});
        QVERIFY2(outcome.exitCode == 0, outcome.err.c_str());
        QVERIFY(has(outcome.out, "directory  model/   models by provider, and aliases such as main\n"));
        QVERIFY(has(outcome.out, "file       status   is the daemon ready, in a few lines\n"));
    }

    void lsShowsModelsWithWhatTheDaemonKnows()
    {
        World world;
        world.makeTree();
        world.daemon().reply("model.list", kModels);
        COMPARE_TEXT(world.run({"ls", "model/local"}).out, "KIND   NAME  INFO\n"
                                                           "model  m1    chat vision, 272k tokens, unconfigured\n");
        const Outcome models = world.run({"ls", "model"});
        QVERIFY(has(models.out, "provider  debug/  1 model\n"));
        QVERIFY(has(models.out, "alias     main    -> " + world.root() + "/model/debug/echo\n"));
        const Outcome all = world.run({"ls", "-a", "model/local"});
        QVERIFY(has(all.out, "control directory  m1.d/"));
    }

    void lsShowsControlsWithTheirValues()
    {
        World world;
        world.makeTree();
        const Outcome outcome = world.run({"ls", "model/debug/echo.d"});
        COMPARE_TEXT(outcome.out, "KIND     NAME      INFO\n"
                                  "control  cap       chat, stream\n"
                                  "control  default\n"
                                  "control  driver    debug\n"
                                  "control  effort    auto\n"
                                  "control  fallback  local/m1\n"
                                  "control  limit     unknown\n"
                                  "control  session   none\n");
    }

    void lsTakesPathsAsPeopleWriteThem_data()
    {
        QTest::addColumn<QByteArray>("path");
        QTest::addColumn<int>("exitCode");
        QTest::newRow("relative to the mount") << QByteArray("model/debug") << 0;
        QTest::newRow("with a slash at the end") << QByteArray("model/debug/") << 0;
        QTest::newRow("absolute below the mount") << QByteArray("ROOT/model/debug") << 0;
        QTest::newRow("with dots inside") << QByteArray("model/./local/../debug") << 0;
        QTest::newRow("a file") << QByteArray("model/debug/echo") << 0;
        QTest::newRow("absent") << QByteArray("model/nobody") << 1;
        QTest::newRow("absolute elsewhere") << QByteArray("/etc") << 2;
        QTest::newRow("out of the mount") << QByteArray("../../etc") << 2;
        QTest::newRow("a neighbour with the same beginning") << QByteArray("ROOT-other/x") << 2;
    }
    void lsTakesPathsAsPeopleWriteThem()
    {
        QFETCH(QByteArray, path);
        QFETCH(int, exitCode);
        World world;
        world.makeTree();
        path.replace("ROOT", QByteArray::fromStdString(world.root()));
        const Outcome outcome = world.run({"ls", path.toStdString()});
        QCOMPARE(outcome.exitCode, exitCode);
        QCOMPARE(outcome.err.empty(), exitCode == 0);
    }

    void lsCannotBeFooledByNames()
    {
        World world;
        world.makeTree();
        world.write("home/a\nb\x1b[31m", "x");
        const Outcome outcome = world.run({"ls", "home"});
        QVERIFY2(has(outcome.out, "file  a\\nb\\x1b[31m\n"), outcome.out.c_str());
        const Outcome facts = world.run({"ls", "home", "--json"});
        QVERIFY(has(facts.out, "\"name\":\"a\\nb\\u001b[31m\""));
    }

    void lsLongTellsPermissions()
    {
        World world;
        world.makeTree();
        const Outcome outcome = world.run({"ls", "-l", "model/local"});
        QVERIFY(has(outcome.out, "MODE        UID  SIZE  CHANGED           KIND   NAME  INFO\n"));
        QVERIFY(has(outcome.out, "-r-xr-xr-x "));
    }

    void whichFindsNames_data()
    {
        QTest::addColumn<QByteArray>("name");
        QTest::addColumn<QByteArray>("shown");
        QTest::newRow("an alias") << QByteArray("main")
                                  << QByteArray(
                                         "ROOT/model/main\n  leads to  ROOT/model/debug/echo\n  kind      alias\n"
                                         "  is        echoes its input\n  controls  ROOT/model/debug/echo.d\n");
        QTest::newRow("a model") << QByteArray("local/m1")
                                 << QByteArray("ROOT/model/local/m1\n  kind      model\n"
                                               "  controls  ROOT/model/local/m1.d\n");
        QTest::newRow("an agent") << QByteArray("coder")
                                  << QByteArray("ROOT/agent/coder\n  kind      agent\n  is        writes code\n"
                                                "  controls  ROOT/agent/coder.d\n");
        QTest::newRow("a tool") << QByteArray("fs.read") << QByteArray("ROOT/tool/fs.read\n  kind  tool\n");
        QTest::newRow("a path") << QByteArray("ROOT/model/local/m1")
                                << QByteArray(
                                       "ROOT/model/local/m1\n  kind      model\n  controls  ROOT/model/local/m1.d\n");
        QTest::newRow("a broken link")
            << QByteArray("broken")
            << QByteArray("ROOT/model/broken\n  leads to  ROOT/model/gone/away (which does not exist)\n"
                          "  kind      alias\n");
    }
    void whichFindsNames()
    {
        QFETCH(QByteArray, name);
        QFETCH(QByteArray, shown);
        World world;
        world.makeTree();
        const QByteArray root = QByteArray::fromStdString(world.root());
        const Outcome outcome = world.run({"which", name.replace("ROOT", root).toStdString()});
        QCOMPARE(outcome.exitCode, 0);
        COMPARE_TEXT(outcome.out, shown.replace("ROOT", root));
    }

    void whichSaysWhenThereIsNothing()
    {
        World world;
        world.makeTree();
        const Outcome outcome = world.run({"which", "nobody"});
        QCOMPARE(outcome.exitCode, 1);
        QVERIFY(has(outcome.err, "ctx: nobody: no model, alias, agent or tool of this name (ENOENT); "));
        COMPARE_TEXT(world.run({"which", "-p", "main"}).out, QByteArray::fromStdString(world.root()) + "/model/main\n");
    }

    void catPrintsBytes()
    {
        World world;
        world.makeTree();
        const std::string binary("\0\xff\x1b\n", 4);
        world.write("shared/x", binary);
        QCOMPARE(world.run({"cat", "shared/x", "model/debug/echo/effort", "model/main/cap"}).out,
                 binary + "auto\nchat\nstream\n");
        QCOMPARE(world.run({"cat", "debug/echo.d/effort", "main/cap"}).out, std::string("auto\nchat\nstream\n"));
        QCOMPARE(world.run({"cat", "debug/echo"}).out, world.read("model/debug/echo"));
        const std::string large(3'000'000, 'x');
        world.write("shared/large", large);
        QVERIFY(world.run({"cat", "shared/large"}).out == large);
    }

    void catSaysWhyNot_data()
    {
        QTest::addColumn<QByteArray>("path");
        QTest::addColumn<int>("exitCode");
        QTest::addColumn<QByteArray>("says");
        QTest::newRow("absent") << QByteArray("model/x/y") << 1
                                << QByteArray("model/x/y: no such file or object (ENOENT); \"ctx ls model/x\"");
        QTest::newRow("a directory") << QByteArray("model") << 1
                                     << QByteArray("is a directory (EISDIR); list it with: ctx ls model");
        QTest::newRow("a broken link") << QByteArray("model/broken") << 1 << QByteArray("(ENOENT)");
    }
    void catSaysWhyNot()
    {
        QFETCH(QByteArray, path);
        QFETCH(int, exitCode);
        QFETCH(QByteArray, says);
        World world;
        world.makeTree();
        const Outcome outcome = world.run({"cat", path.toStdString()});
        QCOMPARE(outcome.exitCode, exitCode);
        QVERIFY2(has(outcome.err, says.toStdString()), outcome.err.c_str());
    }

    void setWritesAndReadsBack_data()
    {
        QTest::addColumn<QList<QByteArray>>("line");
        QTest::addColumn<QByteArray>("input");
        QTest::addColumn<QByteArray>("file");
        QTest::addColumn<QByteArray>("content");
        QTest::addColumn<QByteArray>("shown");
        QTest::newRow("one word") << QList<QByteArray>{"model/debug/echo.d/effort", "high"} << QByteArray()
                                  << QByteArray("model/debug/echo.d/effort") << QByteArray("high\n")
                                  << QByteArray("model/debug/echo.d/effort = high\n");
        QTest::newRow("without the .d") << QList<QByteArray>{"model/debug/echo/effort", "max"} << QByteArray()
                                        << QByteArray("model/debug/echo.d/effort") << QByteArray("max\n")
                                        << QByteArray("model/debug/echo.d/effort = max\n");
        QTest::newRow("through an alias")
            << QList<QByteArray>{"model/main/effort", "low"} << QByteArray() << QByteArray("model/debug/echo.d/effort")
            << QByteArray("low\n") << QByteArray("model/debug/echo.d/effort = low\n");
        const auto effort = [](const char *title, const char *name) {
            QTest::newRow(title) << QList<QByteArray>{name, "low"} << QByteArray()
                                 << QByteArray("model/debug/echo.d/effort") << QByteArray("low\n")
                                 << QByteArray("model/debug/echo.d/effort = low\n");
        };
        effort("by the name of the model", "debug/echo/effort");
        effort("by the name of the model with .d", "debug/echo.d/effort");
        effort("by the name of the alias", "main/effort");
        QTest::newRow("of an agent by its name")
            << QList<QByteArray>{"coder/model", "fast"} << QByteArray() << QByteArray("agent/coder.d/model")
            << QByteArray("fast\n") << QByteArray("agent/coder.d/model = fast\n");
        QTest::newRow("several lines") << QList<QByteArray>{"model/debug/echo/fallback", "a/b", "c/d"} << QByteArray()
                                       << QByteArray("model/debug/echo.d/fallback") << QByteArray("a/b\nc/d\n")
                                       << QByteArray("model/debug/echo.d/fallback =\n  a/b\n  c/d\n");
        QTest::newRow("from standard input")
            << QList<QByteArray>{"model/debug/echo/default", "-"} << QByteArray("a=1\nb=2\n")
            << QByteArray("model/debug/echo.d/default") << QByteArray("a=1\nb=2\n")
            << QByteArray("model/debug/echo.d/default =\n  a=1\n  b=2\n");
        QTest::newRow("emptied") << QList<QByteArray>{"model/debug/echo/fallback", ""} << QByteArray()
                                 << QByteArray("model/debug/echo.d/fallback") << QByteArray("")
                                 << QByteArray("model/debug/echo.d/fallback is now empty\n");
        QTest::newRow("quietly") << QList<QByteArray>{"-q", "model/debug/echo/effort", "none"} << QByteArray()
                                 << QByteArray("model/debug/echo.d/effort") << QByteArray("none\n") << QByteArray();
        QTest::newRow("as JSON") << QList<QByteArray>{"model/debug/echo/effort", "none", "--json"} << QByteArray()
                                 << QByteArray("model/debug/echo.d/effort") << QByteArray("none\n")
                                 << QByteArray("{\"path\":\"model/debug/echo.d/effort\",\"value\":\"none\\n\"}\n");
    }
    void setWritesAndReadsBack()
    {
        QFETCH(QList<QByteArray>, line);
        QFETCH(QByteArray, input);
        QFETCH(QByteArray, file);
        QFETCH(QByteArray, content);
        QFETCH(QByteArray, shown);
        World world;
        world.makeTree();
        std::vector<std::string> arguments = {"set"};
        for (const QByteArray &word : line)
            arguments.push_back(word.toStdString());
        const Outcome outcome = world.run(arguments, input.toStdString());
        QVERIFY2(outcome.exitCode == 0, outcome.err.c_str());
        COMPARE_TEXT(outcome.out, shown);
        COMPARE_TEXT(world.read(file.toStdString()), content);
    }

    void setRefusesWhatIsNoControl_data()
    {
        QTest::addColumn<QByteArray>("path");
        QTest::addColumn<int>("exitCode");
        QTest::addColumn<QByteArray>("says");
        QTest::newRow("an object") << QByteArray("model/debug/echo") << 2
                                   << QByteArray("\"ctx ls model/debug/echo.d\" lists what can be set");
        QTest::newRow("an alias") << QByteArray("model/main") << 2 << QByteArray("ln -sfn ");
        QTest::newRow("a file at home") << QByteArray("home/note") << 2 << QByteArray("with the usual tools");
        QTest::newRow("an absent control") << QByteArray("model/debug/echo/colour") << 1 << QByteArray("(ENOENT)");
        QTest::newRow("a directory") << QByteArray("model/debug") << 2 << QByteArray("not a control file");
        QTest::newRow("an object by its name")
            << QByteArray("debug/echo") << 2 << QByteArray("\"ctx ls model/debug/echo.d\" lists what can be set");
        QTest::newRow("an absent control of a name")
            << QByteArray("debug/echo/colour") << 1 << QByteArray("debug/echo/colour");
        QTest::newRow("a name that nothing has") << QByteArray("nobody/m/effort") << 1 << QByteArray("nobody/m/effort");
        QTest::newRow("a place that is no name") << QByteArray("/debug/echo/effort") << 2 << QByteArray("not below");
    }
    void setRefusesWhatIsNoControl()
    {
        QFETCH(QByteArray, path);
        QFETCH(int, exitCode);
        QFETCH(QByteArray, says);
        World world;
        world.makeTree();
        world.write("home/note", "precious");
        const Outcome outcome = world.run({"set", path.toStdString(), "x"});
        QCOMPARE(outcome.exitCode, exitCode);
        QVERIFY2(has(outcome.err, says.toStdString()), outcome.err.c_str());
        QCOMPARE(outcome.out, std::string());
        COMPARE_TEXT(world.read("home/note"), "precious");
    }

    void setRefusesMoreThanAControlHolds()
    {
        World world;
        world.makeTree();
        const Outcome outcome = world.run({"set", "model/debug/echo/default", "-"}, std::string(70'000, 'x'));
        QCOMPARE(outcome.exitCode, 2);
        QVERIFY(has(outcome.err, "(EMSGSIZE)"));
        COMPARE_TEXT(world.read("model/debug/echo.d/default"), "");
    }

    void envSetsTheShellUp()
    {
        World world;
        const Outcome lines = world.run({"env"});
        QVERIFY(has(lines.out, "export CTX_ROOT='" + world.root() + "'\n"));
        const Outcome twice = world.shell(
            R"sh(eval "$("$CTX" env)"; eval "$("$CTX" env)"; echo "$CTX_ROOT|$CORTEXFS_RUNTIME_DIR|$PATH")sh");
        COMPARE_TEXT(twice.out, QByteArray::fromStdString(world.root() + "|" + world.runtime() + "|" + world.root()
                                                          + "/bin:/usr/local/bin:/usr/bin:/bin\n"));
        const Outcome odd = world.shell("eval \"$(\"$CTX\" --root \"/tmp/it's a \\$root\" env)\"; echo \"$CTX_ROOT\"");
        COMPARE_TEXT(odd.out, "/tmp/it's a $root\n");
        QVERIFY(has(world.run({"env", "--shell", "fish"}).out, "set -gx CTX_ROOT '" + world.root() + "';\n"));
        QVERIFY(has(world.run({"env"}, {}, {{"SHELL", "/usr/bin/fish"}}).out, "set -gx"));
    }

    void aTreeThatIsNotThereIsExplained()
    {
        World world;
        world.daemon().reply("status", R"("state":"ready","fuse":false,"mount":"/elsewhere")");
        const Outcome noFuse = world.run({"ls"});
        QCOMPARE(noFuse.exitCode, 69);
        QVERIFY2(has(noFuse.err, "cortexd runs without a mount (--no-fuse) (ENODEV); \"ctx model ls\""),
                 noFuse.err.c_str());
        world.daemon().reply("status", R"("state":"ready","fuse":true,"mount":"/elsewhere")");
        const Outcome moved = world.run({"cat", "model/debug/echo"});
        QCOMPARE(moved.exitCode, 69);
        QVERIFY2(has(moved.err, "but at /elsewhere (ENODEV); use --root /elsewhere"), moved.err.c_str());
    }

    void theDaemonIsAskedWhereItsTreeIs()
    {
        World world;
        world.makeTree();
        world.daemon().reply("status", "\"state\":\"ready\",\"fuse\":true,\"mount\":\"" + world.root() + "\"");
        const Outcome outcome = world.run({"cat", "model/debug/echo.d/effort"}, {}, {{"CTX_ROOT", ""}});
        COMPARE_TEXT(outcome.out, "auto\n");
    }

    void optionsWinOverTheEnvironment()
    {
        World world;
        World other;
        other.makeTree();
        COMPARE_TEXT(world.run({"--root", other.root(), "cat", "model/debug/echo.d/effort"}).out, "auto\n");
        other.daemon().reply("status", kStatus);
        QCOMPARE(world.run({"status", "--runtime", other.runtime()}).exitCode, 0);
        const Outcome user = world.run({"--user", "status"}, {}, {{"XDG_RUNTIME_DIR", world.base()}});
        QVERIFY2(has(user.err, world.base() + "/cortexfs/control.sock"), user.err.c_str());
    }

    void itWorksWithoutHome()
    {
        World world;
        world.daemon().reply("status", kStatus);
        const Outcome outcome = world.run({"--runtime", world.runtime(), "--user", "status"}, {}, {{"HOME", ""}});
        QVERIFY2(outcome.exitCode == 0, outcome.err.c_str());
    }
};

QTEST_GUILESS_MAIN(TreeCommandsTest)
#include "tree_commands_test.moc"
