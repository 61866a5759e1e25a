#include "daemon/core/instance_lock.h"
#include "tests/common/test_strings.h"
#include "tests/support/temp_dir.h"

#include <QTest>

#include <csignal>
#include <optional>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace cortexfs;

class InstanceLockTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theHolderIsNamed();
    void releasedWithTheObject();
    void releasedWhenTheHolderIsKilled();
    void anotherDirectoryIsAnotherLock();
    void whatAnotherLeftInTheFileDoesNotMatter_data();
    void whatAnotherLeftInTheFileDoesNotMatter();
    void places_data();
    void places();
};

void InstanceLockTest::theHolderIsNamed()
{
    const test::TempDir dir;
    const Result<InstanceLock> first = InstanceLock::acquire(dir.path("lock"));
    QVERIFY(first);
    QCOMPARE(dir.read("lock"), std::to_string(::getpid()) + "\n");
    const Result<InstanceLock> second = InstanceLock::acquire(dir.path("lock"));
    QVERIFY(!second);
    QCOMPARE(second.error().number(), EBUSY);
    QVERIFY2(second.error().text().find("pid " + std::to_string(::getpid())) != std::string::npos,
             second.error().text().c_str());
    QVERIFY(second.error().text().find(dir.path("lock")) != std::string::npos);
    QCOMPARE(dir.read("lock"), std::to_string(::getpid()) + "\n"); // the loser leaves it alone
    struct stat info = {};
    QCOMPARE(::stat(dir.path("lock").c_str(), &info), 0);
    QCOMPARE(info.st_mode & 0777, mode_t(0600));
}

void InstanceLockTest::releasedWithTheObject()
{
    const test::TempDir dir;
    {
        std::optional<InstanceLock> kept;
        {
            Result<InstanceLock> lock = InstanceLock::acquire(dir.path("lock"));
            QVERIFY(lock);
            kept.emplace(std::move(*lock));
        }
        QVERIFY(!InstanceLock::acquire(dir.path("lock"))); // moved, not released
    }
    QVERIFY(InstanceLock::acquire(dir.path("lock")));
}

void InstanceLockTest::releasedWhenTheHolderIsKilled()
{
    const test::TempDir dir;
    const std::string path = dir.path("lock");
    int ready[2] = {};
    QCOMPARE(::pipe(ready), 0);
    const pid_t child = ::fork();
    QVERIFY(child >= 0);
    if (child == 0) {
        const Result<InstanceLock> lock = InstanceLock::acquire(path);
        if (!lock || ::write(ready[1], "r", 1) != 1)
            ::_exit(1);
        for (;;)
            ::pause();
    }
    ::close(ready[1]);
    char byte = 0;
    QCOMPARE(::read(ready[0], &byte, 1), ssize_t(1));
    ::close(ready[0]);
    const Result<InstanceLock> refused = InstanceLock::acquire(path);
    QVERIFY(!refused);
    QVERIFY2(refused.error().text().find("pid " + std::to_string(child)) != std::string::npos,
             refused.error().text().c_str());
    ::kill(child, SIGKILL);
    QCOMPARE(::waitpid(child, nullptr, 0), child);
    const Result<InstanceLock> lock = InstanceLock::acquire(path);
    QVERIFY(lock);
    QCOMPARE(dir.read("lock"), std::to_string(::getpid()) + "\n"); // shorter or longer, the old pid is gone
}

void InstanceLockTest::anotherDirectoryIsAnotherLock()
{
    const test::TempDir a;
    const test::TempDir b;
    const Result<InstanceLock> first = InstanceLock::acquire(a.path("lock"));
    const Result<InstanceLock> second = InstanceLock::acquire(b.path("lock"));
    QVERIFY(first && second);
}

void InstanceLockTest::whatAnotherLeftInTheFileDoesNotMatter_data()
{
    QTest::addColumn<std::string>("content");
    QTest::newRow("nothing") << std::string();
    QTest::newRow("a dead pid") << std::string("999999999\n");
    QTest::newRow("no number") << std::string("hello world, this is a long text that is no pid\n");
    QTest::newRow("binary") << std::string("\0\xff\0", 3);
}

void InstanceLockTest::whatAnotherLeftInTheFileDoesNotMatter()
{
    QFETCH(std::string, content);
    const test::TempDir dir;
    dir.write("lock", content);
    const Result<InstanceLock> lock = InstanceLock::acquire(dir.path("lock"));
    QVERIFY(lock);
    QCOMPARE(dir.read("lock"), std::to_string(::getpid()) + "\n");
    dir.write("lock", content); // somebody scribbles into it: the error stays readable
    const Result<InstanceLock> refused = InstanceLock::acquire(dir.path("lock"));
    QVERIFY(!refused);
    QCOMPARE(refused.error().number(), EBUSY);
    QVERIFY(refused.error().text().size() < dir.path().size() + 150);
}

void InstanceLockTest::places_data()
{
    QTest::addColumn<std::string>("kind");
    QTest::addColumn<int>("number");
    QTest::newRow("a missing directory") << std::string("missing") << ENOENT;
    QTest::newRow("a link") << std::string("link") << ELOOP;
    QTest::newRow("a directory") << std::string("directory") << EISDIR;
}

void InstanceLockTest::places()
{
    QFETCH(std::string, kind);
    QFETCH(int, number);
    const test::TempDir dir;
    std::string path = dir.path("lock");
    if (kind == "missing")
        path = dir.path("gone/lock");
    if (kind == "link") {
        dir.write("victim", "precious");
        QCOMPARE(::symlink("victim", path.c_str()), 0);
    }
    if (kind == "directory")
        QCOMPARE(::mkdir(path.c_str(), 0700), 0);
    const Result<InstanceLock> lock = InstanceLock::acquire(path);
    QVERIFY(!lock);
    QCOMPARE(lock.error().number(), number);
    if (kind == "link")
        QCOMPARE(dir.read("victim"), std::string("precious"));
}

QTEST_GUILESS_MAIN(InstanceLockTest)
#include "instance_lock_test.moc"
