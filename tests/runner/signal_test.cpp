// Ctrl-C, a reader that leaves, a reader that is slow.
#include "tests/runner/scene.h"

#include <QTest>

#include <atomic>
#include <csignal>

#include <unistd.h>

using namespace cortexfs;
using namespace cortexfs::runner::test;

namespace {

RunnerProcess::Options withPipe()
{
    RunnerProcess::Options options;
    options.input = RunnerProcess::Input::Pipe;
    return options;
}

} // namespace

class RunnerSignalTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theFirstSignalCancelsAndTheEventsAreCopiedToTheirEnd_data()
    {
        QTest::addColumn<int>("number");
        QTest::addColumn<int>("exitCode");
        QTest::newRow("SIGINT") << SIGINT << 130;
        QTest::newRow("SIGTERM") << SIGTERM << 143;
    }
    void theFirstSignalCancelsAndTheEventsAreCopiedToTheirEnd()
    {
        QFETCH(int, number);
        QFETCH(int, exitCode);
        Scene scene;
        scene.daemon.on("exec", [](Peer &peer, const json::Value &request) { peer.event(request, kStart); });
        scene.daemon.on("cancel", [](Peer &peer, const json::Value &request) {
            peer.event(request, R"({"type":"delta","run":"r1","text":"last"})");
            peer.event(request, kCancelled);
            peer.result(request, "\"exit\":130,\"diagnostic\":\"cancelled\"");
        });
        RunnerProcess process(scene.object.path(), {"hi"});
        QVERIFY(process.waitForOutput("start"));
        process.interrupt(number);
        const Ended ended = process.finish();
        QCOMPARE(ended.exitCode, exitCode);
        QVERIFY(!ended.bySignal);
        QCOMPARE(ended.types(), std::string("start delta done"));
        const std::string cancel = R"({"op":"cancel","id":"1"})";
        QCOMPARE(scene.daemon.request("cancel"), cancel);
    }

    void theSecondSignalEndsItAtOnce()
    {
        Scene scene;
        scene.daemon.on("exec", [](Peer &peer, const json::Value &request) { peer.event(request, kStart); });
        scene.daemon.on("cancel", [](Peer &, const json::Value &) {}); // a provider that does not listen
        RunnerProcess process(scene.object.path(), {"hi"});
        QVERIFY(process.waitForOutput("start"));
        process.interrupt(SIGINT);
        QVERIFY(scene.daemon.waitForRequest("cancel"));
        QVERIFY(process.isRunning());
        process.interrupt(SIGINT);
        const Ended ended = process.finish();
        QCOMPARE(ended.exitCode, 130);
        QCOMPARE(ended.types(), std::string("start"));
    }

    void beforeTheRequestIsSentASignalEndsItAsAnyProgram()
    {
        Scene scene;
        scene.answerAll();
        RunnerProcess process(scene.object.path(), {}, withPipe());
        process.feed("half a ");
        QTRY_COMPARE(process.unreadInput(), 0); // it reads, so it waits for the rest
        process.interrupt(SIGINT);
        const Ended ended = process.finish();
        QVERIFY(ended.bySignal);
        QCOMPARE(ended.exitCode, 130);
        QCOMPARE(ended.out, std::string());
        QCOMPARE(scene.execFrame(), std::string());
    }

    void aSignalEndsTheInputToo()
    {
        Scene scene;
        scene.daemon.on("exec", [](Peer &peer, const json::Value &request) { peer.event(request, kStart); });
        scene.daemon.on("stdin", [](Peer &, const json::Value &) {});
        scene.daemon.on("cancel", [](Peer &peer, const json::Value &request) {
            peer.event(request, kCancelled);
            peer.result(request, "\"exit\":130");
        });
        RunnerProcess process(scene.object.path(), {}, withPipe());
        process.feed(std::string(200 * 1024, 'a')); // and the pipe stays open
        QVERIFY(process.waitForOutput("start"));
        process.interrupt(SIGINT);
        QVERIFY(process.waitForOutput("cancelled"));
        const Ended ended = process.finish();
        QCOMPARE(ended.exitCode, 130);
        QCOMPARE(ended.types(), std::string("start done"));
    }

    void aBackgroundJobStaysDeafToInterrupts()
    {
        Scene scene;
        scene.daemon.on("exec", [](Peer &peer, const json::Value &request) { peer.event(request, kStart); });
        scene.daemon.on("cancel", [](Peer &peer, const json::Value &request) {
            peer.event(request, kCancelled);
            peer.result(request, "\"exit\":130");
        });
        RunnerProcess::Options options;
        options.ignoreInterrupt = true;
        RunnerProcess process(scene.object.path(), {"hi"}, options);
        QVERIFY(process.waitForOutput("start"));
        process.interrupt(SIGINT);
        process.interrupt(SIGTERM);
        QCOMPARE(process.finish().exitCode, 143); // so SIGINT was not the first
    }

    void aReaderThatLeavesEndsItQuietly_data()
    {
        QTest::addColumn<bool>("isTalking");
        QTest::newRow("while events come") << true;
        QTest::newRow("while nothing comes") << false;
    }
    void aReaderThatLeavesEndsItQuietly()
    {
        QFETCH(bool, isTalking);
        Scene scene;
        std::atomic<bool> hasLeft = false;
        scene.daemon.on("exec", [&, isTalking](Peer &peer, const json::Value &request) {
            peer.event(request, kStart);
            while (isTalking && peer.event(request, R"({"type":"delta","run":"r1","text":"more"})"))
                continue;
            if (!isTalking)
                (void)peer.next(); // until the runner goes
            hasLeft = true;
        });
        RunnerProcess process(scene.object.path(), {"hi"});
        QVERIFY(process.waitForOutput("start"));
        process.closeOutput();
        const Ended ended = process.finish();
        QCOMPARE(ended.exitCode, 141);
        QCOMPARE(ended.err, std::string());
        QTRY_VERIFY(hasLeft);
    }

    void headTakesOneLine()
    {
        Scene scene;
        scene.daemon.on("exec", [](Peer &peer, const json::Value &request) {
            peer.event(request, kStart);
            while (peer.event(request, R"({"type":"delta","run":"r1","text":"more"})"))
                continue;
        });
        RunnerProcess::Options options;
        options.prefix = {"/bin/sh", "-c", "\"$0\" \"$1\" hi | head -n 1", runnerPath(), scene.object.path()};
        options.program = "ignored";
        const Ended ended = RunnerProcess(scene.object.path(), {}, options).finish();
        QCOMPARE(ended.exitCode, 0);
        QCOMPARE(ended.out, std::string(kStart) + "\n");
        QCOMPARE(ended.err, std::string());
    }

    // 48 MiB for a reader that begins late: they wait in the daemon, not in the runner.
    void aSlowReaderStopsTheDaemon()
    {
        Scene scene;
        constexpr int kEvents = 48 * 1024;
        const std::string text(1000, 'x');
        std::atomic<int> sent = 0;
        std::atomic<long> peak = 0;
        scene.daemon.on("exec", [&](Peer &peer, const json::Value &request) {
            peer.event(request, kStart);
            while (sent < kEvents
                   && peer.event(request, "{\"type\":\"delta\",\"run\":\"r1\",\"text\":\"" + text + "\"}"))
                ++sent;
            peak = peakResidentKiB(peer.pid());
            peer.event(request, kDone);
            peer.result(request, "\"exit\":0");
        });
        RunnerProcess process(scene.object.path(), {"hi"});
        QTRY_VERIFY(process.unreadOutput() > 40'000); // the pipe is as good as full
        const Ended ended = process.finish();
        QCOMPARE(ended.exitCode, 0);
        QCOMPARE(ended.lines().size(), std::size_t(kEvents + 2));
        QCOMPARE(ended.lines().back(), std::string(kDone));
        if (isShippedRunner())
            QVERIFY2(peak > 0 && peak < 2048, std::to_string(peak).c_str());
    }

    void aDaemonThatEndsWhileTheReaderIsSlowLosesNothingItSaid()
    {
        Scene scene;
        constexpr int kEvents = 70;
        const std::string text(1000, 'x');
        std::atomic<bool> isGone = false;
        scene.daemon.on("exec", [&](Peer &peer, const json::Value &request) {
            peer.event(request, kStart);
            for (int i = 0; i < kEvents; ++i)
                peer.event(request, "{\"type\":\"delta\",\"run\":\"r1\",\"text\":\"" + text + "\"}");
            peer.event(request, kDone);
            peer.result(request, "\"exit\":0");
            peer.close();
            isGone = true;
        });
        RunnerProcess process(scene.object.path(), {"hi"});
        QTRY_VERIFY(isGone); // more than a pipe holds, less than a pipe and a socket
        const Ended ended = process.finish();
        QCOMPARE(ended.exitCode, 0);
        QCOMPARE(ended.lines().size(), std::size_t(kEvents + 2));
        // Waiting for a slow reader is waiting, not spinning.
        if (isShippedRunner())
            QVERIFY(ended.usage.ru_utime.tv_sec + ended.usage.ru_stime.tv_sec < 2);
    }
};

QTEST_GUILESS_MAIN(RunnerSignalTest)
#include "signal_test.moc"
