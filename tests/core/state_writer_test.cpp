#include "daemon/core/state_writer.h"
#include "tests/common/test_strings.h"

#include <QTest>
#include <QThread>

#include <atomic>
#include <memory>
#include <mutex>

using namespace cortexfs;

class StateWriterTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void jobsAndOutcomesKeepTheirOrder();
    void jobsRunElsewhereAndOutcomesHere();
    void outcomesArriveAsTheyAre();
    void jobsGivenFromAnOutcome();
    void theDestructorFinishesTheJobs();
};

void StateWriterTest::jobsAndOutcomesKeepTheirOrder()
{
    StateWriter writer;
    std::mutex mutex;
    std::string jobs;
    std::string outcomes;
    std::string expected;
    for (int i = 0; i < 200; ++i) {
        const std::string word = std::to_string(i) + " ";
        expected += word;
        writer.run(
            [&, word, i]() -> Result<void> {
                if (i % 7 == 0)
                    QThread::usleep(200); // a slow one does not let the next pass
                const std::lock_guard lock(mutex);
                jobs += word;
                return {};
            },
            [&, word](const Result<void> &) { outcomes += word; });
    }
    QTRY_COMPARE(outcomes, expected);
    QCOMPARE(jobs, expected);
}

void StateWriterTest::jobsRunElsewhereAndOutcomesHere()
{
    StateWriter writer;
    std::atomic<QThread *> jobThread{nullptr};
    QThread *doneThread = nullptr;
    writer.run(
        [&]() -> Result<void> {
            jobThread = QThread::currentThread();
            return {};
        },
        [&](const Result<void> &) { doneThread = QThread::currentThread(); });
    QVERIFY(!doneThread);
    QTRY_COMPARE(doneThread, QThread::currentThread());
    QVERIFY(jobThread.load() && jobThread.load() != doneThread);
}

void StateWriterTest::outcomesArriveAsTheyAre()
{
    StateWriter writer;
    std::string seen;
    writer.run([]() -> Result<void> { return errors::fromErrno(ENOSPC, "state"); },
               [&](const Result<void> &outcome) { seen += outcome ? "ok " : outcome.error().text() + " "; });
    writer.run([]() -> Result<void> { return {}; },
               [&](const Result<void> &outcome) { seen += outcome ? "ok" : outcome.error().text(); });
    QTRY_COMPARE(seen, std::string("state: No space left on device ok"));
}

void StateWriterTest::jobsGivenFromAnOutcome()
{
    StateWriter writer;
    int done = 0;
    std::function<void(Result<void>)> again = [&](const Result<void> &) {
        if (++done < 5)
            writer.run([]() -> Result<void> { return {}; }, again);
    };
    writer.run([]() -> Result<void> { return {}; }, again);
    QTRY_COMPARE(done, 5);
}

void StateWriterTest::theDestructorFinishesTheJobs()
{
    std::atomic<int> jobs{0};
    int outcomes = 0;
    {
        StateWriter writer;
        for (int i = 0; i < 50; ++i) {
            writer.run(
                [&]() -> Result<void> {
                    QThread::usleep(100);
                    ++jobs;
                    return {};
                },
                [&](const Result<void> &) { ++outcomes; });
        }
    }
    QCOMPARE(jobs.load(), 50); // what was accepted is on the disk
    QCoreApplication::processEvents();
    QCOMPARE(outcomes, 0); // and nobody is called who may be gone
}

QTEST_GUILESS_MAIN(StateWriterTest)
#include "state_writer_test.moc"
