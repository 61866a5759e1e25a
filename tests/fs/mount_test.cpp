// The projected tree through the kernel.
#include "tests/fs/fs_fixture.h"

#include "common/base/files.h"

#include <QtTest>

#include <atomic>
#include <set>
#include <thread>

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

using namespace cortexfs;
using namespace cortexfs::fstest;

class MountTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void cleanup();
    void rootListing();
    void readAndExecute();
    void limitRefusesEverything_data();
    void limitRefusesEverything();
    void shellWrites_data();
    void shellWrites();
    void truncateAloneShowsTheOldText();
    void renameCommits();
    void aliasThroughLn();
    void routeFile();
    void foreignUidReadsAndCannotWrite();
    void placeholderRefusesConnections();
    void xattrCalls();
    void wholeTreeTools_data();
    void wholeTreeTools();
    void requestsAreCounted();
    void thousandModelsWithoutLookups();
    void newSnapshotIsSeenAtOnce();
    void readersNeverSeeHalfATextWhileItChanges();
    void lateAnswerIsTimedOut();
    void droppedAnswerIsEio();
    void toolControlsAreWritten();
    void memoryMap();

private:
    std::string path(const char *below) const { return m_mounted->path(below); }
    std::uint64_t requests() const { return m_mounted->session->requestCount(); }

    std::unique_ptr<Mounted> m_mounted;
};

void MountTest::init()
{
    m_mounted = std::make_unique<Mounted>();
    QVERIFY2(m_mounted->session, qPrintable(m_mounted->problem));
}

void MountTest::cleanup() { m_mounted.reset(); }

void MountTest::rootListing()
{
    const CommandResult listed = shell("ls -1U", path(""));
    QCOMPARE(listed.output, QStringLiteral("status\nbin\nmodel\nagent\ntool\nhome\nshared\n"));
    QCOMPARE(contentOf(path("status")).substr(0, 12), std::string("state=ready\n"));
    struct statvfs info = {};
    struct statvfs backing = {};
    QCOMPARE(::statvfs(path("model").c_str(), &info), 0);
    QCOMPARE(::statvfs(m_mounted->places.state.c_str(), &backing), 0);
    QCOMPARE(info.f_blocks, backing.f_blocks);
    QVERIFY(m_mounted->session->isMounted());
}

void MountTest::readAndExecute()
{
    const std::string text = contentOf(path("model/main"));
    QVERIFY(text.starts_with("#!/usr/bin/cortexfs-object-runner\n# cortexfs.object=model/debug/echo\n"));
    struct stat info = {};
    QCOMPARE(::stat(path("model/main").c_str(), &info), 0);
    QCOMPARE(std::size_t(info.st_size), text.size());
    QCOMPARE(::access(path("model/debug/echo").c_str(), X_OK), 0);
    QCOMPARE(errnoOf(::access(path("model/debug/echo.d/id").c_str(), X_OK)), EACCES);
}

void MountTest::limitRefusesEverything_data()
{
    QTest::addColumn<uint>("uid");
    QTest::newRow("the daemon's uid") << uint(::geteuid());
    if (::geteuid() == 0)
        QTest::newRow("another uid") << 12345U;
}

