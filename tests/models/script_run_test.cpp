// The models that need no network, as runs: order of events, pause, cancel, waits, and that they leave others alone.
#include "tests/models/run_fixture.h"
#include "tests/support/loop_watch.h"

#include <QSignalSpy>
#include <QTest>

using namespace cortexfs;
using namespace cortexfs::test;

class ScriptRunTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void echoSaysItsInput();
    void nothingIsEmittedFromWithinStart();
    void unknownModelIsAnErrorWithStartAndDone();
    void scriptFailsWithItsErrno();
    void pausedRunEmitsNothing();
    void longScriptLeavesTheLoopAlone();
    void cancelEndsARun_data();
    void cancelEndsARun();
    void cancelBeforeTheFirstEvent();
    void cancelFromWithinAReceiver();
    void waitDoesNotHoldUpAnotherRun();
    void twentyRunsTakeTurns();
};

void ScriptRunTest::echoSaysItsInput()
{
    RunFixture fixture;
    StartedRun run(fixture.run("hello", "debug/echo"));
    QVERIFY(run.runToEnd());
    QVERIFY(run.seen.isWellFormed());
    QCOMPARE(run.seen.types(), std::string("start delta message usage done"));
    QCOMPARE(run.seen.deltas(), std::string("hello"));
    QCOMPARE(run.seen.doneStatus(), std::string("ok"));
    for (const abi::Event &event : run.seen.events())
        QVERIFY(!event.run.empty() && event.run == run.seen.events().front().run);
    QCOMPARE(run.seen.events().front().model, std::string("debug/echo"));
    QCOMPARE(run.seen.last(abi::EventType::Message)->model, std::string("debug/echo"));
    QCOMPARE(run.seen.last(abi::EventType::Done)->model, std::string("debug/echo"));
    QVERIFY(run.seen.last(abi::EventType::Done)->reason == abi::StopReason::Stop);
    QCOMPARE(run->report().transport, std::string("builtin"));
    QCOMPARE(run->report().model, std::string("debug/echo"));
    QVERIFY(run->report().firstTokenMs >= 0);
}

void ScriptRunTest::nothingIsEmittedFromWithinStart()
{
    RunFixture fixture;
    StartedRun run(fixture.run("hello", "debug/echo"));
    QVERIFY(run.seen.events().empty());
    run->start(); // a second start means nothing
    QVERIFY(run.runToEnd());
    QVERIFY(run.seen.isWellFormed());
}

void ScriptRunTest::unknownModelIsAnErrorWithStartAndDone()
{
    RunFixture fixture;
    StartedRun run(fixture.run("hello", "nobody/nothing"));
    QVERIFY(run.runToEnd());
    QVERIFY(run.seen.isWellFormed());
    QCOMPARE(run.seen.types(), std::string("start error done"));
    QCOMPARE(run.seen.errorCode(), ENOENT);
    QVERIFY(run.seen.errorMessage().find("nobody/nothing") != std::string::npos);
}

void ScriptRunTest::scriptFailsWithItsErrno()
{
    RunFixture fixture;
    StartedRun run(fixture.run("say a\nfail EDQUOT", "debug/script"));
    QVERIFY(run.runToEnd());
    QVERIFY(run.seen.isWellFormed());
    QCOMPARE(run.seen.types(), std::string("start delta error done"));
    QCOMPARE(run.seen.errorCode(), EDQUOT);
    QCOMPARE(run.seen.doneStatus(), std::string("error"));
}

