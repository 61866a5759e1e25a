// `ctx route` against a daemon that says what the test wants.
#include "app/ctx/core/editor.h"
#include "tests/ctx/ctx_run.h"

#include <QTest>

#include <filesystem>
#include <fstream>
#include <sstream>

#include <sys/stat.h>

using namespace cortexfs;
using namespace cortexfs::ctx::test;

namespace {

bool has(const std::string &text, std::string_view part) { return text.find(part) != std::string::npos; }

std::string fileText(const std::string &path)
{
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

constexpr char kStored[] = "\"text\":\"# mine\\n\",\"etag\":\"e1\",\"exists\":true";
constexpr char kGood[] = "\"ok\":true,\"rules\":1,\"groups\":0,\"warnings\":[]";
constexpr char kBad[] =
    "\"ok\":false,\"rules\":0,\"groups\":0,\"error\":{\"code\":\"EINVAL\",\"message\":\"no such group: g\","
    "\"line\":2,\"column\":7},\"warnings\":[]";

// A world with a daemon that has a table, and a directory for copies.
class RouteWorld : public World {
public:
    RouteWorld()
    {
        daemon().reply("route.get", kStored);
        daemon().reply("route.check", kGood);
        daemon().reply("route.put", "\"etag\":\"e2\"");
        std::filesystem::create_directory(copies());
    }
    std::string copies() const { return base() + "/copies with blanks"; }
    bool hasCopies() const { return !std::filesystem::is_empty(copies()); }
    // `script` is the editor: a shell command line behind which the file stands.
    Outcome edit(const std::string &script, std::map<std::string, std::string> more = {})
    {
        const std::string editor = base() + "/editor";
        std::ofstream(editor) << "#!/bin/sh\n" << script << "\n";
        std::filesystem::permissions(editor, std::filesystem::perms::owner_all);
        more.emplace("EDITOR", editor);
        more.emplace("TMPDIR", copies());
        return run({"route", "edit"}, {}, more);
    }
    // The file that a message names behind "kept in ".
    static std::string keptText(const std::string &message)
    {
        const std::size_t at = message.find("kept in ");
        if (at == std::string::npos)
            return "(no copy is named)";
        std::string path = message.substr(at + 8);
        path.erase(path.find_last_not_of("\n") + 1);
        return fileText(path.substr(0, path.find("/route") + 6));
    }
};

} // namespace

class RouteTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void showPrintsTheTable()
    {
        RouteWorld world;
        QCOMPARE(world.run({"route", "show"}).out, std::string("# mine\n"));
        QCOMPARE(world.run({"route", "show", "--json"}).out,
                 std::string("{\"text\":\"# mine\\n\",\"etag\":\"e1\",\"exists\":true}\n"));
        world.daemon().reply("route.get", "\"text\":\"a\\u001b[31m\",\"etag\":\"e\",\"exists\":true");
        QCOMPARE(world.run({"route", "show"}).out, std::string("a\\x1b[31m\n"));
        world.daemon().reply("route.get", "\"text\":\"\",\"etag\":\"\",\"exists\":false");
        const Outcome none = world.run({"route", "show"});
        QCOMPARE(none.exitCode, 0);
        QVERIFY(has(none.out, "There is no route table: every request goes direct"));
    }

    void checkOfTheStoredTable()
    {
        RouteWorld world;
        const Outcome good = world.run({"route", "check"});
        QCOMPARE(good.exitCode, 0);
        QCOMPARE(good.out, std::string("model/route: 1 rule, 0 groups, valid\n"));
        QCOMPARE(world.daemon().request("route.check"), std::string(R"({"op":"route.check","id":"c1"})"));
        world.daemon().reply("route.check", kBad);
        const Outcome bad = world.run({"route", "check"});
        QCOMPARE(bad.exitCode, 2);
        QCOMPARE(bad.out, std::string("model/route:2:7: no such group: g\n"));
        const Outcome json = world.run({"route", "check", "--json"});
        QCOMPARE(json.exitCode, 2);
        QVERIFY(has(json.out, "{\"ok\":false"));
    }