void MountTest::limitRefusesEverything()
{
    QFETCH(uint, uid);
    const std::string limit = path("model/debug/echo.d/limit");
    const std::string other = path("model/debug/echo.d/other");
    const auto as = [&](const std::function<int()> &body) { return uid == ::geteuid() ? body() : asUser(uid, body); };
    QCOMPARE(as([&] { return errnoOf(::open(limit.c_str(), O_WRONLY)); }), EROFS);
    QCOMPARE(as([&] { return errnoOf(::open(limit.c_str(), O_RDWR | O_TRUNC)); }), EROFS);
    QCOMPARE(as([&] { return errnoOf(::open(limit.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644)); }), EROFS);
    QCOMPARE(as([&] { return errnoOf(::truncate(limit.c_str(), 0)); }), EROFS);
    QCOMPARE(as([&] { return errnoOf(::chmod(limit.c_str(), 0666)); }), EROFS);
    QCOMPARE(as([&] { return errnoOf(::chown(limit.c_str(), uid, uid)); }), EROFS);
    QCOMPARE(as([&] { return errnoOf(::utimensat(AT_FDCWD, limit.c_str(), nullptr, 0)); }), EROFS);
    QCOMPARE(as([&] { return errnoOf(::unlink(limit.c_str())); }), EROFS);
    QCOMPARE(as([&] { return errnoOf(::rename(limit.c_str(), other.c_str())); }), uid == ::geteuid() ? EROFS : EACCES);
    QCOMPARE(as([&] { return errnoOf(::link(limit.c_str(), other.c_str())); }), EROFS);
    QCOMPARE(as([&] { return errnoOf(::setxattr(limit.c_str(), "user.x", "1", 1, 0)); }), EROFS);
    QCOMPARE(as([&] { return errnoOf(::removexattr(limit.c_str(), "user.cortexfs.kind")); }), EROFS);
    QCOMPARE(as([&] { return errnoOf(::access(limit.c_str(), W_OK)); }), EROFS);
    QCOMPARE(as([&] { return errnoOf(::mkdir(path("model/x").c_str(), 0755)); }), EROFS);
    QCOMPARE(as([&] { return errnoOf(::rmdir(path("model/debug").c_str())); }), EROFS);
    QCOMPARE(as([&] { return errnoOf(::open(path("new").c_str(), O_WRONLY | O_CREAT, 0644)); }), EROFS);
    QCOMPARE(contentOf(limit), std::string("32768\n"));
}

void MountTest::shellWrites_data()
{
    QTest::addColumn<QString>("command");
    QTest::addColumn<bool>("succeeds");
    QTest::addColumn<QString>("control");
    QTest::addColumn<QString>("after");
    const auto row = [](const char *name, const char *command, bool succeeds, const char *control, const char *after) {
        QTest::newRow(name) << QString::fromUtf8(command) << succeeds << QString::fromUtf8(control)
                            << QString::fromUtf8(after);
    };
    row("printf into effort", "printf 'high\\n' > effort", true, "effort", "high\n");
    row("echo without truncation", "echo low 1<> effort", true, "effort", "low\n");
    row("an unknown word", "echo hgih > effort", false, "effort", "auto\n");
    row("session", "echo socket > session", true, "session", "socket\n");
    row("lines in several writes", "(echo a=1; echo b=2) > default", true, "default", "a=1\nb=2\n");
    row("a line appended", "echo a=1 > default; echo b=2 >> default", true, "default", "a=1\nb=2\n");
    row("a bad line keeps the old text", "echo a=1 > default; echo '= =' > default; true", true, "default", "a=1\n");
    row("cleared by a truncation", "echo a=1 > default; : > default", true, "default", "");
    row("cleared by truncate(1)", "echo a=1 > default; truncate -s 0 default", true, "default", "");
    row("one value cannot be cleared", ": > effort; truncate -s 0 effort", true, "effort", "auto\n");
    row("a hole", "echo x | dd of=default bs=1 seek=5 conv=notrunc 2>/dev/null", false, "default", "");
    row("cp over it", "echo high > tmp; cp tmp effort; rm tmp", true, "effort", "high\n");
    row("cp -p over it", "echo high > tmp; cp -p tmp effort; rm tmp", true, "effort", "high\n");
    row("sed -i", "echo a=1 > default; sed -i s/1/2/ default", true, "default", "a=2\n");
    row("write, then mv", "echo high > .effort.swp; mv .effort.swp effort", true, "effort", "high\n");
    row("mv of bad content", "echo x > tmp; mv -f tmp effort", false, "effort", "auto\n");
    row("dd in blocks", "yes debug/script | head -2000 | dd of=fallback bs=100 2>/dev/null; true", true, "fallback",
        "");
    row("touch is harmless", "touch effort", true, "effort", "auto\n");
    row("a model is read-only", "echo x > ../echo", false, "effort", "auto\n");
}

