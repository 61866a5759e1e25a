#include "common/base/files.h"
#include "common/base/unique_fd.h"
#include "tests/common/test_strings.h"
#include "tests/support/temp_dir.h"

#include <QTest>

#include <csignal>
#include <filesystem>
#include <set>
#include <thread>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace cortexfs;

namespace {

std::set<std::string> namesIn(const std::string &directory)
{
    std::set<std::string> names;
    for (const auto &entry : std::filesystem::directory_iterator(directory))
        names.insert(entry.path().filename().string());
    return names;
}

mode_t modeOf(const std::string &path)
{
    struct stat info = {};
    return ::lstat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
}

// A small file system of its own, gone with the object.
class TinyMount {
public:
    explicit TinyMount(std::string path) : m_path(std::move(path)) { ::mkdir(m_path.c_str(), 0700); }
    ~TinyMount()
    {
        if (m_isMounted)
            ::umount2(m_path.c_str(), MNT_DETACH);
    }
    TinyMount(const TinyMount &) = delete;
    TinyMount &operator=(const TinyMount &) = delete;

    bool mount(const char *options)
    {
        m_isMounted = ::mount("none", m_path.c_str(), "tmpfs", 0, options) == 0;
        return m_isMounted;
    }
    bool makeReadOnly() { return ::mount("none", m_path.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) == 0; }
    std::string path(const char *name) const { return m_path + "/" + name; }
    const std::string &path() const { return m_path; }

private:
    std::string m_path;
    bool m_isMounted = false;
};

} // namespace

class FilesTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void readsUpToTheLimit_data();
    void readsUpToTheLimit();
    void refusesToRead_data();
    void refusesToRead();
    void readsThroughALinkedDirectoryButNotALink();
    void aGrowingFileEndsAtTheLimit();
    void replaceWritesExactly_data();
    void replaceWritesExactly();
    void replaceTakesThePlaceOfALink();
    void replaceFails_data();
    void replaceFails();
    void aFullDiskKeepsTheOldContent();
    void aReadOnlyFileSystemKeepsTheOldContent();
    void leftoversOfACrashDoNotBlockTheNextReplace();
    void staleTemporariesGoAndNothingElse();
    void killedWritersLeaveOldOrNew();
    void concurrentWritersLeaveOneOfTheirs();
    void makesDirectories_data();
    void makesDirectories();
    void directoriesThatExistStay();
    void writeAllToAClosedPipe();
};

void FilesTest::readsUpToTheLimit_data()
{
    QTest::addColumn<int>("size");
    QTest::addColumn<int>("most");
    QTest::addColumn<bool>("ok");
    QTest::newRow("an empty file") << 0 << 10 << true;
    QTest::newRow("an empty file with no room") << 0 << 0 << true;
    QTest::newRow("one byte with no room") << 1 << 0 << false;
    QTest::newRow("exactly the limit") << 65536 << 65536 << true;
    QTest::newRow("one byte more") << 65537 << 65536 << false;
    QTest::newRow("much more") << 3'000'000 << 65536 << false;
}

void FilesTest::readsUpToTheLimit()
{
    QFETCH(int, size);
    QFETCH(int, most);
    QFETCH(bool, ok);
    const test::TempDir dir;
    const std::string content(static_cast<std::size_t>(size), 'x');
    dir.write("f", content);
    const Result<std::string> text = files::readRegular(dir.path("f"), static_cast<std::size_t>(most));
    QCOMPARE(text.isOk(), ok);
    if (ok)
        QCOMPARE(*text, content);
    else
        QCOMPARE(text.error().number(), EMSGSIZE);
}

void FilesTest::refusesToRead_data()
{
    QTest::addColumn<std::string>("kind");
    QTest::addColumn<int>("number");
    QTest::newRow("nothing") << std::string("nothing") << ENOENT;
    QTest::newRow("a link to a file") << std::string("link") << ELOOP;
    QTest::newRow("a dangling link") << std::string("dangling") << ELOOP;
    QTest::newRow("a directory") << std::string("directory") << EINVAL;
    QTest::newRow("a FIFO without a writer") << std::string("fifo") << EINVAL;
    QTest::newRow("a socket") << std::string("socket") << EINVAL;
    QTest::newRow("below a file") << std::string("below") << ENOTDIR;
    QTest::newRow("an endless device") << std::string("zero") << EINVAL;
    QTest::newRow("a name that is too long") << std::string("long") << ENAMETOOLONG;
}

