// `ctx doctor`, with and without a daemon.
#include "tests/ctx/ctx_run.h"

#include <QTest>

#include <algorithm>

#include <sys/stat.h>

using namespace cortexfs;
using namespace cortexfs::ctx::test;

namespace {

bool has(const std::string &text, std::string_view part) { return text.find(part) != std::string::npos; }

} // namespace

#define COMPARE_TEXT(actual, expected) QCOMPARE(QByteArray::fromStdString(actual), QByteArray(expected))

class DoctorTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void doctorChecksBothSides()
    {
        World world;
        world.makeTree();
        world.write("model/debug/echo", "#!" + programPath() + "\n", 0555);
        world.daemon().reply("status", "\"state\":\"ready\",\"version\":\"9.9.9\",\"pid\":1,\"fuse\":true,\"mount\":\""
                                           + world.root() + "\"");
        world.daemon().reply(
            "doctor",
            R"("checks":[{"name":"provider far","status":"warning","message":"no key","hint":"ctx provider key set far"}])");
        const Outcome outcome = world.run({"doctor"});
        QVERIFY(has(outcome.out, "ok       cortexd"));
        QVERIFY(has(outcome.out, "cortexd is 9.9.9, ctx is " CORTEXFS_VERSION));
        QVERIFY(has(outcome.out, "ok       tree"));
        QVERIFY(has(outcome.out, "ok       object runner"));
        QVERIFY(has(outcome.out, "bubblewrap"));
        QVERIFY(has(outcome.out, "/dev/fuse"));
        QVERIFY(has(outcome.out, "warning  provider far"));
        QVERIFY(has(outcome.out, "-> ctx provider key set far\n"));
    }

    void doctorFailsOnErrors()
    {
        World world;
        world.makeTree();
        world.daemon().reply("status", "\"state\":\"ready\",\"version\":\"" CORTEXFS_VERSION "\",\"fuse\":true");
        world.daemon().reply("doctor",
                             R"("checks":[{"name":"state","status":"error","message":"disk full","hint":""}])");
        const Outcome outcome = world.run({"doctor"});
        QCOMPARE(outcome.exitCode, 1);
        QVERIFY(has(outcome.out, "error    state"));
        QVERIFY(!has(outcome.out, "ctx is " CORTEXFS_VERSION));
    }

    void doctorWorksWithoutADaemon()
    {
        World world;
        const Outcome outcome = world.run({"doctor"});
        QCOMPARE(outcome.exitCode, 69);
        QVERIFY(has(outcome.out, "error    cortexd        cortexd is not running"));
        QVERIFY(has(outcome.out, "error    tree           nothing is mounted at " + world.root()));
        QVERIFY(has(outcome.out, "-> start it with: "));
        QCOMPARE(outcome.err, std::string());
    }
};

QTEST_GUILESS_MAIN(DoctorTest)
#include "doctor_test.moc"