    void checkOfAFile()
    {
        RouteWorld world;
        world.write("my routes", "model(a) -> direct\n");
        const std::string file = world.root() + "/my routes";
        world.daemon().reply("route.check",
                             "\"ok\":true,\"rules\":2,\"groups\":1,\"warnings\":[{\"line\":2,\"message\":"
                             "\"never reached\"},{\"line\":0,\"message\":\"no data\"}]");
        const Outcome warned = world.run({"route", "check", file});
        QCOMPARE(warned.exitCode, 0);
        QCOMPARE(warned.out, file + ":2: warning: never reached\n" + file + ": warning: no data\n" + file
                                 + ": 2 rules, 1 group, valid\n");
        QVERIFY(has(world.daemon().request("route.check"), R"("text":"model(a) -> direct\n")"));
        world.daemon().reply("route.check", kBad);
        QCOMPARE(world.run({"route", "check", file}).out, file + ":2:7: no such group: g\n");
        QCOMPARE(world.run({"route", "check", "-"}, "x").out, std::string("(standard input):2:7: no such group: g\n"));
        QCOMPARE(world.run({"route", "check", "/gone"}).exitCode, 1);
        QCOMPARE(world.run({"route", "check", "-"}, "\xff").exitCode, 2);
        const Outcome large = world.run({"route", "check", "-"}, std::string(1024 * 1024 + 1, '#'));
        QVERIFY(large.exitCode != 0);
        QVERIFY(has(large.err, "EMSGSIZE"));
    }

    void explainShowsEveryStep()
    {
        RouteWorld world;
        world.daemon().reply(
            "route.explain",
            "\"model\":\"far/m\",\"line\":3,\"rule\":\"pname(curl) -> p\",\"group\":\"p\",\"transport\":\"unix\","
            "\"base_url\":\"http://localhost/v1\",\"socket\":\"/x.sock\",\"slot\":\"office\",\"key\":\"missing\","
            "\"warnings\":[\"line 1: no data\"]");
        const Outcome shown = world.run({"route", "explain", "model/far/m", "--pname", "curl", "--ip=192.0.2.1"});
        QCOMPARE(shown.exitCode, 0);
        QCOMPARE(shown.out, std::string("model      far/m\n"
                                        "line       3\n"
                                        "rule       pname(curl) -> p\n"
                                        "group      p\n"
                                        "transport  unix\n"
                                        "base URL   http://localhost/v1\n"
                                        "socket     /x.sock\n"
                                        "key slot   office\n"
                                        "key        missing\n"
                                        "warning: line 1: no data\n"));
        QCOMPARE(world.daemon().request("route.explain"),
                 std::string(R"({"op":"route.explain","id":"c1","model":"far/m","pname":"curl","ip":"192.0.2.1"})"));
        QVERIFY(has(world.run({"route", "explain", "far/m", "--json"}).out, "{\"model\":\"far/m\",\"line\":3"));
        world.daemon().fail("route.explain", "ENOENT", "no such model: x/y");
        const Outcome gone = world.run({"route", "explain", "x/y"});
        QCOMPARE(gone.exitCode, 1);
        QVERIFY(has(gone.err, "ctx model ls"));
        world.daemon().fail("route.explain", "EINVAL", "model/route, line 1, column 1: x");
        QCOMPARE(world.run({"route", "explain", "x/y"}).exitCode, 2);
    }

    void editStoresWhatWasWritten()
    {
        RouteWorld world;
        const Outcome edited = world.edit("stat -c '%a %n' \"$1\" \"$(dirname \"$1\")\" > \"" + world.base()
                                          + "/modes\"; cat \"$1\" > \"" + world.base()
                                          + "/before\"; echo 'fallback: direct' > \"$1\"; : > \"$1~\"");
        QVERIFY2(edited.exitCode == 0, edited.err.c_str());
        QVERIFY(has(edited.out, "model/route: stored"));
        QCOMPARE(fileText(world.base() + "/before"), std::string("# mine\n"));
        const std::string modes = fileText(world.base() + "/modes");
        QVERIFY2(modes.starts_with("600 ") && has(modes, "\n700 "), modes.c_str());
        QVERIFY(has(world.daemon().request("route.put"), R"("text":"fallback: direct\n","etag":"e1")"));
        QVERIFY(!world.hasCopies());
    }

    void editWithoutAChangeStoresNothing()
    {
        RouteWorld world;
        const Outcome edited = world.edit(":");
        QCOMPARE(edited.exitCode, 0);
        QCOMPARE(edited.out, std::string("model/route: not changed\n"));
        QCOMPARE(world.daemon().request("route.put"), std::string());
        QVERIFY(!world.hasCopies());
    }

    void editWithAnEditorThatFailsStoresNothing()
    {
        RouteWorld world;
        const Outcome edited = world.edit("echo x > \"$1\"; exit 3");
        QVERIFY(edited.exitCode != 0);
        QVERIFY(has(edited.err, "the editor has failed"));
        QCOMPARE(world.daemon().request("route.put"), std::string());
        QVERIFY(!world.hasCopies());
    }