void FilesTest::refusesToRead()
{
    QFETCH(std::string, kind);
    QFETCH(int, number);
    const test::TempDir dir;
    dir.write("real", "text");
    std::string path = dir.path("f");
    if (kind == "link")
        QCOMPARE(::symlink("real", path.c_str()), 0);
    if (kind == "dangling")
        QCOMPARE(::symlink("gone", path.c_str()), 0);
    if (kind == "directory")
        QCOMPARE(::mkdir(path.c_str(), 0700), 0);
    if (kind == "fifo")
        QCOMPARE(::mkfifo(path.c_str(), 0600), 0);
    if (kind == "below")
        path = dir.path("real/f");
    if (kind == "zero")
        path = "/dev/zero";
    if (kind == "long")
        path = dir.path(std::string(300, 'n'));
    UniqueFd socket;
    if (kind == "socket") {
        socket = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_un address = {};
        address.sun_family = AF_UNIX;
        QVERIFY(path.size() < sizeof address.sun_path);
        path.copy(address.sun_path, path.size());
        QCOMPARE(::bind(socket.get(), reinterpret_cast<const sockaddr *>(&address), sizeof address), 0);
    }
    const Result<std::string> text = files::readRegular(path, 1000);
    QVERIFY(!text);
    QCOMPARE(text.error().number(), number);
}

void FilesTest::readsThroughALinkedDirectoryButNotALink()
{
    const test::TempDir dir;
    dir.write("d/f", "text");
    QCOMPARE(::symlink("d", dir.path("l").c_str()), 0);
    QCOMPARE(files::readRegular(dir.path("l/f"), 100).valueOr("?"), std::string("text"));
}

