// `ctx exec`: the same stream, exit code and manners as executing an object's file.
#include "common/base/limits.h"
#include "tests/ctx/ctx_run.h"

#include <QTest>

#include <algorithm>
#include <atomic>
#include <csignal>

using namespace cortexfs;
using namespace cortexfs::ctx::test;

namespace {

bool has(const std::string &text, std::string_view part) { return text.find(part) != std::string::npos; }

// An echo as the daemon has it: takes all input, answers with the canonical sequence.
void echo(Peer &peer, const json::Value &request)
{
    std::string input;
    for (const json::Value &word : request["argv"].elements())
        input += (input.empty() ? "" : " ") + std::string(word.stringOr(""));
    if (request["stdin_open"].asBool().value_or(false)) {
        for (;;) {
            const auto more = peer.next();
            if (!more || more->root()["op"].stringOr("") != "stdin")
                return;
            input += more->root()["data"].stringOr("");
            if (more->root()["eof"].asBool().value_or(false))
                break;
        }
    }
    json::Writer delta;
    delta.beginObject().field("type", "delta").field("run", "r1").field("text", input).endObject();
    peer.event(request, R"({"type":"start","run":"r1","model":"debug/echo"})");
    peer.event(request, delta.text());
    peer.event(request, R"({"type":"done","run":"r1","status":"ok"})");
    peer.result(request, "\"exit\":0");
}

} // namespace

class ExecTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void argumentsAreTheInput()
    {
        World world;
        world.daemon().on("exec", echo);
        const Outcome outcome = world.run({"exec", "debug/echo", "hello", "--json", "w\u00f6rld"});
        QCOMPARE(outcome.exitCode, 0);
        QCOMPARE(outcome.err, std::string());
        QCOMPARE(QByteArray::fromStdString(outcome.out),
                 QByteArray("{\"type\":\"start\",\"run\":\"r1\",\"model\":\"debug/echo\"}\n"
                            "{\"type\":\"delta\",\"run\":\"r1\",\"text\":\"hello --json w\u00f6rld\"}\n"
                            "{\"type\":\"done\",\"run\":\"r1\",\"status\":\"ok\"}\n"));
        const std::string request = world.daemon().request("exec");
        QVERIFY2(has(request, R"("object":"model/debug/echo","argv":["hello","--json",)"), request.c_str());
        QVERIFY(has(request, R"("stdin":null)") && has(request, R"("tty":false)") && has(request, "\"cwd\":\"/"));
    }

    void objectsAreNamedAsPeopleNameThem_data()
    {
        QTest::addColumn<QByteArray>("name");
        QTest::addColumn<QByteArray>("object");
        QTest::newRow("an alias") << QByteArray("main") << QByteArray("model/main");
        QTest::newRow("a model") << QByteArray("local/m1") << QByteArray("model/local/m1");
        QTest::newRow("a path below the mount") << QByteArray("model/local/m1") << QByteArray("model/local/m1");
        QTest::newRow("an absolute path") << QByteArray("ROOT/model/local/m1") << QByteArray("model/local/m1");
        QTest::newRow("the system's path") << QByteArray("/ctx/model/local/m1") << QByteArray("model/local/m1");
        QTest::newRow("an agent") << QByteArray("coder") << QByteArray("agent/coder");
        QTest::newRow("a tool") << QByteArray("fs.read") << QByteArray("tool/fs.read");
        QTest::newRow("a name of nothing") << QByteArray("nobody") << QByteArray("model/nobody");
    }
    void objectsAreNamedAsPeopleNameThem()
    {
        QFETCH(QByteArray, name);
        QFETCH(QByteArray, object);
        World world;
        world.makeTree();
        world.daemon().on("exec", echo);
        name.replace("ROOT", QByteArray::fromStdString(world.root()));
        QCOMPARE(world.run({"exec", name.toStdString(), "x"}).exitCode, 0);
        const std::string request = world.daemon().request("exec");
        QVERIFY2(has(request, "\"object\":\"" + object.toStdString() + "\""), request.c_str());
    }

    void standardInputIsForwarded_data()
    {
        QTest::addColumn<QByteArray>("input");
        QTest::newRow("empty") << QByteArray();
        QTest::newRow("a line") << QByteArray("hello\n");
        QTest::newRow("text with every kind of character") << QByteArray("\"\\\t\u00e9\u6a21\U0001F600\x01");
        QTest::newRow("much of it, its characters on every border of a piece")
            << QByteArray("\u6a21").repeated(200'000);
        QTest::newRow("much that must be escaped") << QByteArray("\x01").repeated(400'000);
    }
    void standardInputIsForwarded()
    {
        QFETCH(QByteArray, input);
        World world;
        std::string got;
        std::atomic<bool> isWhole = false;
        world.daemon().on("exec", [&](Peer &peer, const json::Value &request) {
            while (const auto more = peer.next()) {
                got += more->root()["data"].stringOr("");
                if (more->root()["eof"].asBool().value_or(false)) {
                    isWhole = true;
                    peer.result(request, "\"exit\":0");
                    return;
                }
            }
        });
        const Outcome outcome = world.run({"exec", "debug/echo"}, input.toStdString());
        QVERIFY2(outcome.exitCode == 0, outcome.err.c_str());
        QVERIFY(isWhole);
        QVERIFY(got == input.toStdString());
        for (const std::string &frame : world.daemon().requests())
            QVERIFY(frame.size() < limits::kFrame);
    }

    void inputThatIsNoTextIsRefused()
    {
        World world;
        world.daemon().on("exec", echo);
        const Outcome outcome = world.run({"exec", "debug/echo"}, "abc\xff\xfe");
        QCOMPARE(outcome.exitCode, 2);
        QVERIFY(has(outcome.out, "\"code\":\"EINVAL\"") && outcome.out.ends_with("\"status\":\"error\"}\n"));
        QVERIFY(has(outcome.err, "not valid UTF-8"));
        QCOMPARE(world.run({"exec", "debug/echo", "\xff"}).exitCode, 2);
    }

    void aClosedStandardInputIsAnEmptyOne()
    {
        World world;
        world.daemon().on("exec", echo);
        const Outcome outcome = world.shell("\"$CTX\" exec debug/echo <&-");
        QVERIFY2(outcome.exitCode == 0, outcome.err.c_str());
        QVERIFY(has(outcome.out, "\"text\":\"\""));
    }

    void theExitCodeIsTheDaemons_data()
    {
        QTest::addColumn<QByteArray>("members");
        QTest::addColumn<int>("exitCode");
        QTest::addColumn<QByteArray>("err");
        QTest::newRow("a failed run") << QByteArray(R"("exit":69,"diagnostic":"no key for x")") << 69
                                      << QByteArray("ctx: no key for x\n");
        QTest::newRow("no input") << QByteArray(R"("exit":2,"usage":"usage: model/x TEXT...")") << 2
                                  << QByteArray("usage: model/x TEXT...\n");
        QTest::newRow("no exit code") << QByteArray("\"a\":1") << 70 << QByteArray();
        QTest::newRow("an impossible one") << QByteArray("\"exit\":4711") << 70 << QByteArray();
    }
    void theExitCodeIsTheDaemons()
    {
        QFETCH(QByteArray, members);
        QFETCH(int, exitCode);
        QFETCH(QByteArray, err);
        World world;
        world.daemon().reply("exec", members.toStdString());
        const Outcome outcome = world.run({"exec", "debug/echo", "x"});
        QCOMPARE(outcome.exitCode, exitCode);
        QCOMPARE(QByteArray::fromStdString(outcome.err), err);
    }

    void aFailureThatAnotherModelMadeGoodIsNone()
    {
        World world;
        world.daemon().on("exec", [](Peer &peer, const json::Value &request) {
            peer.event(request, "{\"type\":\"start\",\"run\":\"r7\",\"model\":\"p/m\"}");
            peer.event(request, "{\"type\":\"error\",\"run\":\"r7\",\"code\":\"EHOSTDOWN\",\"message\":\"m\","
                                "\"recoverable\":true,\"model\":\"p/m\"}");
            peer.event(request, "{\"type\":\"done\",\"run\":\"r7\",\"status\":\"ok\",\"model\":\"debug/echo\"}");
            peer.result(request, "\"exit\":0");
        });
        const Outcome outcome = world.run({"exec", "p/m", "x"});
        QCOMPARE(outcome.exitCode, 0);
        QCOMPARE(outcome.err, std::string());
        QVERIFY(has(outcome.out, "\"recoverable\":true,\"model\":\"p/m\"}\n"));
    }

    void aStreamThatBreaksIsEndedProperly()
    {
        World world;
        world.daemon().on("exec", [](Peer &peer, const json::Value &request) {
            peer.event(request, R"({"type":"start","run":"r7","model":"debug/echo"})");
            peer.event(request, R"({"type":"delta","run":"r7","text":"half"})");
            peer.close();
        });
        const Outcome outcome = world.run({"exec", "debug/echo", "x"});
        QCOMPARE(outcome.exitCode, 69);
        QVERIFY(has(outcome.out, "\"text\":\"half\"}\n{\"type\":\"error\",\"run\":\"r7\",\"code\":\"ECONNRESET\""));
        QVERIFY(outcome.out.ends_with("{\"type\":\"done\",\"run\":\"r7\",\"status\":\"error\"}\n"));
        QVERIFY(has(outcome.err, "ctx: cortexd closed the connection (ECONNRESET)"));
    }

    void garbageInAStreamEndsItProperly()
    {
        World world;
        world.daemon().on("exec", [](Peer &peer, const json::Value &request) {
            peer.event(request, R"({"type":"start","run":"r7","model":"debug/echo"})");
            peer.raw("not json\n");
        });
        const Outcome outcome = world.run({"exec", "debug/echo", "x"});
        QCOMPARE(outcome.exitCode, 70);
        QVERIFY(has(outcome.out, "\"code\":\"EBADMSG\"") && outcome.out.ends_with("\"status\":\"error\"}\n"));
    }

    void splitAndJoinedFramesGiveTheSameLines_data()
    {
        QTest::addColumn<int>("piece");
        QTest::newRow("one byte at a time") << 1;
        QTest::newRow("five") << 5;
        QTest::newRow("all at once") << 1'000'000;
    }
    void splitAndJoinedFramesGiveTheSameLines()
    {
        QFETCH(int, piece);
        World world;
        world.daemon().on("exec", [piece](Peer &peer, const json::Value &request) {
            const std::string id = request["id"].toJson();
            std::string all;
            for (int i = 0; i < 20; ++i)
                all += "{\"id\":" + id + ",\"type\":\"delta\",\"n\":" + std::to_string(i) + "}\n";
            // The id may stand elsewhere; the line is then put together anew.
            all += "{\"type\":\"done\",\"id\":" + id + ",\"status\":\"ok\"}\n";
            all += "{\"id\":" + id + ",\"type\":\"result\",\"exit\":0}\n";
            for (std::size_t at = 0; at < all.size(); at += static_cast<std::size_t>(piece))
                peer.raw(std::string_view(all).substr(at, static_cast<std::size_t>(piece)));
            peer.close();
        });
        const Outcome outcome = world.run({"exec", "debug/echo", "x"});
        QVERIFY2(outcome.exitCode == 0, outcome.err.c_str());
        std::string expected;
        for (int i = 0; i < 20; ++i)
            expected += "{\"type\":\"delta\",\"n\":" + std::to_string(i) + "}\n";
        QCOMPARE(outcome.out, expected + "{\"type\":\"done\",\"status\":\"ok\"}\n");
    }

    void anInterruptCancelsTheRun()
    {
        World world;
        world.daemon().on("exec", [](Peer &peer, const json::Value &request) {
            peer.event(request, R"({"type":"start","run":"r1","model":"debug/echo"})");
            ::kill(peer.pid(), SIGINT);
            const auto next = peer.next();
            if (!next || next->root()["op"].stringOr("") != "cancel"
                || next->root()["id"].toJson() != request["id"].toJson())
                return peer.close();
            peer.event(request, R"({"type":"done","run":"r1","status":"cancelled"})");
            peer.result(request, "\"exit\":130");
        });
        const Outcome outcome = world.run({"exec", "debug/echo", "x"});
        QCOMPARE(outcome.exitCode, 130);
        QVERIFY(outcome.out.ends_with("\"status\":\"cancelled\"}\n"));
        QCOMPARE(outcome.err, std::string());
    }

    void aTerminationCancelsTheRunToo()
    {
        World world;
        world.daemon().on("exec", [](Peer &peer, const json::Value &request) {
            ::kill(peer.pid(), SIGTERM);
            if (peer.next())
                peer.result(request, "\"exit\":130");
        });
        QCOMPARE(world.run({"exec", "debug/echo", "x"}).exitCode, 143);
    }

    void anAbsentDaemonGivesAWholeSequenceToo()
    {
        World world;
        const Outcome outcome = world.run({"exec", "debug/echo", "x"});
        QCOMPARE(outcome.exitCode, 69);
        QVERIFY2(outcome.out.starts_with("{\"type\":\"start\",\"run\":\"r0\",\"model\":\"debug/echo\"}\n"
                                         "{\"type\":\"error\",\"run\":\"r0\",\"code\":\"EHOSTDOWN\""),
                 outcome.out.c_str());
        QVERIFY(outcome.out.ends_with("{\"type\":\"done\",\"run\":\"r0\",\"status\":\"error\"}\n"));
    }

    void aSecondInterruptLeavesAtOnce()
    {
        World world;
        world.daemon().on("exec", [](Peer &peer, const json::Value &request) {
            peer.event(request, R"({"type":"start","run":"r1","model":"debug/echo"})");
            ::kill(peer.pid(), SIGINT);
            if (peer.next()) // the cancel, which is not answered
                ::kill(peer.pid(), SIGINT);
        });
        QCOMPARE(world.run({"exec", "debug/echo", "x"}).exitCode, 130);
    }

    void anInterruptIsNoticedWhileTheReaderSleeps()
    {
        World world;
        world.daemon().on("exec", [](Peer &peer, const json::Value &request) {
            const std::string text(10'000, 'x');
            for (int i = 0; i < 100; ++i)
                peer.event(request, "{\"type\":\"delta\",\"text\":\"" + text + "\"}");
            ::kill(peer.pid(), SIGINT);
            if (peer.next())
                peer.close();
        });
        const Outcome outcome = world.shell(
            "\"$CTX\" exec debug/echo x 2>\"$HOME/err\" | { sleep 0.5; head -c 1; }; echo; echo ${PIPESTATUS[0]}");
        QVERIFY(world.daemon().waitForRequest("\"op\":\"cancel\""));
        QVERIFY2(outcome.exitCode == 0, outcome.err.c_str());
    }

    void aReaderThatLeavesCancelsTheRun()
    {
        World world;
        std::atomic<bool> wasEnded = false;
        world.daemon().on("exec", [&](Peer &peer, const json::Value &request) {
            const std::string text(1000, 'x');
            for (int i = 0; i < 100'000; ++i) {
                if (!peer.event(request, "{\"type\":\"delta\",\"text\":\"" + text + "\"}")) {
                    wasEnded = true;
                    return;
                }
            }
        });
        const Outcome outcome = world.shell("\"$CTX\" exec debug/echo x | head -n 1 | wc -l; echo ${PIPESTATUS[0]}");
        QCOMPARE(QByteArray::fromStdString(outcome.out), QByteArray("1\n141\n"));
        QCOMPARE(outcome.err, std::string());
        QTRY_VERIFY(wasEnded);
    }

    void aReaderThatLeavesWhileTheModelThinksCancelsTheRun()
    {
        World world;
        world.daemon().on("exec", [](Peer &peer, const json::Value &request) {
            peer.event(request, "{\"type\":\"start\",\"run\":\"r1\"}"); // and nothing more
        });
        world.daemon().reply("cancel", "");
        const Outcome outcome = world.shell("\"$CTX\" exec debug/echo x | head -n 1 | wc -l; echo ${PIPESTATUS[0]}");
        QCOMPARE(QByteArray::fromStdString(outcome.out), QByteArray("1\n141\n"));
        QCOMPARE(outcome.err, std::string());
        QVERIFY(world.daemon().waitForRequest(R"("op":"cancel")"));
    }

    void aMillionLinesKeepTheirOrder()
    {
        constexpr int kLines = 200'000;
        World world;
        world.daemon().on("exec", [](Peer &peer, const json::Value &request) {
            const std::string id = request["id"].toJson();
            std::string batch;
            for (int i = 0; i < kLines; ++i) {
                batch += "{\"id\":" + id + ",\"type\":\"delta\",\"n\":" + std::to_string(i) + "}\n";
                if (batch.size() > 60'000) {
                    peer.raw(batch);
                    batch.clear();
                }
            }
            peer.raw(batch);
            peer.result(request, "\"exit\":0");
        });
        const Outcome outcome = world.run({"exec", "debug/echo", "x"});
        QCOMPARE(outcome.exitCode, 0);
        QCOMPARE(std::count(outcome.out.begin(), outcome.out.end(), '\n'), std::ptrdiff_t{kLines});
        QVERIFY(outcome.out.ends_with("{\"type\":\"delta\",\"n\":199999}\n"));
    }

    void onATerminalWithoutInputItAsksForUsage()
    {
        World world;
        world.daemon().on("exec", [](Peer &peer, const json::Value &request) {
            const bool isAsked = request["tty"].asBool().value_or(false) && request["stdin"].isNull();
            peer.result(request, isAsked ? "\"exit\":2,\"usage\":\"usage: x TEXT\"" : "\"exit\":0");
        });
        const Outcome outcome = world.runOnTerminal({"exec", "debug/echo"});
        QCOMPARE(outcome.exitCode, 2);
        QVERIFY(has(outcome.out, "usage: x TEXT"));
    }
};

QTEST_GUILESS_MAIN(ExecTest)
#include "exec_test.moc"