void MountTest::shellWrites()
{
    QFETCH(QString, command);
    QFETCH(bool, succeeds);
    QFETCH(QString, control);
    QFETCH(QString, after);
    const CommandResult result = shell(command.toStdString(), path("model/debug/echo.d"));
    QVERIFY2((result.exitCode == 0) == succeeds, qPrintable(result.output));
    QCOMPARE(QString::fromStdString(contentOf(path("model/debug/echo.d/") + control.toStdString())), after);
    struct stat info = {};
    QCOMPARE(::stat((path("model/debug/echo.d/") + control.toStdString()).c_str(), &info), 0);
    QCOMPARE(info.st_size, off_t(after.size()));
}

void MountTest::truncateAloneShowsTheOldText()
{
    const std::string effort = path("model/debug/echo.d/effort");
    const int fd = ::open(effort.c_str(), O_WRONLY | O_TRUNC);
    QVERIFY(fd >= 0);
    QCOMPARE(contentOf(effort), std::string("auto\n"));
    struct stat info = {};
    QCOMPARE(::stat(effort.c_str(), &info), 0);
    QCOMPARE(info.st_size, off_t(5));
    QCOMPARE(errnoOf(int(::write(fd, "nonsense\n", 9))), EINVAL);
    QCOMPARE(::write(fd, "max\n", 4), ssize_t(4));
    QCOMPARE(contentOf(effort), std::string("max\n"));
    QCOMPARE(::close(fd), 0);

    QCOMPARE(overwrite(path("model/debug/echo.d/default"), std::string(64 * 1024 + 1, 'x'), O_TRUNC), EMSGSIZE);
    QCOMPARE(overwrite(path("model/debug/echo.d/fallback"), "no model\n", O_TRUNC), EINVAL);
}

void MountTest::renameCommits()
{
    const std::string directory = path("model/debug/echo.d/");
    QCOMPARE(overwrite(directory + "effort.tmp", "xhigh\n", O_CREAT | O_EXCL), 0);
    QCOMPARE(errnoOf(::rename((directory + "effort.tmp").c_str(), (directory + "limit").c_str())), EROFS);
    QCOMPARE(errnoOf(::rename((directory + "effort.tmp").c_str(), path("model/debug/script.d/effort").c_str())), EXDEV);
    QCOMPARE(::rename((directory + "effort.tmp").c_str(), (directory + "effort").c_str()), 0);
    QCOMPARE(contentOf(directory + "effort"), std::string("xhigh\n"));
    QCOMPARE(errnoOf(::access((directory + "effort.tmp").c_str(), F_OK)), ENOENT);
    QCOMPARE(errnoOf(::rename((directory + "effort").c_str(), (directory + "effort~").c_str())), EROFS);
}

void MountTest::aliasThroughLn()
{
    const std::string target = path("model/debug/script");
    QCOMPARE(shell("ln -s " + target + " mine && ln -sfn " + target + " main && rm mine", path("model")).exitCode, 0);
    char link[4096] = {};
    QVERIFY(::readlink(path("model/main").c_str(), link, sizeof link) > 0);
    QCOMPARE(std::string(link), target);
    QCOMPARE(errnoOf(::access(path("model/mine").c_str(), F_OK)), ENOENT);
    QVERIFY(contentOf(path("model/main")).find("model/debug/script") != std::string::npos);
    QVERIFY(shell("ln -s /etc/passwd mine", path("model")).exitCode != 0);
    QVERIFY(shell("mv debug other", path("model")).exitCode != 0);
    QCOMPARE(shell("ls", path("model")).output, QStringLiteral("debug\nlocal\nmain\n"));
}

