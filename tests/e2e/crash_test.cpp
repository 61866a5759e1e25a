// kill -9 in the middle of writes: every file is old or new afterwards, and the next start works.
#include "tests/e2e/daemon_process.h"

#include <QDir>
#include <QScopeGuard>
#include <QTest>

#include <atomic>
#include <thread>

#include <unistd.h>

using namespace cortexfs;
using namespace cortexfs::e2e;

class CrashTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void controlsAreOldOrNewAfterAKill()
    {
        constexpr int kRounds = 12;
        DaemonProcess daemon;
        const QString name = QStringLiteral("model/debug/echo.d/default");
        for (int round = 0; round < kRounds; ++round) {
            QVERIFY2(daemon.start(), daemon.log().c_str());
            const QString path = daemon.path(name.toUtf8().constData());
            std::atomic<bool> stop = false;
            std::atomic<int> writes = 0;
            std::thread writer([&] {
                for (int i = 0; !stop; ++i) {
                    const std::string line = "key=" + std::string(i % 2 == 0 ? 40 : 4000, i % 2 == 0 ? 'a' : 'b')
                                             + "\n";
                    putText(path, line);
                    ++writes;
                }
            });
            // Another moment each round, without a clock: after so many writes.
            waitFor([&] { return writes > 3 + round; });
            daemon.kill();
            stop = true;
            writer.join();
            QVERIFY2(daemon.start(), daemon.log().c_str());
            const std::string text = slurp(path).value_or("(unreadable)");
            const bool isWhole = text.empty() || text == "key=" + std::string(40, 'a') + "\n"
                                 || text == "key=" + std::string(4000, 'b') + "\n";
            QVERIFY2(isWhole, text.substr(0, 200).c_str());
            QCOMPARE(daemon.ctx({QStringLiteral("status")}).exitCode, 0);
            daemon.kill();
        }
        // Nothing half-written is left behind.
        QVERIFY2(daemon.start(), daemon.log().c_str());
        const Outcome leftovers = shell(
            QStringLiteral("find '%1' -name '.cortexfs-tmp-*'").arg(daemon.installedTree()));
        QCOMPARE(leftovers.out, std::string());
    }

    void fullDiskKeepsTheOldControl()
    {
        if (::geteuid() != 0)
            QSKIP("needs root: mounts a small tmpfs");
        DaemonProcess daemon;
        QVERIFY(QDir().mkpath(daemon.state()));
        QCOMPARE(run(QStringLiteral("mount"), {QStringLiteral("-t"), QStringLiteral("tmpfs"), QStringLiteral("-o"),
                                               QStringLiteral("size=256k"), QStringLiteral("tmpfs"), daemon.state()})
                     .exitCode,
                 0);
        const auto unmount = qScopeGuard([&] {
            daemon.stop();
            run(QStringLiteral("umount"), {daemon.state()});
        });
        QVERIFY2(daemon.start(), daemon.log().c_str());
        const QString control = daemon.path("model/debug/echo.d/default");
        QCOMPARE(putText(control, "a=1\n"), 0);
        shell(QStringLiteral("dd if=/dev/zero of='%1/fill' bs=1k count=1024 2>/dev/null").arg(daemon.state()));
        QCOMPARE(putText(control, "a=" + std::string(30'000, 'x') + "\n"), ENOSPC);
        QCOMPARE(slurp(control).value_or(""), std::string("a=1\n"));
        QFile::remove(daemon.state() + QStringLiteral("/fill"));
        QCOMPARE(putText(control, "a=2\n"), 0);
    }
};

QTEST_GUILESS_MAIN(CrashTest)
#include "crash_test.moc"