    void visualWinsAndMayHaveArguments()
    {
        RouteWorld world;
        const Outcome edited = world.edit("exit 9", {{"VISUAL", "sed -i s/mine/yours/"}});
        QVERIFY2(edited.exitCode == 0, edited.err.c_str());
        QVERIFY(has(world.daemon().request("route.put"), R"("text":"# yours\n")"));
    }

    void editOfNothingOffersATemplate()
    {
        RouteWorld world;
        world.daemon().reply("route.get", "\"text\":\"\",\"etag\":\"\",\"exists\":false");
        const Outcome edited = world.edit("echo '# more' >> \"$1\"");
        QVERIFY2(edited.exitCode == 0, edited.err.c_str());
        const std::string put = world.daemon().request("route.put");
        QVERIFY2(has(put, "fallback: direct\\n# more\\n\",\"etag\":\"\""), put.c_str());
    }

    void aBadTextIsKept()
    {
        RouteWorld world;
        world.daemon().reply("route.check", kBad);
        const Outcome edited = world.edit("echo typed > \"$1\"");
        QCOMPARE(edited.exitCode, 2);
        QVERIFY2(has(edited.err, "route:2:7: no such group: g"), edited.err.c_str());
        QCOMPARE(RouteWorld::keptText(edited.err), std::string("typed\n"));
        QCOMPARE(world.daemon().request("route.put"), std::string());
    }

    void aTableThatChangedMeanwhileIsNotOverwritten()
    {
        RouteWorld world;
        world.daemon().fail("route.put", "ESTALE", "changed meanwhile");
        const Outcome edited = world.edit("echo typed > \"$1\"");
        QVERIFY(edited.exitCode != 0);
        QVERIFY2(has(edited.err, "changed by somebody else meanwhile"), edited.err.c_str());
        QCOMPARE(RouteWorld::keptText(edited.err), std::string("typed\n"));
    }

    void aTextThatIsTooLongIsKept()
    {
        RouteWorld world;
        const Outcome edited = world.edit("head -c 1048577 /dev/zero > \"$1\"");
        QVERIFY(edited.exitCode != 0);
        QCOMPARE(RouteWorld::keptText(edited.err).size(), std::size_t(1048577));
    }

    void onATerminalEditingGoesOn()
    {
        RouteWorld world;
        world.daemon().on("route.check", [](Peer &peer, const json::Value &request) {
            peer.result(request, request["text"].stringOr("") == "second\n" ? kGood : kBad);
        });
        const std::string editor = world.base() + "/editor";
        std::ofstream(editor)
            << "#!/bin/sh\nif [ \"$(cat \"$1\")\" = first ]; then echo second > \"$1\"; else echo first > "
               "\"$1\"; fi\n";
        std::filesystem::permissions(editor, std::filesystem::perms::owner_all);
        bool isAsked = false;
        const Outcome edited = world.runOnTerminal({"route", "edit"},
                                                   [&](const std::string &shown, const auto &type) {
                                                       if (!isAsked && has(shown, "Edit again? [Y/n]")) {
                                                           isAsked = true;
                                                           type("y\n");
                                                       }
                                                       return !isAsked;
                                                   },
                                                   {{"EDITOR", editor}, {"TMPDIR", world.copies()}});
        QVERIFY2(edited.exitCode == 0, edited.out.c_str());
        QVERIFY(isAsked);
        QVERIFY(has(edited.out, "route:2:7: no such group: g"));
        QVERIFY(has(world.daemon().request("route.put"), R"("text":"second\n")"));
        QVERIFY(!world.hasCopies());
    }

    void editTextGivesWhatWasWritten()
    {
        RouteWorld world;
        const std::string copies = world.copies();
        const auto environment = [&](const char *editor) {
            return [&copies, editor](const char *name) -> std::optional<std::string> {
                if (std::string_view(name) == "EDITOR")
                    return editor;
                if (std::string_view(name) == "TMPDIR")
                    return copies;
                return std::nullopt;
            };
        };
        const Result<std::string> text = ctx::editText("a\n", "x.json", 100, environment("sed -i s/a/b/"));
        QVERIFY(text);
        QCOMPARE(*text, std::string("b\n"));
        QCOMPARE(ctx::editText("a\n", "x.json", 1, environment("true")).error().number(), EMSGSIZE);
        QCOMPARE(ctx::editText("a\n", "x.json", 100, environment("rm")).error().number(), ENOENT);
        QCOMPARE(ctx::editText("a\n", "x.json", 100, environment("false")).error().number(), ECANCELED);
        QVERIFY(!world.hasCopies());
    }
};

QTEST_GUILESS_MAIN(RouteTest)
#include "route_test.moc"