void MountTest::routeFile()
{
    const std::string route = path("model/route");
    QCOMPARE(errnoOf(::access(route.c_str(), F_OK)), ENOENT);
    QCOMPARE(shell("printf 'fallback: direct\\n' > route", path("model")).exitCode, 0);
    QCOMPARE(contentOf(route), std::string("fallback: direct\n"));
    QCOMPARE(overwrite(route, "nonsense\n", O_TRUNC), EINVAL);
    QCOMPARE(contentOf(route), std::string("fallback: direct\n"));
    QCOMPARE(shell("echo '# two' > r.tmp && mv r.tmp route && ls", path("model")).output,
             QStringLiteral("debug\nlocal\nmain\nroute\n"));
    QCOMPARE(contentOf(route), std::string("# two\n"));
    struct stat info = {};
    QCOMPARE(::stat(route.c_str(), &info), 0);
    QCOMPARE(info.st_size, off_t(6));
    // As large as a table may be, past the bound of other control files; written, renamed, appended to.
    QCOMPARE(overwrite(route, std::string(1024 * 1024, '#'), O_TRUNC), 0);
    QCOMPARE(contentOf(route).size(), std::size_t(1024 * 1024));
    QVERIFY(shell("head -c 1048577 /dev/zero | tr '\\0' x | cat > route", path("model")).exitCode != 0);
    QCOMPARE(contentOf(route), std::string(1024 * 1024, '#'));
    QCOMPARE(shell("head -c 700000 /dev/zero | tr '\\0' x > r.tmp && mv r.tmp route", path("model")).exitCode, 0);
    QCOMPARE(contentOf(route).size(), std::size_t(700'000));
    QVERIFY(shell("head -c 1048577 /dev/zero > r.tmp", path("model")).exitCode != 0);
    QCOMPARE(shell("rm r.tmp && echo end >> route", path("model")).exitCode, 0);
    QCOMPARE(contentOf(route).size(), std::size_t(700'004));
    // What changes it past the tree is seen at once.
    QCOMPARE(::stat(route.c_str(), &info), 0);
    const std::string backing = m_mounted->places.installedTree() + "/model/route";
    QVERIFY(files::replace(backing, "# three\n", 0644));
    QCOMPARE(::stat(route.c_str(), &info), 0);
    QCOMPARE(info.st_size, off_t(8));
    QCOMPARE(::unlink(backing.c_str()), 0);
    QCOMPARE(errnoOf(::access(route.c_str(), F_OK)), ENOENT);
    QVERIFY(files::replace(backing, "# four\n", 0644));
    QCOMPARE(contentOf(route), std::string("# four\n"));
    QCOMPARE(::unlink(route.c_str()), 0);
    QCOMPARE(errnoOf(::access(route.c_str(), F_OK)), ENOENT);
}

void MountTest::foreignUidReadsAndCannotWrite()
{
    if (::geteuid() != 0)
        return; // the kernel keeps other uids out of a user's mount
    const std::string effort = path("model/debug/echo.d/effort");
    QCOMPARE(asUser(12345, [&] { return contentOf(effort) == "auto\n" ? 0 : 1; }), 0);
    QCOMPARE(asUser(12345, [&] { return overwrite(effort, "high\n"); }), EACCES);
    QCOMPARE(asUser(12345, [&] { return overwrite(path("model/debug/echo.d/t"), "high\n", O_CREAT); }), EACCES);
    QCOMPARE(asUser(12345, [&] { return errnoOf(::symlink("x", path("model/mine").c_str())); }), EACCES);
    QCOMPARE(asUser(12345, [&] { return errnoOf(::access(effort.c_str(), W_OK)); }), EACCES);
    QCOMPARE(contentOf(effort), std::string("auto\n"));
}

void MountTest::placeholderRefusesConnections()
{
    const auto connectTo = [](const std::string &where) {
        sockaddr_un address = {};
        address.sun_family = AF_UNIX;
        where.copy(address.sun_path, sizeof address.sun_path - 1);
        const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const int error = errnoOf(::connect(fd, reinterpret_cast<sockaddr *>(&address), sizeof address));
        ::close(fd);
        return error;
    };
    const std::string socket = path("model/debug/script.sock");
    QCOMPARE(connectTo(socket), ECONNREFUSED);
    QCOMPARE(connectTo(path("model/debug/echo.sock")), ENOENT);

    const std::string live = m_mounted->places.runtime + "/model/debug";
    QVERIFY(files::makeDirectories(live, 0755).isOk());
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    (live + "/script.sock").copy(address.sun_path, sizeof address.sun_path - 1);
    const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    QCOMPARE(::bind(listener, reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
    QCOMPARE(::listen(listener, 4), 0);
    m_mounted->session->entryChanged("model/debug/script.sock");
    QTRY_COMPARE(connectTo(socket), 0);
    ::close(listener);
}

void MountTest::xattrCalls()
{
    const std::string echo = path("model/debug/echo");
    char value[256] = {};
    QCOMPARE(::getxattr(echo.c_str(), "user.cortexfs.abi_path", value, sizeof value), ssize_t(16));
    QCOMPARE(std::string(value), std::string("model/debug/echo"));
    QCOMPARE(::getxattr(echo.c_str(), "user.cortexfs.abi_path", nullptr, 0), ssize_t(16));
    QCOMPARE(errnoOf(int(::getxattr(echo.c_str(), "user.cortexfs.abi_path", value, 4))), ERANGE);
    QCOMPARE(errnoOf(int(::getxattr(echo.c_str(), "user.none", value, sizeof value))), ENODATA);
    QCOMPARE(errnoOf(int(::listxattr(echo.c_str(), value, 4))), ERANGE);
    QCOMPARE(errnoOf(::setxattr(echo.c_str(), "user.cortexfs.kind", "x", 1, 0)), EROFS);
    const CommandResult dumped = shell("getfattr -d --absolute-names " + echo);
    QCOMPARE(dumped.output.count(QStringLiteral("user.cortexfs.")), 10);
}

void MountTest::wholeTreeTools_data()
{
    QTest::addColumn<QString>("command");
    QTest::addColumn<int>("exitCode");
    QTest::newRow("find") << "find . -type f -o -name '*.d'" << 0;
    QTest::newRow("ls") << "ls -laR" << 0;
    QTest::newRow("du and df") << "du -a > /dev/null && df . > /dev/null" << 0;
    QTest::newRow("grep") << "grep -r 'a text that is nowhere' ." << 1;
    QTest::newRow("tar") << "tar cf \"$OUT/t.tar\" . && tar tf \"$OUT/t.tar\"" << 0;
    QTest::newRow("cp") << "cp -a . \"$OUT/copy\"" << 0;
    QTest::newRow("rsync") << "rsync -aHX ./ \"$OUT/synced/\"" << 0;
    QTest::newRow("getfattr") << "getfattr -h -d -R ." << 0;
    QTest::newRow("the copy is the same")
        << "cp -a . \"$OUT/copy\" && rsync -acni --delete ./ \"$OUT/copy/\" | grep -v '/$' | grep -v sock; true" << 0;
}

void MountTest::wholeTreeTools()
{
    QFETCH(QString, command);
    QFETCH(int, exitCode);
    QVERIFY(files::makeDirectories(m_mounted->places.installedTree() + "/tool/t.d", 0755).isOk());
    put(m_mounted->places.installedTree() + "/tool/t", "bytes", 0755);
    put(m_mounted->places.installedTree() + "/tool/t.d/cap", "text\n");
    QCOMPARE(
        shell("mkdir -p \"home/$(id -u)/d\" && echo x > \"home/$(id -u)/d/f\" && mkdir shared/s", path("")).exitCode,
        0);
    const TempDir out;
    const CommandResult result = shell("OUT=" + out.path() + "; export OUT; " + command.toStdString(), path(""));
    QVERIFY2(result.exitCode == exitCode, qPrintable(result.output));
    QVERIFY2(!result.output.contains(QStringLiteral("rror")), qPrintable(result.output));
    if (QByteArrayView(QTest::currentDataTag()) == QByteArrayView("the copy is the same"))
        QCOMPARE(result.output, QString());
}

void MountTest::requestsAreCounted()
{
    const std::string effort = path("model/debug/echo.d/effort");
    struct stat info = {};
    QCOMPARE(::lstat(effort.c_str(), &info), 0);
    std::uint64_t before = requests();
    for (int i = 0; i < 100; ++i)
        QCOMPARE(::lstat(effort.c_str(), &info), 0);
    QCOMPARE(requests() - before, std::uint64_t(0));

    char text[64];
    before = requests();
    int fd = ::open(effort.c_str(), O_RDONLY);
    QCOMPARE(::read(fd, text, sizeof text), ssize_t(5));
    ::close(fd);
    QTRY_VERIFY(requests() - before >= 3); // the release comes a moment later
    QCOMPARE(requests() - before, std::uint64_t(3));

    // With the shell's truncation, for which the kernel asks for security.capability; a control of several lines has the
    // flush besides, in which it is committed.
    for (const auto &[control, value, expected] :
         {std::tuple("effort", std::string("high\n"), 4), {"default", std::string("a=1\n"), 5}}) {
        const std::string file = path("model/debug/echo.d/") + control;
        QCOMPARE(::lstat(file.c_str(), &info), 0);
        before = requests();
        QCOMPARE(overwrite(file, value, O_CREAT | O_TRUNC), 0);
        QTRY_VERIFY(requests() - before >= std::uint64_t(expected));
        QCOMPARE(requests() - before, std::uint64_t(expected));
        QCOMPARE(contentOf(file), value);
    }
}

void MountTest::thousandModelsWithoutLookups()
{
    m_mounted->publish(snapshot(m_mounted->places.mount, 1000));
    const std::uint64_t lookups = m_mounted->session->lookupCount();
    const CommandResult listed = shell("ls -l local | wc -l", path("model"));
    QCOMPARE(listed.output.trimmed(), QStringLiteral("2001"));
    // Those of the path; nothing for an entry.
    QVERIFY2(m_mounted->session->lookupCount() - lookups < 10,
             qPrintable(QString::number(m_mounted->session->lookupCount() - lookups)));
    QCOMPARE(contentOf(path("model/local/m999.d/id")), std::string("local/m999\n"));
}

void MountTest::newSnapshotIsSeenAtOnce()
{
    const std::string limit = path("model/debug/echo.d/limit");
    const std::string model = path("model/local/m1");
    struct stat info = {};
    QCOMPARE(::stat(limit.c_str(), &info), 0);
    QCOMPARE(::stat(model.c_str(), &info), 0);
    const std::string before = contentOf(path("model/debug/echo"));
    m_mounted->publish(
        changed(m_mounted->cell.load(), "debug/echo", [](models::ModelEntry &entry) { entry.limit = 7; }));
    QCOMPARE(contentOf(limit), std::string("7\n"));
    const std::string after = contentOf(path("model/debug/echo"));
    QVERIFY(before != after);
    QVERIFY(after.find("context_length=7\n") != std::string::npos);
    QVERIFY(after.ends_with("cap=chat,stream\n"));
    const QDeadlineTimer soon(800); // sooner than the attributes' own second
    while (::stat(limit.c_str(), &info) == 0 && info.st_size != 2 && !soon.hasExpired()) {}
    QCOMPARE(info.st_size, off_t(2));
    m_mounted->publish(snapshot(m_mounted->places.mount, 1));
    QTRY_COMPARE(errnoOf(::stat(model.c_str(), &info)), ENOENT);
}

void MountTest::readersNeverSeeHalfATextWhileItChanges()
{
    const std::string control = path("model/debug/echo.d/default");
    const std::string texts[] = {"a=1\n", std::string("long=") + std::string(9000, 'x') + "\n"};
    QCOMPARE(overwrite(control, texts[0], O_TRUNC), 0);
    std::atomic<bool> isOver{false};
    std::atomic<int> torn{0};
    std::atomic<int> reads{0};
    std::vector<std::thread> readers;
    for (int i = 0; i < 3; ++i) {
        readers.emplace_back([&] {
            while (!isOver) {
                const std::string seen = contentOf(control);
                if (seen != texts[0] && seen != texts[1])
                    ++torn;
                ++reads;
                // The metadata is read through the page cache and changes with it.
                const std::string metadata = contentOf(path("model/debug/echo"));
                if (!metadata.ends_with("cap=chat,stream\n") && !metadata.ends_with("cap=chat\n"))
                    ++torn;
            }
        });
    }
    for (int i = 0; i < 200; ++i) {
        QCOMPARE(overwrite(control, texts[i % 2], O_TRUNC), 0);
        if (i % 20 == 0) {
            m_mounted->publish(changed(m_mounted->cell.load(), "debug/echo", [&](models::ModelEntry &entry) {
                entry.cap = i % 40 ? "chat\nstream\n" : "chat\n";
            }));
        }
    }
    isOver = true;
    for (std::thread &reader : readers)
        reader.join();
    QCOMPARE(torn.load(), 0);
    QVERIFY(reads > 50);
}

void MountTest::lateAnswerIsTimedOut()
{
    m_mounted->handler.hold(true);
    const std::string effort = path("model/debug/echo.d/effort");
    QElapsedTimer timer;
    timer.start();
    QCOMPARE(overwrite(effort, "high\n", O_TRUNC), ETIMEDOUT);
    QVERIFY(timer.elapsed() >= 4'900 && timer.elapsed() < 9'000);
    m_mounted->handler.hold(false);
    QTRY_COMPARE(contentOf(effort), std::string("high\n")); // it was applied after all
}

void MountTest::droppedAnswerIsEio()
{
    m_mounted->handler.hold(true);
    std::atomic<int> outcome{-1};
    std::thread writer([&] { outcome = overwrite(path("model/debug/echo.d/effort"), "high\n", O_TRUNC); });
    QTRY_VERIFY(!m_mounted->handler.seen().empty());
    QCOMPARE(contentOf(path("model/debug/echo.d/effort")), std::string("auto\n")); // others are served meanwhile
    m_mounted->handler.dropHeld();
    QTRY_VERIFY(outcome >= 0);
    writer.join();
    QCOMPARE(outcome.load(), EIO);
}

void MountTest::toolControlsAreWritten()
{
    const std::string tool = m_mounted->places.installedTree() + "/tool";
    QVERIFY(files::makeDirectories(tool + "/t.d", 0755).isOk());
    put(tool + "/t", "secret bytes", 0755);
    put(tool + "/t.d/policy", "old\n");
    put(tool + "/t.d/status", "idle\n");
    QVERIFY(contentOf(path("tool/t")).find("secret") == std::string::npos);
    QCOMPARE(
        shell("echo new > policy && cat policy && echo two > p && mv p policy && cat policy && ls", path("tool/t.d"))
            .output,
        QStringLiteral("new\ntwo\npolicy\nstatus\n"));
    QCOMPARE(contentOf(tool + "/t.d/policy"), std::string("two\n"));
    QCOMPARE(overwrite(path("tool/t.d/policy"), "bad\n", O_TRUNC), EINVAL);
    QCOMPARE(overwrite(path("tool/t.d/status"), "x\n", O_TRUNC), EROFS);
    QCOMPARE(overwrite(path("tool/t"), "x\n"), EROFS);
    QCOMPARE(errnoOf(::unlink(path("tool/t.d/policy").c_str())), EROFS);
    QCOMPARE(errnoOf(::mkdir(path("tool/x.d").c_str(), 0755)), EROFS);
    if (::geteuid() == 0)
        QCOMPARE(asUser(12345, [&] { return overwrite(path("tool/t.d/policy"), "x\n"); }), EACCES);
    QCOMPARE(contentOf(tool + "/t.d/policy"), std::string("two\n"));
}

void MountTest::memoryMap()
{
    const int fd = ::open(path("model/debug/echo").c_str(), O_RDONLY);
    void *text = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    QVERIFY(text != MAP_FAILED);
    QVERIFY(std::string_view(static_cast<const char *>(text), 2) == "#!");
    ::munmap(text, 4096);
    ::close(fd);
}

QTEST_GUILESS_MAIN(MountTest)
#include "mount_test.moc"