void ScriptRunTest::pausedRunEmitsNothing()
{
    RunFixture fixture;
    StartedRun run(fixture.run("repeat 100000 x", "debug/script"));
    QTRY_VERIFY(run.seen.count(abi::EventType::Delta) > 0);
    run->setPaused(true);
    const std::size_t before = run.seen.events().size();
    QVERIFY(before < 100'000);
    // The other run gets through a hundred turns and more meanwhile.
    StartedRun other(fixture.run("repeat 10000 y", "debug/script"));
    QVERIFY(other.runToEnd());
    QCOMPARE(run.seen.events().size(), before);
    run->setPaused(false);
    QVERIFY(run.runToEnd());
    QVERIFY(run.seen.isWellFormed());
    QCOMPARE(run.seen.deltas(), std::string(100'000, 'x'));
}

void ScriptRunTest::longScriptLeavesTheLoopAlone()
{
    RunFixture fixture;
    const LoopWatch watch;
    // Counted, not collected: half a million events in a vector would be what blocks the loop.
    const std::unique_ptr<models::ModelRun> run = fixture.run("repeat 500000 x", "debug/script");
    int deltas = 0;
    connect(run.get(), &models::ModelRun::eventReady, run.get(),
            [&](const abi::Event &event) { deltas += event.type == abi::EventType::Delta ? 1 : 0; });
    QSignalSpy finished(run.get(), &models::ModelRun::finished);
    run->start();
    QVERIFY(finished.wait(100'000));
    QCOMPARE(deltas, 500'000);
    QVERIFY2(watch.longestWorkMs() < 250, std::to_string(watch.longestWorkMs()).c_str());
}

void ScriptRunTest::cancelEndsARun_data()
{
    QTest::addColumn<QByteArray>("script");
    QTest::newRow("that waits") << QByteArray("say a\nwait 3600000\nsay b");
    QTest::newRow("that speaks") << QByteArray("repeat 5000000 x");
}

void ScriptRunTest::cancelEndsARun()
{
    QFETCH(QByteArray, script);
    RunFixture fixture;
    StartedRun run(fixture.run(script.toStdString(), "debug/script"));
    QTRY_VERIFY(run.seen.count(abi::EventType::Delta) > 0);
    run->cancel();
    run->cancel();
    QVERIFY(run.runToEnd());
    QVERIFY(run.seen.isWellFormed());
    QCOMPARE(run.seen.doneStatus(), std::string("cancelled"));
    QCOMPARE(run.seen.count(abi::EventType::Error), 0u);
    QCOMPARE(run.seen.count(abi::EventType::Message), 0u);
}

void ScriptRunTest::cancelBeforeTheFirstEvent()
{
    RunFixture fixture;
    StartedRun run(fixture.run("hello", "debug/echo"));
    run->cancel();
    QVERIFY(run.runToEnd());
    QCOMPARE(run.seen.types(), std::string("start done"));
    QCOMPARE(run.seen.doneStatus(), std::string("cancelled"));
}

void ScriptRunTest::cancelFromWithinAReceiver()
{
    RunFixture fixture;
    std::unique_ptr<models::ModelRun> made = fixture.run("repeat 1000 x", "debug/script");
    models::ModelRun *raw = made.get();
    QObject::connect(raw, &models::ModelRun::eventReady, raw, [raw](const abi::Event &event) {
        if (event.type == abi::EventType::Delta && event.offset == 9)
            raw->cancel();
    });
    StartedRun run(std::move(made));
    QVERIFY(run.runToEnd());
    QVERIFY(run.seen.isWellFormed());
    QCOMPARE(run.seen.count(abi::EventType::Delta), 10u);
    QCOMPARE(run.seen.doneStatus(), std::string("cancelled"));
}

void ScriptRunTest::waitDoesNotHoldUpAnotherRun()
{
    RunFixture fixture;
    StartedRun waiting(fixture.run("wait 300\nsay late", "debug/script"));
    StartedRun quick(fixture.run("hello", "debug/echo"));
    QVERIFY(quick.runToEnd());
    QVERIFY(!waiting.seen.isFinished());
    QVERIFY(waiting.runToEnd());
    QCOMPARE(waiting.seen.deltas(), std::string("late"));
}

void ScriptRunTest::twentyRunsTakeTurns()
{
    RunFixture fixture;
    std::vector<std::unique_ptr<StartedRun>> runs;
    for (int i = 0; i < 20; ++i)
        runs.push_back(std::make_unique<StartedRun>(fixture.run("repeat 4000 x", "debug/script")));
    QVERIFY(runs.front()->runToEnd());
    for (auto &run : runs) {
        // Nobody is far behind when the first one ends.
        QVERIFY(run->seen.count(abi::EventType::Delta) > 3'000);
        QVERIFY(run->runToEnd());
        QVERIFY(run->seen.isWellFormed());
    }
}

QTEST_GUILESS_MAIN(ScriptRunTest)
#include "script_run_test.moc"
