// How a mount begins and ends: clean stops with somebody inside, killed daemons, mounts of others.
#include "tests/fs/fs_fixture.h"

#include "common/base/files.h"
#include "daemon/fs/bridge/mount_table.h"

#include <QProcess>
#include <QtTest>

#include <atomic>
#include <thread>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace cortexfs;
using namespace cortexfs::fstest;

class LifecycleTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void stopsWithAnOpenFileAndSomebodyInside();
    void stopWithAForkedChildThatHoldsTheDevice();
    void stopEndsABlockedWriter();
    void stopIsIdempotentAndForgetsLateAnswers();
    void stopsWhileRequestsComeIn();
    void externalUnmountIsReported();
    void killedDaemonIsRecovered();
    void liveMountIsLeftAlone();
    void hungMountIsLeftAlone();
    void otherFileSystemIsLeftAlone();
    void freeMountPointNeedsNothing();
    void badPlacesAreRefused();
    void twoMountsSideBySide();
    void idleThreadsSleep();
    void manySnapshotsWhileReading();
};

namespace {

QProcess *serve(QObject *parent, const std::string &directory)
{
    auto *process = new QProcess(parent);
    process->start(QStringLiteral(CORTEXFS_BIN_DIR "/fs_serve"), {QString::fromStdString(directory)});
    if (!process->waitForStarted() || !process->waitForReadyRead(20'000))
        qWarning("fs_serve: %s", process->readAllStandardError().constData());
    return process;
}

} // namespace

void LifecycleTest::stopsWithAnOpenFileAndSomebodyInside()
{
    Mounted mounted;
    QVERIFY2(mounted.session, qPrintable(mounted.problem));
    const std::string home = mounted.path("home/" + std::to_string(::geteuid()));
    const int file = ::open((home + "/f").c_str(), O_RDWR | O_CREAT, 0600);
    QVERIFY(file >= 0);
    const int control = ::open(mounted.path("model/debug/echo.d/default").c_str(), O_WRONLY | O_TRUNC);
    QVERIFY(control >= 0);
    const pid_t inside = ::fork();
    if (inside == 0) {
        if (::chdir(home.c_str()) != 0)
            ::_exit(1);
        // Another program: a mere fork would hold our /dev/fuse open and keep the connection alive.
        ::execlp("sleep", "sleep", "60", nullptr);
        ::_exit(1);
    }
    QTRY_COMPARE(QFile::symLinkTarget(QStringLiteral("/proc/%1/cwd").arg(inside)), QString::fromStdString(home));
    QElapsedTimer timer;
    timer.start();
    mounted.session->stop();
    QVERIFY(timer.elapsed() < 5'000);
    QVERIFY(!mounted.session->isMounted());
    QVERIFY(!fs::mountedAt(mounted.places.mount));
    QCOMPARE(errnoOf(int(::write(file, "x", 1))), ENOTCONN);
    ::close(file);
    ::close(control);
    ::kill(inside, SIGKILL);
    ::waitpid(inside, nullptr, 0);
}

void LifecycleTest::stopWithAForkedChildThatHoldsTheDevice()
{
    if (::geteuid() != 0)
        return; // a user can abort a connection only where fusectl is mounted
    Mounted mounted;
    QVERIFY2(mounted.session, qPrintable(mounted.problem));
    const int file = ::open(mounted.path("home/0/f").c_str(), O_RDWR | O_CREAT, 0600);
    QVERIFY(file >= 0);
    const pid_t holder = ::fork(); // with a copy of every descriptor
    if (holder == 0) {
        ::pause();
        ::_exit(0);
    }
    mounted.session->stop();
    QCOMPARE(errnoOf(int(::write(file, "x", 1))), ENOTCONN);
    ::close(file);
    ::kill(holder, SIGKILL);
    ::waitpid(holder, nullptr, 0);
}

void LifecycleTest::stopEndsABlockedWriter()
{
    Mounted mounted;
    QVERIFY2(mounted.session, qPrintable(mounted.problem));
    mounted.handler.hold(true);
    std::atomic<int> outcome{-1};
    std::thread writer([&] { outcome = overwrite(mounted.path("model/debug/echo.d/effort"), "high\n", O_TRUNC); });
    QTRY_VERIFY(!mounted.handler.seen().empty());
    QElapsedTimer timer;
    timer.start();
    mounted.session->stop();
    writer.join();
    QVERIFY(timer.elapsed() < 2'000);
    QCOMPARE(outcome.load(), EIO);
}

void LifecycleTest::stopIsIdempotentAndForgetsLateAnswers()
{
    Mounted mounted;
    QVERIFY2(mounted.session, qPrintable(mounted.problem));
    mounted.handler.hold(true);
    std::thread writer([&] { overwrite(mounted.path("model/debug/echo.d/effort"), "high\n", O_TRUNC); });
    QTRY_VERIFY(!mounted.handler.seen().empty());
    mounted.session->stop();
    writer.join();
    mounted.session->stop();
    mounted.publish(changed(mounted.cell.load(), "debug/echo", [](models::ModelEntry &entry) { entry.limit = 3; }));
    mounted.session->entryChanged("model/debug/script.sock");
    QVERIFY(mounted.session->requestCount() > 0);
    mounted.handler.attach(nullptr);
    mounted.session.reset();
    mounted.handler.hold(false); // the answer comes to nobody
}

void LifecycleTest::stopsWhileRequestsComeIn()
{
    for (int round = 0; round < 10; ++round) {
        Mounted mounted(50);
        QVERIFY2(mounted.session, qPrintable(mounted.problem));
        std::atomic<bool> isOver{false};
        std::vector<std::thread> clients;
        for (int i = 0; i < 3; ++i) {
            clients.emplace_back([&, i] {
                while (!isOver) {
                    if (i == 0)
                        contentOf(mounted.path("model/local/m1.d/effort"));
                    else if (i == 1)
                        overwrite(mounted.path("model/local/m2.d/effort"), "high\n", O_TRUNC);
                    else
                        overwrite(mounted.path("home/" + std::to_string(::geteuid()) + "/f"), "x", O_CREAT);
                }
            });
        }
        const std::uint64_t before = mounted.session->requestCount();
        QTRY_VERIFY(mounted.session->requestCount() > before + 200);
        mounted.session->stop();
        isOver = true;
        for (std::thread &client : clients)
            client.join();
        QVERIFY(!fs::mountedAt(mounted.places.mount));
    }
}

void LifecycleTest::externalUnmountIsReported()
{
    std::atomic<int> reported{0};
    Mounted mounted(2, [&](const Error &error) { reported = error.number(); });
    QVERIFY2(mounted.session, qPrintable(mounted.problem));
    const std::string how = ::geteuid() == 0 ? "umount " : "fusermount3 -u ";
    QCOMPARE(shell(how + mounted.places.mount).exitCode, 0);
    QTRY_COMPARE(reported.load(), ENODEV);
    QVERIFY(!mounted.session->isMounted());
    mounted.session->stop();
}

void LifecycleTest::killedDaemonIsRecovered()
{
    const TempDir directory;
    QObject scope;
    QProcess *first = serve(&scope, directory.path());
    const std::string mount = directory.path() + "/mnt";
    QVERIFY(contentOf(mount + "/status").starts_with("state=ready"));
    const int kept = ::open((mount + "/status").c_str(), O_RDONLY);
    ::kill(static_cast<pid_t>(first->processId()), SIGKILL);
    QVERIFY(first->waitForFinished());
    struct stat info = {};
    QCOMPARE(errnoOf(::stat(mount.c_str(), &info)), ENOTCONN);
    const Result<void> recovered = fs::recoverStaleMount(mount);
    QVERIFY2(recovered, recovered ? "" : recovered.error().text().c_str());
    QCOMPARE(::stat(mount.c_str(), &info), 0);
    QVERIFY(!fs::mountedAt(mount));
    ::close(kept);
    // And a new one comes up by itself over a dead one.
    QProcess *second = serve(&scope, directory.path());
    ::kill(static_cast<pid_t>(second->processId()), SIGKILL);
    QVERIFY(second->waitForFinished());
    QProcess *third = serve(&scope, directory.path());
    QVERIFY(contentOf(mount + "/status").starts_with("state=ready"));
    third->closeWriteChannel();
    QVERIFY(third->waitForFinished(10'000));
    QCOMPARE(third->exitCode(), 0);
    QVERIFY(!fs::mountedAt(mount));
}

void LifecycleTest::liveMountIsLeftAlone()
{
    Mounted mounted;
    QVERIFY2(mounted.session, qPrintable(mounted.problem));
    const Result<void> refused = fs::recoverStaleMount(mounted.places.mount);
    QVERIFY(!refused);
    QCOMPARE(refused.error().number(), EBUSY);
    QVERIFY(refused.error().message().find("running") != std::string::npos);
    QVERIFY(mounted.session->isMounted());
    QVERIFY(contentOf(mounted.path("status")).starts_with("state=ready"));

    fs::FsOptions options;
    options.places = mounted.places;
    const auto second = fs::FsSession::mount(std::move(options), mounted.cell, mounted.handler);
    QVERIFY(!second);
    QCOMPARE(second.error().number(), EBUSY);
}

void LifecycleTest::hungMountIsLeftAlone()
{
    const TempDir directory;
    QObject scope;
    QProcess *server = serve(&scope, directory.path());
    const auto pid = static_cast<pid_t>(server->processId());
    ::kill(pid, SIGSTOP);
    QElapsedTimer timer;
    timer.start();
    const Result<void> refused = fs::recoverStaleMount(directory.path() + "/mnt");
    QVERIFY(timer.elapsed() < 10'000);
    ::kill(pid, SIGCONT);
    QVERIFY(!refused);
    QCOMPARE(refused.error().number(), EBUSY);
    server->closeWriteChannel();
    QVERIFY(server->waitForFinished(10'000));
}

void LifecycleTest::otherFileSystemIsLeftAlone()
{
    if (::geteuid() != 0)
        return; // only root can mount another one here
    const TempDir directory;
    const Places places = placesIn(directory.path());
    QVERIFY(files::makeDirectories(places.mount, 0755).isOk());
    QCOMPARE(::mount("none", places.mount.c_str(), "tmpfs", 0, nullptr), 0);
    const Result<void> refused = fs::recoverStaleMount(places.mount);
    QVERIFY(!refused);
    QVERIFY(refused.error().message().find("tmpfs") != std::string::npos);
    QVERIFY(fs::mountedAt(places.mount));
    ::umount(places.mount.c_str());
}

void LifecycleTest::freeMountPointNeedsNothing()
{
    const TempDir directory;
    QVERIFY(fs::recoverStaleMount(directory.path()).isOk());
    QVERIFY(fs::recoverStaleMount(directory.path() + "/not there").isOk());
    QVERIFY(fs::recoverStaleMount("/").error().number() == EBUSY);
}

void LifecycleTest::badPlacesAreRefused()
{
    const TempDir directory;
    Places places = placesIn(directory.path());
    SnapshotCell<RuntimeSnapshot> cell(snapshot(places.mount));
    FakeHandler handler(cell, places);
    const auto attempt = [&] {
        fs::FsOptions options;
        options.places = places;
        const auto session = fs::FsSession::mount(std::move(options), cell, handler);
        return session ? 0 : session.error().number();
    };
    places.state = places.mount + "/state";
    QCOMPARE(attempt(), EINVAL);
    places = placesIn(directory.path());
    put(directory.path() + "/file", "");
    places.mount = directory.path() + "/file";
    QVERIFY(attempt() != 0);
    places = placesIn(directory.path());
    QVERIFY(files::makeDirectories(places.installedTree(), 0755).isOk());
    put(places.installedTree() + "/home", "");
    QCOMPARE(attempt(), ENOTDIR);
    QVERIFY(!fs::mountedAt(places.mount));
}

void LifecycleTest::twoMountsSideBySide()
{
    Mounted one;
    Mounted two(5);
    QVERIFY(one.session && two.session);
    QVERIFY(contentOf(one.path("status")) != contentOf(two.path("status")));
    two.session->stop();
    QVERIFY(contentOf(one.path("status")).starts_with("state=ready"));
}

void LifecycleTest::idleThreadsSleep()
{
    Mounted mounted;
    QVERIFY2(mounted.session, qPrintable(mounted.problem));
    contentOf(mounted.path("status"));
    const auto switches = [] {
        // Of the thread that answers.
        qint64 total = -1;
        const QDir tasks(QStringLiteral("/proc/self/task"));
        for (const QString &task : tasks.entryList(QDir::Dirs | QDir::NoDotAndDotDot)) {
            QFile name(tasks.filePath(task + QStringLiteral("/comm")));
            if (!name.open(QIODevice::ReadOnly) || name.readAll().trimmed() != "cortexfs-fuse")
                continue;
            QFile status(tasks.filePath(task + QStringLiteral("/status")));
            if (!status.open(QIODevice::ReadOnly))
                continue;
            for (const QByteArray &line : status.readAll().split('\n')) {
                if (line.startsWith("voluntary_ctxt_switches:"))
                    total = line.mid(24).trimmed().toLongLong();
            }
        }
        return total;
    };
    qint64 settled = switches();
    QVERIFY(settled >= 0);
    // The release of what was read may still be on its way: half a second without a switch begins the measurement. Then
    // nothing at all for two seconds, because no thread of the session has a timer.
    QElapsedTimer still;
    still.start();
    QTRY_VERIFY([&] {
        if (const qint64 before = std::exchange(settled, switches()); before != settled)
            still.restart();
        return still.elapsed() > 500;
    }());
    const QDeadlineTimer quiet(2'000);
    while (!quiet.hasExpired())
        QTest::qWait(100);
    QCOMPARE(switches(), settled);
}

void LifecycleTest::manySnapshotsWhileReading()
{
    Mounted mounted(300);
    QVERIFY2(mounted.session, qPrintable(mounted.problem));
    std::atomic<bool> isOver{false};
    std::atomic<int> wrong{0};
    std::thread reader([&] {
        while (!isOver) {
            if (shell("ls -l " + mounted.path("model/local") + " > /dev/null").exitCode == 128)
                ++wrong;
            const std::string id = contentOf(mounted.path("model/local/m3.d/id"));
            if (id != "local/m3\n")
                ++wrong;
        }
    });
    for (int i = 0; i < 60; ++i)
        mounted.publish(snapshot(mounted.places.mount, i % 2 ? 300 : 10));
    isOver = true;
    reader.join();
    QCOMPARE(wrong.load(), 0);
}

QTEST_GUILESS_MAIN(LifecycleTest)
#include "lifecycle_test.moc"
