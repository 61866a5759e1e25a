// Conversations from the command line: send, resume, cancel, ping over an object's socket; history, output, sessions over
// the control socket.
#include "common/base/limits.h"
#include "tests/ctx/ctx_run.h"

#include <QTest>

#include <atomic>
#include <csignal>

#include <sys/stat.h>

using namespace cortexfs;
using namespace cortexfs::ctx::test;

namespace {

bool has(const std::string &text, std::string_view part) { return text.find(part) != std::string::npos; }

// '\'' for '"', and an LF.
std::string line(std::string_view text)
{
    std::string out(text);
    for (char &c : out)
        c = c == '\'' ? '"' : c;
    return out + "\n";
}

std::string eventLine(int id, std::string_view type, const std::string &rest)
{
    const std::string digits = std::to_string(id);
    return line("{'type':'" + std::string(type) + "','id':'e" + std::string(12 - digits.size(), '0') + digits
                + "','run':'r1'," + rest + "}");
}

std::string start(const json::Value &request)
{
    return eventLine(1, "start", "'model':'debug/echo','request':" + request["id"].toJson());
}

std::string piece(int id, std::string_view text, int offset)
{
    json::Writer writer;
    writer.string(text);
    return eventLine(id, "delta", "'text':" + writer.text() + ",'offset':" + std::to_string(offset));
}

std::string whole(int id, std::string_view text)
{
    json::Writer writer;
    writer.string(text);
    return eventLine(id, "message",
                     "'role':'assistant','model':'debug/echo','content':[{'type':'text','text':" + writer.text()
                         + "}]");
}

std::string done(int id, const json::Value &request, std::string_view status = "ok")
{
    return eventLine(id, "done", "'status':'" + std::string(status) + "','request':" + request["id"].toJson());
}

// Answers with what was said.
void echo(Peer &peer, const json::Value &request)
{
    const std::string input(request["input"].stringOr("?"));
    const std::size_t half = input.size() / 2;
    peer.raw(start(request) + piece(2, input.substr(0, half), 0) + piece(3, input.substr(half), static_cast<int>(half))
             + whole(4, input) + done(5, request));
}

} // namespace

class ConversationTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void theAnswerIsPrintedAsText()
    {
        World world;
        world.makeTree();
        world.object().on("send", echo);
        const Outcome outcome = world.run({"send", "debug/echo", "hello", "there"});
        QCOMPARE(outcome.err, std::string());
        QCOMPARE(outcome.exitCode, 0);
        QCOMPARE(outcome.out, std::string("hello there\n"));
        const std::string request = world.object().request("send");
        QVERIFY2(has(request, R"("session":"default")") && has(request, R"("input":"hello there")"), request.c_str());
        QVERIFY(has(request, "\"cwd\":\"/") && has(request, "\"id\":\"ctx-"));
    }

    void theMessageComesFromWhereverItIs_data()
    {
        QTest::addColumn<QByteArrayList>("words");
        QTest::addColumn<QByteArray>("input");
        QTest::addColumn<QByteArray>("sent");
        QTest::newRow("words") << QByteArrayList{"a", "b"} << QByteArray("unused") << QByteArray("\"a b\"");
        QTest::newRow("standard input") << QByteArrayList{} << QByteArray("x\ny\n") << QByteArray(R"("x\ny\n")");
        QTest::newRow("a dash") << QByteArrayList{"-"} << QByteArray("x") << QByteArray("\"x\"");
        QTest::newRow("after --, what looks like an option")
            << QByteArrayList{"--", "--json"} << QByteArray() << QByteArray("\"--json\"");
    }
    void theMessageComesFromWhereverItIs()
    {
        QFETCH(QByteArrayList, words);
        QFETCH(QByteArray, input);
        QFETCH(QByteArray, sent);
        World world;
        world.makeTree();
        world.object().on("send", echo);
        std::vector<std::string> arguments = {"send", "debug/echo"};
        for (const QByteArray &word : words)
            arguments.push_back(word.toStdString());
        QCOMPARE(world.run(arguments, input.toStdString()).exitCode, 0);
        const std::string request = world.object().request("send");
        QVERIFY2(has(request, "\"input\":" + sent.toStdString()), request.c_str());
    }

    void whatCannotBeSentIsAUsageError_data()
    {
        QTest::addColumn<QByteArrayList>("words");
        QTest::addColumn<QByteArray>("input");
        QTest::newRow("nothing") << QByteArrayList{} << QByteArray();
        QTest::newRow("no text") << QByteArrayList{} << QByteArray("\xff\xfe");
        QTest::newRow("more than a frame") << QByteArrayList{} << QByteArray(int(limits::kFrame) + 1, 'x');
        QTest::newRow("a scope without its space") << QByteArrayList{"--scope", "shared", "x"} << QByteArray();
        QTest::newRow("a space of another scope")
            << QByteArrayList{"--scope", "temp", "--shared", "s", "x"} << QByteArray();
        QTest::newRow("an unknown scope") << QByteArrayList{"--scope", "public", "x"} << QByteArray();
        QTest::newRow("an id that is too long") << QByteArrayList{"--id", QByteArray(257, 'i'), "x"} << QByteArray();
    }
    void whatCannotBeSentIsAUsageError()
    {
        QFETCH(QByteArrayList, words);
        QFETCH(QByteArray, input);
        World world;
        world.makeTree();
        world.object().on("send", echo);
        std::vector<std::string> arguments = {"send", "debug/echo"};
        for (const QByteArray &word : words)
            arguments.push_back(word.toStdString());
        const Outcome outcome = world.run(arguments, input.toStdString());
        QVERIFY2(outcome.exitCode == 2, outcome.err.c_str());
        QCOMPARE(outcome.out, std::string());
        QVERIFY(world.object().requests().empty());
    }

    void theConversationIsNamed()
    {
        World world;
        world.makeTree();
        world.object().on("send", echo);
        QCOMPARE(world.run({"send", "main", "-s", "work", "--shared", "team", "--id", "m7", "x"}).exitCode, 0);
        const std::string request = world.object().request("send");
        QVERIFY2(has(request, R"("id":"m7","session":"work","scope":"shared","shared":"team")"), request.c_str());
    }

    void jsonPrintsTheFramesAsTheyCame()
    {
        World world;
        world.makeTree();
        world.object().on("send", echo);
        const Outcome outcome = world.run({"send", "debug/echo", "--json", "--id", "m1", "hey"});
        const Result<json::Document> request = json::parse(R"({"id":"m1"})");
        QCOMPARE(outcome.out, start(request->root()) + piece(2, "h", 0) + piece(3, "ey", 1) + whole(4, "hey")
                                  + done(5, request->root()));
    }

    void textIsHarmlessOnATerminalAndItselfInAPipe()
    {
        World world;
        world.makeTree();
        const std::string text = "a\x1b[2Jb\tc\r\u009bd\nlast";
        world.object().on("send", [&](Peer &peer, const json::Value &request) {
            peer.raw(start(request) + whole(2, text) + done(3, request));
        });
        QCOMPARE(world.run({"send", "debug/echo", "x"}).out, text + "\n");
        QCOMPARE(world.runOnTerminal({"send", "debug/echo", "x"}).out,
                 std::string("a\\x1b[2Jb\tc\\r\\u{009b}d\r\nlast\r\n"));
        QVERIFY(!has(world.runOnTerminal({"send", "debug/echo", "--json", "x"}).out, "\u009b"));
    }

    void howTheRunEndsIsTheExitCode_data()
    {
        QTest::addColumn<QByteArray>("lines");
        QTest::addColumn<int>("code");
        QTest::addColumn<QByteArray>("says");
        const auto row = [](const char *name, const std::string &lines, int code, const char *says) {
            QTest::newRow(name) << QByteArray::fromStdString(lines) << code << QByteArray(says);
        };
        const std::string failed = eventLine(3, "done", "'status':'error'");
        const auto error = [&](const std::string &code) {
            return eventLine(2, "error", "'code':'" + code + "','message':'it \\u001b[1m broke'") + failed;
        };
        row("no key", error("ENOKEY"), 69, "ctx: it \\x1b[1m broke (ENOKEY)\n");
        row("denied", error("EACCES"), 13, "(EACCES)");
        row("an internal fault", error("EIO"), 70, "(EIO)");
        row("the daemon was killed meanwhile", error("EINTR"), 1, "(EINTR)");
        row("cancelled by somebody else", eventLine(2, "done", "'status':'cancelled'"), 1, "was cancelled (ECANCELED)");
        row("not JSON", "hello\n", 70, "(EBADMSG)");
    }
    void howTheRunEndsIsTheExitCode()
    {
        QFETCH(QByteArray, lines);
        QFETCH(int, code);
        QFETCH(QByteArray, says);
        World world;
        world.makeTree();
        world.object().on("send", [&](Peer &peer, const json::Value &request) {
            std::string all = start(request) + lines.toStdString();
            peer.raw(all);
        });
        const Outcome outcome = world.run({"send", "debug/echo", "x"});
        QVERIFY2(has(outcome.err, says.toStdString()), outcome.err.c_str());
        QCOMPARE(outcome.exitCode, code);
    }

    void aRefusalIsTold()
    {
        World world;
        world.makeTree();
        world.object().on("send", [](Peer &peer, const json::Value &request) {
            peer.raw(line("{'type':'error','id':" + request["id"].toJson() + ",'request':" + request["id"].toJson()
                          + ",'code':'EBUSY','message':'16 messages wait already'}"));
        });
        const Outcome outcome = world.run({"send", "debug/echo", "x"});
        QCOMPARE(outcome.err, std::string("ctx: 16 messages wait already (EBUSY)\n"));
        QCOMPARE(outcome.exitCode, 1);
    }

    void aLostDaemonIsFoundAgainAndNothingIsLostOrSaidTwice()
    {
        World world;
        world.makeTree();
        std::atomic<int> connections = 0;
        world.object().on("send", [&](Peer &peer, const json::Value &request) {
            const int number = ++connections;
            peer.raw(start(request));
            if (number == 1) {
                peer.raw(piece(2, "once ", 0));
                peer.close();
            } else if (number == 2) {
                peer.raw(piece(4, "once upon ", 0));
                peer.close();
            } else {
                peer.raw(piece(4, "once upon ", 0) + piece(5, "a time", 10) + whole(6, "once upon a time")
                         + done(7, request));
            }
        });
        const Outcome outcome = world.run({"send", "debug/echo", "--id", "m1", "x"});
        QCOMPARE(outcome.err, std::string());
        QCOMPARE(outcome.exitCode, 0);
        QCOMPARE(outcome.out, std::string("once upon a time\n"));
        QCOMPARE(connections, 3);
        for (const std::string &request : world.object().requests())
            QVERIFY(has(request, R"("id":"m1")"));
    }

    void interruptsCancelOnceAndLeaveTwice_data()
    {
        QTest::addColumn<int>("signals");
        QTest::newRow("one: the run's end is waited for") << 1;
        QTest::newRow("two: it leaves") << 2;
    }
    void interruptsCancelOnceAndLeaveTwice()
    {
        QFETCH(int, signals);
        World world;
        world.makeTree();
        std::string id;
        std::atomic<int> cancels = 0;
        world.object().on("send", [&](Peer &peer, const json::Value &request) {
            id = request["id"].toJson();
            peer.raw(start(request) + piece(2, "part", 0));
            ::kill(peer.pid(), SIGINT);
        });
        world.object().on("cancel", [&](Peer &peer, const json::Value &request) {
            ++cancels;
            const bool isSame = request["id"].toJson() == id;
            if (signals == 2) {
                ::kill(peer.pid(), SIGINT);
                return;
            }
            peer.raw(line("{'type':'accepted','op':'cancel','id':" + id + ",'run':'r1'}")
                     + eventLine(3, "done", isSame ? "'status':'cancelled'" : "'status':'ok'"));
        });
        const Outcome outcome = world.run({"send", "debug/echo", "x"});
        QCOMPARE(outcome.exitCode, 130);
        QCOMPARE(cancels, 1);
        QCOMPARE(outcome.err, std::string());
        if (signals == 1)
            QCOMPARE(outcome.out, std::string("part\n"));
    }

    void aReaderThatGoesAwayCancelsTheRun()
    {
        World world;
        world.makeTree();
        world.object().on("send", [](Peer &peer, const json::Value &request) {
            peer.raw(start(request));
            for (int i = 0; i < 2'000; ++i)
                peer.raw(piece(2 + i, "word\n", i * 5));
        });
        world.object().on("cancel", [](Peer &, const json::Value &) {});
        const Outcome outcome = world.shell("\"$CTX\" send debug/echo x | head -n 1; echo ${PIPESTATUS[0]}");
        QCOMPARE(outcome.out, std::string("word\n141\n"));
        QVERIFY(world.object().waitForRequest(R"("op":"cancel")"));
    }

    void aReaderThatGoesAwayWhileTheModelThinksCancelsTheRun()
    {
        World world;
        world.makeTree();
        world.object().on("send", [](Peer &peer, const json::Value &request) {
            peer.raw(start(request) + piece(2, "word\n", 0)); // and nothing more
        });
        world.object().on("cancel", [](Peer &, const json::Value &) {});
        const Outcome outcome = world.shell("\"$CTX\" send debug/echo x | head -n 1; echo ${PIPESTATUS[0]}");
        QCOMPARE(QByteArray::fromStdString(outcome.out), QByteArray("word\n141\n"));
        QVERIFY(world.object().waitForRequest(R"("op":"cancel")"));
    }

    void aFullDiskIsSaid()
    {
        World world;
        world.makeTree();
        world.object().on("send", echo);
        world.object().on("cancel", [](Peer &, const json::Value &) {});
        const Outcome outcome = world.shell("\"$CTX\" send debug/echo x > /dev/full");
        QCOMPARE(outcome.exitCode, 1);
        QVERIFY2(has(outcome.err, "(ENOSPC)"), outcome.err.c_str());
    }

    void aResumePrintsWhatWasSaidAndFollows()
    {
        World world;
        world.makeTree();
        world.object().on("resume", [](Peer &peer, const json::Value &request) {
            peer.raw(whole(2, "first") + eventLine(3, "done", "'status':'error'")
                     + line("{'type':'resumed','id':" + request["id"].toJson()
                            + ",'session':'default','last':'e000000000005','live':true}"));
            peer.raw(line("{'type':'delta','id':'e000000000006','run':'r2','text':'sec','offset':0}")
                     + line("{'type':'message','id':'e000000000007','run':'r2','role':'assistant','content':'second'}")
                     + line("{'type':'done','id':'e000000000008','run':'r2','status':'ok'}"));
        });
        const Outcome outcome = world.run({"resume", "debug/echo", "--after", "e000000000001", "-s", "w"});
        QCOMPARE(outcome.err, std::string());
        QCOMPARE(outcome.out, std::string("first\nsecond\n"));
        QCOMPARE(outcome.exitCode, 0);
        QVERIFY(has(world.object().request("resume"), R"("session":"w","after":"e000000000001")"));
    }

    void anUnknownConversationIsSaid()
    {
        World world;
        world.makeTree();
        world.object().on(
            "resume", [](Peer &peer, const json::Value &request) { peer.error(request, "ENOENT", "no such session"); });
        const Outcome outcome = world.run({"resume", "debug/echo"});
        QCOMPARE(outcome.exitCode, 1);
        QCOMPARE(outcome.err, std::string("ctx: no such session (ENOENT)\n"));
    }

    void aRunIsCancelledFromElsewhere()
    {
        World world;
        world.makeTree();
        world.object().on("cancel", [](Peer &peer, const json::Value &request) {
            if (request["id"].stringOr("") == "r9")
                peer.raw(line("{'type':'accepted','op':'cancel','id':'r9','run':'r9'}"));
            else
                peer.error(request, "ENOENT", "no such run");
        });
        const Outcome accepted = world.run({"cancel", "debug/echo", "r9"});
        QCOMPARE(accepted.out, std::string("run r9 is being cancelled\n"));
        QCOMPARE(accepted.exitCode, 0);
        const Outcome absent = world.run({"cancel", "debug/echo", "r8"});
        QCOMPARE(absent.exitCode, 1);
        QCOMPARE(absent.err, std::string("ctx: no such run (ENOENT)\n"));
    }

    void anObjectIsPinged()
    {
        World world;
        world.makeTree();
        world.object().on("ping", [](Peer &peer, const json::Value &request) {
            peer.raw(line("{'type':'pong','id':" + request["id"].toJson() + "}"));
        });
        const Outcome outcome = world.run({"ping", "main"});
        QVERIFY2(outcome.out.starts_with("model/debug/echo answered in "), outcome.out.c_str());
        QCOMPARE(world.run({"ping", "main", "--json"}).out, std::string("{\"type\":\"pong\",\"id\":\"ping-1\"}\n"));
    }

    void theSocketIsFound_data()
    {
        QTest::addColumn<QByteArray>("name");
        QTest::addColumn<bool>("hasTree");
        QTest::newRow("by its model") << QByteArray("debug/echo") << true;
        QTest::newRow("by an alias") << QByteArray("main") << true;
        QTest::newRow("by a path of the tree") << QByteArray("ROOT/model/debug/echo") << true;
        QTest::newRow("without a mount, by its model") << QByteArray("debug/echo") << false;
        QTest::newRow("without a mount, by an alias") << QByteArray("main") << false;
    }
    void theSocketIsFound()
    {
        QFETCH(QByteArray, name);
        QFETCH(bool, hasTree);
        World world;
        if (hasTree)
            world.makeTree();
        world.daemon().reply("model.list",
                             R"("models":[],"more":false,"aliases":[{"name":"main","target":"debug/echo"}])");
        world.object().on("send", echo);
        name.replace("ROOT", QByteArray::fromStdString(world.root()));
        const Outcome outcome = world.run({"send", name.toStdString(), "hi!"});
        QCOMPARE(outcome.err, std::string());
        QCOMPARE(outcome.out, std::string("hi!\n"));
    }

    void theLinkInTheTreeWins()
    {
        World world;
        world.makeTree();
        FakeDaemon elsewhere(world.base() + "/agent.sock");
        elsewhere.on("send", echo);
        (void)::symlink((world.base() + "/agent.sock").c_str(), (world.root() + "/agent/coder.sock").c_str());
        QCOMPARE(world.run({"send", "coder", "hi!"}).out, std::string("hi!\n"));
    }

    void withoutASocketTheNextStepIsSaid_data()
    {
        QTest::addColumn<QByteArray>("name");
        QTest::addColumn<int>("code");
        QTest::addColumn<QByteArray>("says");
        QTest::newRow("a model without conversations")
            << QByteArray("debug/echo") << 1 << QByteArray("(ENOENT); ctx set model/debug/echo.d/session socket\n");
        QTest::newRow("an agent that does not run")
            << QByteArray("coder") << 1 << QByteArray("it is not running (ENOENT)\n");
        QTest::newRow("no model") << QByteArray("debug/none") << 1 << QByteArray("no such object");
        QTest::newRow("an alias to nowhere")
            << QByteArray("broken") << 1 << QByteArray("model/gone/away: no such object");
        QTest::newRow("a tool") << QByteArray("fs.read") << 2 << QByteArray("only models and agents");
    }
    void withoutASocketTheNextStepIsSaid()
    {
        QFETCH(QByteArray, name);
        QFETCH(int, code);
        QFETCH(QByteArray, says);
        World world;
        world.makeTree();
        world.daemon().reply(FakeDaemon::kAnyOperation, R"("models":[],"aliases":[],"more":false)");
        for (const char *command : {"send", "ping", "resume"}) {
            std::vector<std::string> line = {command, name.toStdString()};
            if (line.front() == "send")
                line.emplace_back("x");
            const Outcome outcome = world.run(line);
            QVERIFY2(has(outcome.err, says.toStdString()), outcome.err.c_str());
            QCOMPARE(outcome.exitCode, code);
        }
    }

    void aSocketThatAKilledDaemonLeftSaysHowToStartIt()
    {
        World world;
        world.makeTree();
        world.object();
        world.stopObject();
        const Outcome outcome = world.run({"ping", "debug/echo"});
        QCOMPARE(outcome.exitCode, 69);
        QVERIFY2(has(outcome.err, "cortexd is not running") && has(outcome.err, "start it with: "),
                 outcome.err.c_str());
        world.daemon().reply("status", R"("state":"ready")");
        QVERIFY(has(world.run({"ping", "debug/echo"}).err, "(ECONNREFUSED)"));
    }

    void theHistoryIsPrinted()
    {
        World world;
        world.makeTree();
        world.daemon().on("session.show", [](Peer &peer, const json::Value &request) {
            for (const char *text :
                 {"{'role':'user','id':'e1','content':[{'type':'text','text':'what\\u001b?'},{'type':'image_url'}]}",
                  "{'role':'assistant','id':'e2','model':'debug/echo','content':'that','status':'cancelled',"
                  "'tool_calls':[{'call_id':'c','name':'fs.read','arguments':{'path':'x'}}]}"}) {
                std::string inner = line(text);
                inner.pop_back();
                peer.event(request, "{\"type\":\"line\",\"line\":" + inner + "}");
            }
            peer.result(request, "\"lines\":2");
        });
        const Outcome text = world.run({"history", "debug/echo", "-n", "2", "--shared", "team"});
        QCOMPARE(text.err, std::string());
        QCOMPARE(text.out, std::string("user:\nwhat\x1b?\n[image_url]\n\nassistant (debug/echo), cancelled:\nthat\n"
                                       "[calls fs.read {\"path\":\"x\"}]\n\n"));
        const std::string request = world.daemon().request("session.show");
        QVERIFY2(has(request,
                     R"("object":"model/debug/echo","session":"default","shared":"team","what":"messages","limit":2)"),
                 request.c_str());
        QVERIFY(!has(world.runOnTerminal({"history", "debug/echo"}).out, "what\x1b"));
        const Outcome json = world.run({"history", "debug/echo", "--json"});
        QVERIFY(json.out.starts_with(R"({"role":"user","id":"e1",)"));
        QCOMPARE(std::count(json.out.begin(), json.out.end(), '\n'), std::ptrdiff_t{2});
        QCOMPARE(world.run({"history", "debug/echo", "--limit", "0"}).exitCode, 2);
        QCOMPARE(world.run({"history", "debug/echo", "--limit", "many"}).exitCode, 2);
    }

    void theLastAnswerIsPrintedAndNothingElse()
    {
        World world;
        world.makeTree();
        world.daemon().reply("session.show", R"("text":"an answer without an end")");
        QCOMPARE(world.run({"output", "debug/echo", "-s", "w"}).out, std::string("an answer without an end"));
        QVERIFY(has(world.daemon().request("session.show"), R"("session":"w","what":"output")"));
        QCOMPARE(world.runOnTerminal({"output", "debug/echo"}).out, std::string("an answer without an end\r\n"));
        world.daemon().fail("session.show", "ENOENT", "no such session");
        QCOMPARE(world.run({"output", "debug/echo"}).exitCode, 1);
    }

    void conversationsAreListed()
    {
        World world;
        world.makeTree();
        world.daemon().reply("session.list",
                             R"("sessions":[{"session":"work","state":"active","cwd":"/w",)"
                             R"("updated_at":"2026-01-02T03:04:05Z"},{"session":"default","state":"done","cwd":"/"}],)"
                             R"("more":true)");
        const Outcome outcome = world.run({"sessions", "main", "-n", "2"});
        QCOMPARE(outcome.out, std::string("SESSION  STATE   LAST USED             DIRECTORY\n"
                                          "work     active  2026-01-02T03:04:05Z  /w\n"
                                          "default  done    -                     /\n"
                                          "There are more: --limit N or --all.\n"));
        QVERIFY(has(world.daemon().request("session.list"), R"("object":"model/debug/echo","limit":2)"));
        QCOMPARE(world.run({"sessions", "main", "-n", "2", "--json"}).out,
                 std::string(R"({"sessions":[{"session":"work","state":"active","cwd":"/w",)"
                             R"("updated_at":"2026-01-02T03:04:05Z"},{"session":"default","state":"done","cwd":"/"}],)"
                             "\"more\":true}\n"));
        QCOMPARE(world.run({"sessions", "main", "--all", "--limit", "3"}).exitCode, 2);
        world.daemon().reply("session.list", R"("sessions":[],"more":false)");
        QVERIFY(has(world.run({"sessions", "main"}).out, "no conversations yet"));
        QVERIFY(world.daemon().waitForRequest(R"("object":"model/debug/echo","limit":50)"));
    }

    void aLongListComesInPages()
    {
        World world;
        world.makeTree();
        world.daemon().on("session.list", [](Peer &peer, const json::Value &request) {
            const bool isFirst = request["after"].isMissing();
            const bool isBehind = request["after"].stringOr("") == "b";
            peer.result(request, isFirst    ? R"("sessions":[{"session":"a"},{"session":"b"}],"more":true)"
                                 : isBehind ? R"("sessions":[{"session":"c"}],"more":false)"
                                            : R"("sessions":[],"more":false)");
        });
        QCOMPARE(world.run({"sessions", "main", "--all", "--json"}).out,
                 std::string(R"({"sessions":[{"session":"a"},{"session":"b"},{"session":"c"}],"more":false})"
                             "\n"));
    }
};

QTEST_GUILESS_MAIN(ConversationTest)
#include "conversation_test.moc"
