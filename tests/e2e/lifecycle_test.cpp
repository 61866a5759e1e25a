// Start, ready line, lock, signals, stale mounts, two daemons side by side.
#include "tests/e2e/daemon_process.h"

#include <QElapsedTimer>
#include <QTest>

#include <csignal>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace cortexfs;
using namespace cortexfs::e2e;

namespace {
bool isMounted(const QString &path)
{
    return slurp(QStringLiteral("/proc/self/mounts")).value_or("").find(" " + path.toStdString() + " ")
           != std::string::npos;
}
} // namespace

class LifecycleTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void readyLineNamesWhatIsThere()
    {
        DaemonProcess daemon;
        QVERIFY2(daemon.start(), daemon.log().c_str());
        const Result<json::Document> ready = json::parse(daemon.readyLine());
        QVERIFY(ready);
        QCOMPARE(ready->root()["type"].stringOr(""), std::string_view("ready"));
        QCOMPARE(ready->root()["version"].stringOr(""), std::string_view("0.1.7"));
        QCOMPARE(ready->root()["mount"].stringOr(""), std::string_view(daemon.mount().toStdString()));
        // Ready means: it answers now, without a retry.
        QVERIFY(slurp(daemon.path("status")).value_or("").starts_with("state=ready\n"));
        struct stat info = {};
        QCOMPARE(::stat(std::string(ready->root()["control"].stringOr("")).c_str(), &info), 0);
        QVERIFY(S_ISSOCK(info.st_mode));
    }

    void terminationIsCleanWithAnOpenFileAndAWorkingDirectoryInside()
    {
        DaemonProcess daemon;
        QVERIFY2(daemon.start(), daemon.log().c_str());
        const int open = ::open(daemon.path("status").toLocal8Bit().constData(), O_RDONLY);
        QVERIFY(open >= 0);
        QProcess inside;
        inside.setWorkingDirectory(daemon.path("model"));
        inside.start(QStringLiteral("/bin/sleep"), {QStringLiteral("30")});
        QVERIFY(inside.waitForStarted());
        QElapsedTimer timer;
        timer.start();
        QCOMPARE(daemon.stop(), 0);
        QVERIFY2(timer.elapsed() < 5'000, "the documented bound of a stop");
        QVERIFY(!isMounted(daemon.mount()));
        QVERIFY(!QFile::exists(daemon.runtime() + QStringLiteral("/control.sock")));
        ::close(open);
        inside.kill();
        inside.waitForFinished();
    }

    void terminationEndsALiveRun()
    {
        DaemonProcess daemon;
        QVERIFY2(daemon.start(), daemon.log().c_str());
        QProcess client;
        client.start(daemon.path("model/debug/script"), {QStringLiteral("say one\nwait 60000\nsay two")});
        QVERIFY(client.waitForReadyRead(10'000));
        QCOMPARE(daemon.stop(), 0);
        QVERIFY(client.waitForFinished(5'000));
        const Outcome outcome{client.exitCode(), client.readAllStandardOutput().toStdString(), {}};
        QVERIFY2(outcome.types().ends_with("done"), outcome.out.c_str());
        QVERIFY(outcome.exitCode != 0);
    }

    void killedDaemonIsReplacedByTheNextOne()
    {
        DaemonProcess daemon;
        QVERIFY2(daemon.start(), daemon.log().c_str());
        daemon.kill();
        QVERIFY(isMounted(daemon.mount())); // the dead mount a kill leaves
        QVERIFY2(daemon.start(), daemon.log().c_str());
        QVERIFY(slurp(daemon.path("status")).value_or("").starts_with("state=ready\n"));
        QCOMPARE(daemon.stop(), 0);
        QVERIFY(!isMounted(daemon.mount()));
    }

    void secondDaemonOnTheSameStateIsRefusedAndNamesTheHolder()
    {
        DaemonProcess daemon;
        QVERIFY2(daemon.start(), daemon.log().c_str());
        const Outcome second = run(
            binary("cortexd"), {QStringLiteral("--mount"), daemon.base() + QStringLiteral("/other"),
                                QStringLiteral("--config"), daemon.config(), QStringLiteral("--state"), daemon.state(),
                                QStringLiteral("--runtime"), daemon.base() + QStringLiteral("/run2")});
        QCOMPARE(second.exitCode, 69);
        QVERIFY2(second.err.find(std::to_string(daemon.pid())) != std::string::npos, second.err.c_str());
        QVERIFY(slurp(daemon.path("status")).has_value());
    }

    void twoDaemonsRunSideBySide()
    {
        DaemonProcess first;
        DaemonProcess second;
        QVERIFY2(first.start(), first.log().c_str());
        QVERIFY2(second.start(), second.log().c_str());
        QCOMPARE(run(first.path("model/debug/echo"), {QStringLiteral("one")}).deltaText(), std::string("one"));
        QCOMPARE(run(second.path("model/debug/echo"), {QStringLiteral("two")}).deltaText(), std::string("two"));
        QCOMPARE(first.stop(), 0);
        QCOMPARE(run(second.path("model/debug/echo"), {QStringLiteral("two")}).exitCode, 0);
    }

    void foreignMountIsNotTouched()
    {
        DaemonProcess first;
        QVERIFY2(first.start(), first.log().c_str());
        DaemonProcess other;
        const Outcome refused = run(binary("cortexd"),
                                    {QStringLiteral("--mount"), first.mount(), QStringLiteral("--config"),
                                     other.config(), QStringLiteral("--state"), other.state(),
                                     QStringLiteral("--runtime"), other.runtime()});
        QVERIFY(refused.exitCode > 0);
        QVERIFY2(!refused.err.empty(), "says why");
        QVERIFY(slurp(first.path("status")).value_or("").starts_with("state=ready\n"));
    }

    void externalUnmountStopsTheDaemon()
    {
        DaemonProcess daemon;
        QVERIFY2(daemon.start(), daemon.log().c_str());
        QCOMPARE(run(QStringLiteral("umount"), {daemon.mount()}).exitCode, 0);
        QVERIFY(waitFor([&] { return !daemon.isRunning(); }));
        QCOMPARE(daemon.stop(), 69);
    }

    void hangupReadsTheConfigurationAgain()
    {
        DaemonProcess daemon;
        QVERIFY2(daemon.start(), daemon.log().c_str());
        daemon.writeProvider(QStringLiteral("a.json"),
                             "{\"name\":\"local\",\"base_url\":\"http://127.0.0.1:9/v1\",\"models\":[\"m1\"]}");
        QVERIFY(!QFile::exists(daemon.path("model/local/m1")));
        daemon.sendSignal(SIGHUP);
        QVERIFY(waitFor([&] { return QFile::exists(daemon.path("model/local/m1")); }));
    }

    void badProviderFileDoesNotStopTheStart()
    {
        DaemonProcess daemon;
        daemon.writeProvider(QStringLiteral("bad.json"),
                             "{\"base_url\":\"http://127.0.0.1:1/v1\",\"api_key\":\"CANARY-123\"}");
        daemon.writeProvider(QStringLiteral("good.json"),
                             "{\"name\":\"local\",\"base_url\":\"http://127.0.0.1:9/v1\",\"models\":[\"m1\"]}");
        QVERIFY2(daemon.start(), daemon.log().c_str());
        QVERIFY(QFile::exists(daemon.path("model/local/m1")));
        const Outcome status = daemon.ctx({QStringLiteral("status"), QStringLiteral("--json")});
        QVERIFY2(status.out.find("bad.json") != std::string::npos, status.out.c_str());
        QVERIFY(status.out.find("CANARY") == std::string::npos);
        QVERIFY(daemon.log().find("CANARY") == std::string::npos);
    }

    void badDaemonSettingsAreReportedAndDefaultsHold()
    {
        DaemonProcess daemon;
        QFile file(daemon.config() + QStringLiteral("/cortexd.json"));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("{\"allow_other\": \"yes\"");
        file.close();
        QVERIFY2(daemon.start(), daemon.log().c_str());
        QVERIFY(daemon.ctx({QStringLiteral("doctor")}).out.find("cortexd.json") != std::string::npos);
    }

    void wrongArgumentsAreUsageErrors()
    {
        QCOMPARE(run(binary("cortexd"), {QStringLiteral("--no-such")}).exitCode, 2);
        QCOMPARE(run(binary("cortexd"), {QStringLiteral("--mount")}).exitCode, 2);
        QCOMPARE(run(binary("cortexd"), {QStringLiteral("--help")}).exitCode, 0);
    }

    void withoutFuseTheControlSocketServes()
    {
        DaemonProcess daemon;
        QVERIFY2(daemon.start({QStringLiteral("--no-fuse")}), daemon.log().c_str());
        QVERIFY(!isMounted(daemon.mount()));
        const Outcome echo = daemon.ctx(
            {QStringLiteral("exec"), QStringLiteral("model/debug/echo"), QStringLiteral("hi")});
        QCOMPARE(echo.deltaText(), std::string("hi"));
        QCOMPARE(echo.exitCode, 0);
    }
};

QTEST_GUILESS_MAIN(LifecycleTest)
#include "lifecycle_test.moc"