void FilesTest::aGrowingFileEndsAtTheLimit()
{
    const test::TempDir dir;
    dir.write("f", "");
    std::atomic<bool> stop{false};
    std::atomic<bool> written{false};
    std::thread writer([&] {
        const UniqueFd fd(::open(dir.path("f").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
        const std::string block(65536, 'g');
        for (int i = 0; i < 2000 && !stop; ++i)
            static_cast<void>(files::writeAll(fd.get(), block));
        written = true;
    });
    // However late the writer is scheduled: the last look is at a file that is complete, far above the limit.
    int tooLarge = 0;
    for (bool last = false; tooLarge == 0 && !last;) {
        last = written;
        const Result<std::string> text = files::readRegular(dir.path("f"), 1'000'000);
        if (!text) {
            tooLarge = text.error().number() == EMSGSIZE ? 1 : -1;
        } else if (text->size() > 1'000'000) {
            tooLarge = -1;
        }
    }
    stop = true;
    writer.join();
    QCOMPARE(files::readRegular(dir.path("f"), 1000).isOk(), false);
    QCOMPARE(tooLarge, 1);
}

void FilesTest::replaceWritesExactly_data()
{
    QTest::addColumn<std::string>("content");
    QTest::addColumn<uint>("mode");
    QTest::addColumn<uint>("mask");
    QTest::newRow("a text") << std::string("high\n") << 0644u << 022u;
    QTest::newRow("nothing") << std::string() << 0644u << 022u;
    QTest::newRow("NULs and bytes") << std::string("a\0b\xff", 4) << 0600u << 0u;
    QTest::newRow("readable although the umask says no") << std::string("x") << 0644u << 077u;
    QTest::newRow("closed although the umask says open") << std::string("x") << 0600u << 0u;
    QTest::newRow("a megabyte") << std::string(1'048'576, 'm') << 0444u << 022u;
}

void FilesTest::replaceWritesExactly()
{
    QFETCH(std::string, content);
    QFETCH(uint, mode);
    QFETCH(uint, mask);
    const test::TempDir dir;
    dir.write("f", "old", 0640);
    const mode_t before = ::umask(mask);
    const Result<void> replaced = files::replace(dir.path("f"), content, mode);
    const Result<void> created = files::replace(dir.path("new"), content, mode);
    ::umask(before);
    QVERIFY(replaced && created);
    for (const char *name : {"f", "new"}) {
        QCOMPARE(dir.read(name), content);
        QCOMPARE(modeOf(dir.path(name)), mode);
    }
    QCOMPARE(namesIn(dir.path()), (std::set<std::string>{"f", "new"}));
}

void FilesTest::replaceTakesThePlaceOfALink()
{
    const test::TempDir dir;
    dir.write("victim", "untouched");
    QCOMPARE(::symlink("victim", dir.path("f").c_str()), 0);
    QVERIFY(files::replace(dir.path("f"), "new", 0600));
    QCOMPARE(dir.read("victim"), std::string("untouched"));
    QCOMPARE(files::readRegular(dir.path("f"), 100).valueOr("?"), std::string("new"));
}

void FilesTest::replaceFails_data()
{
    QTest::addColumn<std::string>("name");
    QTest::addColumn<int>("number");
    QTest::newRow("no such directory") << std::string("gone/f") << ENOENT;
    QTest::newRow("the directory is a file") << std::string("file/f") << ENOTDIR;
    QTest::newRow("the name is a directory") << std::string("dir") << EISDIR;
    QTest::newRow("no name") << std::string("") << ENOENT;
    QTest::newRow("the name is too long") << std::string(300, 'n') << ENAMETOOLONG;
}

void FilesTest::replaceFails()
{
    QFETCH(std::string, name);
    QFETCH(int, number);
    const test::TempDir dir;
    dir.write("file", "old");
    dir.write("dir/inside", "kept");
    const Result<void> replaced = files::replace(dir.path(name), "new", 0600);
    QVERIFY(!replaced);
    QCOMPARE(replaced.error().number(), number);
    QCOMPARE(dir.read("file"), std::string("old"));
    QCOMPARE(dir.read("dir/inside"), std::string("kept"));
    QCOMPARE(namesIn(dir.path()), (std::set<std::string>{"file", "dir"}));
}

void FilesTest::aFullDiskKeepsTheOldContent()
{
    if (::geteuid() != 0)
        QSKIP("only root can mount the small file system");
    const test::TempDir dir;
    TinyMount tiny(dir.path("tiny"));
    QVERIFY2(tiny.mount("size=64k"), std::strerror(errno));
    QVERIFY(files::replace(tiny.path("f"), "old", 0600));
    const std::string large(200'000, 'x');
    const Result<void> replaced = files::replace(tiny.path("f"), large, 0600);
    QVERIFY(!replaced);
    QCOMPARE(replaced.error().number(), ENOSPC);
    QCOMPARE(files::readRegular(tiny.path("f"), 100).valueOr("?"), std::string("old"));
    QCOMPARE(namesIn(tiny.path()), std::set<std::string>{"f"});
    QVERIFY(files::replace(tiny.path("f"), "new", 0600)); // what had filled the disk is gone
    QCOMPARE(files::readRegular(tiny.path("f"), 100).valueOr("?"), std::string("new"));
}

void FilesTest::aReadOnlyFileSystemKeepsTheOldContent()
{
    if (::geteuid() != 0)
        QSKIP("only root can mount the small file system");
    const test::TempDir dir;
    TinyMount tiny(dir.path("tiny"));
    QVERIFY2(tiny.mount("size=64k"), std::strerror(errno));
    QVERIFY(files::replace(tiny.path("f"), "old", 0600));
    QVERIFY(tiny.makeReadOnly());
    const Result<void> replaced = files::replace(tiny.path("f"), "new", 0600);
    QVERIFY(!replaced);
    QCOMPARE(replaced.error().number(), EROFS);
    const Result<void> made = files::makeDirectories(tiny.path("a/b"), 0700);
    QVERIFY(!made);
    QCOMPARE(made.error().number(), EROFS);
    QVERIFY(files::makeDirectories(tiny.path(), 0700)); // what exists needs no write
    QCOMPARE(files::readRegular(tiny.path("f"), 100).valueOr("?"), std::string("old"));
}

void FilesTest::leftoversOfACrashDoNotBlockTheNextReplace()
{
    // In a container the daemon has the same pid at every start.
    const test::TempDir dir;
    const std::string prefix = ".cortexfs-tmp-" + std::to_string(::getpid()) + "-";
    for (int i = 0; i < 300; ++i)
        dir.write(prefix + std::to_string(i), "half");
    QVERIFY(files::replace(dir.path("f"), "new", 0600));
    QCOMPARE(dir.read("f"), std::string("new"));
    QCOMPARE(dir.read(prefix + "299"), std::string("half"));
}

void FilesTest::staleTemporariesGoAndNothingElse()
{
    const test::TempDir dir;
    dir.write("kept", "x");
    dir.write(".cortexfs-install-1", "x");
    dir.write(".cortexfs-tmp-1-0", "x");
    dir.write(".cortexfs-tmp-", "x");
    QCOMPARE(::symlink("kept", dir.path(".cortexfs-tmp-link-main").c_str()), 0);
    dir.write(".cortexfs-tmp-dir/inside", "x");
    const UniqueFd fd(::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    files::removeStaleTemporaries(fd.get());
    QCOMPARE(namesIn(dir.path()), (std::set<std::string>{"kept", ".cortexfs-install-1", ".cortexfs-tmp-dir"}));
    QCOMPARE(dir.read("kept"), std::string("x"));
    files::removeStaleTemporaries(-1); // nothing to do is no fault
}

void FilesTest::killedWritersLeaveOldOrNew()
{
    const test::TempDir dir;
    const std::string path = dir.path("f");
    const std::string old(20'000, 'a');
    const std::string fresh(60'000, 'b');
    QVERIFY(files::replace(path, old, 0600));
    const UniqueFd directory(::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (int round = 0; round < 60; ++round) {
        const pid_t child = ::fork();
        QVERIFY(child >= 0);
        if (child == 0) {
            for (;;) {
                static_cast<void>(files::replace(path, fresh, 0600));
                static_cast<void>(files::replace(path, old, 0600));
            }
        }
        // Read while it writes, then kill it at a moment that differs from round to round.
        for (int i = 0; i < 20 + round * 5; ++i) {
            const Result<std::string> text = files::readRegular(path, 100'000);
            QVERIFY(text);
            QVERIFY(*text == old || *text == fresh);
        }
        ::kill(child, SIGKILL);
        int status = 0;
        QCOMPARE(::waitpid(child, &status, 0), child);
        QVERIFY(WIFSIGNALED(status));
        const Result<std::string> text = files::readRegular(path, 100'000);
        QVERIFY(text);
        QVERIFY(*text == old || *text == fresh);
        files::removeStaleTemporaries(directory.get());
        QCOMPARE(namesIn(dir.path()), std::set<std::string>{"f"});
    }
}

void FilesTest::concurrentWritersLeaveOneOfTheirs()
{
    const test::TempDir dir;
    std::vector<std::thread> threads;
    std::atomic<int> failures{0};
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&, i] {
            for (int n = 0; n < 25; ++n) {
                if (!files::replace(dir.path("f"), std::string(10'000, static_cast<char>('a' + i)), 0600))
                    ++failures;
            }
        });
    }
    for (std::thread &thread : threads)
        thread.join();
    QCOMPARE(failures.load(), 0);
    const std::string text = dir.read("f");
    QCOMPARE(text, std::string(10'000, text.front()));
    QCOMPARE(namesIn(dir.path()), std::set<std::string>{"f"});
}

void FilesTest::makesDirectories_data()
{
    QTest::addColumn<std::string>("name");
    QTest::addColumn<bool>("ok");
    QTest::newRow("one") << std::string("a") << true;
    QTest::newRow("three") << std::string("a/b/c") << true;
    QTest::newRow("a trailing slash") << std::string("a/b/") << true;
    QTest::newRow("double slashes") << std::string("a//b") << true;
    QTest::newRow("below a file") << std::string("file/b") << false;
    QTest::newRow("a file itself") << std::string("file") << false;
    QTest::newRow("below a dangling link") << std::string("dangling/b") << false;
}

void FilesTest::makesDirectories()
{
    QFETCH(std::string, name);
    QFETCH(bool, ok);
    const test::TempDir dir;
    dir.write("file", "x");
    QCOMPARE(::symlink("/nowhere/at/all", dir.path("dangling").c_str()), 0);
    const mode_t before = ::umask(077);
    const Result<void> made = files::makeDirectories(dir.path(name), 0755);
    const Result<void> again = files::makeDirectories(dir.path(name), 0700);
    ::umask(before);
    QCOMPARE(made.isOk(), ok);
    QCOMPARE(again.isOk(), ok);
    if (ok) {
        QCOMPARE(modeOf(dir.path("a")), mode_t(0755));
        QCOMPARE(modeOf(dir.path(name)), mode_t(0755));
    }
    QCOMPARE(dir.read("file"), std::string("x"));
}

void FilesTest::directoriesThatExistStay()
{
    const test::TempDir dir;
    QCOMPARE(::mkdir(dir.path("a").c_str(), 0710), 0);
    QCOMPARE(::symlink("a", dir.path("l").c_str()), 0);
    QVERIFY(files::makeDirectories(dir.path("l/b"), 0750));
    QCOMPARE(modeOf(dir.path("a")), mode_t(0710));
    QCOMPARE(modeOf(dir.path("a/b")), mode_t(0750));
    QVERIFY(files::makeDirectories("/", 0700));
    QVERIFY(!files::makeDirectories("", 0700));
}

void FilesTest::writeAllToAClosedPipe()
{
    int ends[2] = {};
    QCOMPARE(::pipe(ends), 0);
    ::close(ends[0]);
    const UniqueFd writer(ends[1]);
    const auto before = ::signal(SIGPIPE, SIG_IGN);
    const Result<void> written = files::writeAll(writer.get(), "x");
    ::signal(SIGPIPE, before);
    QVERIFY(!written);
    QCOMPARE(written.error().number(), EPIPE);
    QVERIFY(files::writeAll(writer.get(), "")); // nothing to write, nothing to fail
}

QTEST_GUILESS_MAIN(FilesTest)
#include "files_test.moc"
