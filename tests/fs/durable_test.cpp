// home/ and shared/ as a file system for ordinary programs.
#include "tests/fs/fs_fixture.h"

#include "common/base/files.h"

#include <QtTest>

#include <atomic>
#include <cstring>
#include <set>
#include <thread>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

using namespace cortexfs;
using namespace cortexfs::fstest;

class DurableTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void cleanup();
    void programs_data();
    void programs();
    void createAndRename();
    void unlinkedFileStaysOpen();
    void hardLinksAndSymlinks();
    void appendAndTruncate();
    void memoryMaps();
    void sparseFiles();
    void locks();
    void extendedAttributes();
    void inodesAreTheBackingOnes();
    void directoryChangesWhileItIsRead();
    void acrossAreasIsAnotherFileSystem();
    void fewDescriptorsManyFiles();
    void concurrentWriters();
    void changesBehindTheMountAreSeen();

private:
    std::string home(const std::string &below = {}) const
    {
        return m_mounted->path("home/" + std::to_string(::geteuid()) + (below.empty() ? "" : "/" + below));
    }
    std::unique_ptr<Mounted> m_mounted;
};

void DurableTest::init()
{
    m_mounted = std::make_unique<Mounted>();
    QVERIFY2(m_mounted->session, qPrintable(m_mounted->problem));
}

void DurableTest::cleanup() { m_mounted.reset(); }

void DurableTest::programs_data()
{
    QTest::addColumn<QString>("command");
    QTest::addColumn<QString>("output");
    const auto row = [](const char *name, const char *command, const char *output) {
        QTest::newRow(name) << QString::fromUtf8(command) << QString::fromUtf8(output);
    };
    row("git init, commit, move, gc and fsck",
        "git init -q r && cd r && git config user.email a@b && git config user.name n && "
        "for i in 1 2 3 4 5; do echo $i > f$i; done && git add . && git commit -qm one && git mv f1 g1 && "
        "git commit -qam two && git gc -q && git fsck --strict --no-progress && git status --short && "
        "git clone -q . ../copy && cd ../copy && git log --oneline | wc -l",
        "2\n");
    row("sqlite3 with a rollback journal",
        "sqlite3 a.db 'pragma journal_mode=delete; create table t(x); insert into t values(1),(2); begin; "
        "insert into t values(4); rollback; select sum(x) from t; pragma integrity_check;'",
        "delete\n3\nok\n");
    row("sqlite3 with a write-ahead log",
        "sqlite3 b.db 'pragma journal_mode=wal; create table t(x); insert into t values(1),(2); select sum(x) from t;' "
        "&& "
        "sqlite3 b.db 'insert into t values(4); select sum(x) from t; pragma integrity_check;'",
        "wal\n3\n7\nok\n");
    row("two sqlite3 processes write at once",
        "sqlite3 c.db 'pragma journal_mode=wal; create table t(x);' && { "
        "(for i in 1 2 3 4 5 6 7 8 9 10; do sqlite3 -cmd '.timeout 20000' c.db 'insert into t values(1)'; done) & "
        "(for i in 1 2 3 4 5 6 7 8 9 10; do sqlite3 -cmd '.timeout 20000' c.db 'insert into t values(1)'; done); wait; "
        "sqlite3 c.db 'select sum(x) from t'; }",
        "wal\n20\n");
    row("cp -a, rsync -aHX and tar keep everything",
        "mkdir -p src/d && echo a > src/d/a && ln src/d/a src/d/b && ln -s a src/d/l && mkfifo src/d/p && "
        "truncate -s 1M src/sparse && setfattr -n user.x -v y src/d/a && chmod 4751 src/d/a && touch -d 2001-01-01 "
        "src/d && "
        "cp -a src cpa && rsync -aHX src/ rsd/ && mkdir tard && tar cf - --xattrs src | tar xf - --xattrs -C tard && "
        "for t in cpa rsd tard/src; do rsync -aHXcni src/ $t/; stat -c '%h %a %s' $t/d/a; getfattr -n user.x "
        "--only-values $t/d/b; "
        "echo; stat -c %Y $t/d; done | sed \"s/$(stat -c %Y src/d)/same/\"",
        "2 4751 2\ny\nsame\n2 4751 2\ny\nsame\n2 4751 2\ny\nsame\n");
    row("find -delete, rm -r and mv of trees",
        "mkdir -p t/a/b/c t/x && touch t/a/b/c/f t/x/g && mv t/a t/x/ && find t | sort && find t -type f -delete && rm "
        "-r t && ls",
        "t\nt/x\nt/x/a\nt/x/a/b\nt/x/a/b/c\nt/x/a/b/c/f\nt/x/g\n");
    row("mktemp, flock, install, dd with fsync",
        "f=$(mktemp -p .) && flock $f echo locked && install -m 640 $f g && stat -c %a g && "
        "dd if=/dev/zero of=h bs=4k count=3 conv=fsync 2>/dev/null && stat -c %s h && sync h",
        "locked\n640\n12288\n");
    row("a script is executed", "printf '#!/bin/sh\\necho ran $1\\n' > s && chmod 711 s && ./s now", "ran now\n");
    row("umask counts", "umask 027 && mkdir d && touch f && stat -c %a d f", "750\n640\n");
    row("truncate, fallocate, punch a hole",
        "fallocate -l 65536 f && stat -c %s f && fallocate -p -o 0 -l 4096 f && truncate -s 10 f && stat -c %s f",
        "65536\n10\n");
    row("a database of names",
        "for i in $(seq 500); do echo $i > n$i; done; ls | wc -l; cat n* | wc -l; rm n*; ls | wc -l", "500\n500\n0\n");
}

void DurableTest::programs()
{
    QFETCH(QString, command);
    QFETCH(QString, output);
    QCOMPARE(shell("mkdir -p " + m_mounted->path("shared/s") + " " + home()).exitCode, 0);
    for (const std::string &directory : {home(), m_mounted->path("shared/s")}) {
        const CommandResult result = shell(command.toStdString(), directory);
        QCOMPARE(result.output, output);
        QCOMPARE(result.exitCode, 0);
    }
}

void DurableTest::createAndRename()
{
    const std::string a = home("a");
    const std::string b = home("b");
    QCOMPARE(overwrite(a, "a", O_CREAT | O_EXCL), 0);
    QCOMPARE(overwrite(a, "a", O_CREAT | O_EXCL), EEXIST);
    QCOMPARE(overwrite(b, "b", O_CREAT), 0);
    QCOMPARE(errnoOf(::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_NOREPLACE)), EEXIST);
    QCOMPARE(::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE), 0);
    QCOMPARE(contentOf(a), std::string("b"));
    QCOMPARE(::rename(a.c_str(), b.c_str()), 0);
    QCOMPARE(contentOf(b), std::string("b"));
    QCOMPARE(errnoOf(::open(a.c_str(), O_RDONLY)), ENOENT);
    QCOMPARE(::mkdir(a.c_str(), 0755), 0);
    QCOMPARE(errnoOf(::rename(b.c_str(), a.c_str())), EISDIR);
    QCOMPARE(errnoOf(::unlink(a.c_str())), EISDIR);
    QCOMPARE(errnoOf(::rmdir(b.c_str())), ENOTDIR);
    QCOMPARE(overwrite(a + "/f", "", O_CREAT), 0);
    QCOMPARE(errnoOf(::rmdir(a.c_str())), ENOTEMPTY);
    QCOMPARE(errnoOf(::open(home(std::string(256, 'n')).c_str(), O_WRONLY | O_CREAT, 0600)), ENAMETOOLONG);
    QCOMPARE(errnoOf(::open(home("no/such").c_str(), O_WRONLY | O_CREAT, 0600)), ENOENT);
    QCOMPARE(errnoOf(::mknod(home("dev").c_str(), S_IFBLK | 0600, 0x101)), EPERM);
}

void DurableTest::unlinkedFileStaysOpen()
{
    const std::string file = home("gone");
    QCOMPARE(overwrite(file, "content", O_CREAT), 0);
    const int fd = ::open(file.c_str(), O_RDWR);
    QCOMPARE(::unlink(file.c_str()), 0);
    struct stat info = {};
    QCOMPARE(::fstat(fd, &info), 0);
    QCOMPARE(info.st_nlink, nlink_t(0));
    char text[16] = {};
    QCOMPARE(::pread(fd, text, sizeof text, 0), ssize_t(7));
    QCOMPARE(::pwrite(fd, "more", 4, 7), ssize_t(4));
    QCOMPARE(::ftruncate(fd, 9), 0);
    QCOMPARE(::fchmod(fd, 0600), 0);
    QCOMPARE(::fstat(fd, &info), 0);
    QCOMPARE(info.st_size, off_t(9));
    // The name can be used again at once.
    QCOMPARE(overwrite(file, "new", O_CREAT | O_EXCL), 0);
    QCOMPARE(::pread(fd, text, sizeof text, 0), ssize_t(9));
    QCOMPARE(std::string(text, 9), std::string("contentmo"));
    ::close(fd);
    QCOMPARE(contentOf(file), std::string("new"));
}

void DurableTest::hardLinksAndSymlinks()
{
    QCOMPARE(overwrite(home("a"), "1", O_CREAT), 0);
    QCOMPARE(::link(home("a").c_str(), home("b").c_str()), 0);
    struct stat one = {};
    struct stat two = {};
    QCOMPARE(::stat(home("a").c_str(), &one), 0);
    QCOMPARE(::stat(home("b").c_str(), &two), 0);
    QCOMPARE(one.st_ino, two.st_ino);
    QCOMPARE(one.st_nlink, nlink_t(2));
    QCOMPARE(::unlink(home("a").c_str()), 0);
    QCOMPARE(::stat(home("b").c_str(), &two), 0);
    QCOMPARE(two.st_nlink, nlink_t(1));
    QCOMPARE(::symlink("b", home("l").c_str()), 0);
    QCOMPARE(contentOf(home("l")), std::string("1"));
    QCOMPARE(errnoOf(::open(home("l").c_str(), O_RDONLY | O_NOFOLLOW)), ELOOP);
    QCOMPARE(::link(home("l").c_str(), home("l2").c_str()), 0); // of the link itself
    QCOMPARE(::lstat(home("l2").c_str(), &two), 0);
    QVERIFY(S_ISLNK(two.st_mode));
    const timespec times[2] = {{1, 0}, {2, 5}};
    QCOMPARE(::utimensat(AT_FDCWD, home("l").c_str(), times, AT_SYMLINK_NOFOLLOW), 0);
    QCOMPARE(::lstat(home("l").c_str(), &one), 0);
    QCOMPARE(one.st_mtim.tv_sec, time_t(2));
    QCOMPARE(one.st_mtim.tv_nsec, 5L);
    QCOMPARE(::symlink("nowhere", home("dangling").c_str()), 0);
    QCOMPARE(errnoOf(::open(home("dangling").c_str(), O_RDONLY)), ENOENT);
}

void DurableTest::appendAndTruncate()
{
    const std::string file = home("log");
    const int one = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    const int two = ::open(file.c_str(), O_WRONLY | O_APPEND);
    for (int i = 0; i < 5; ++i) {
        QCOMPARE(::write(one, "1\n", 2), ssize_t(2));
        QCOMPARE(::write(two, "2\n", 2), ssize_t(2));
        // The daemon appends behind the kernel's back.
        const int behind = ::open(
            (m_mounted->places.installedTree() + "/home/" + std::to_string(::geteuid()) + "/log").c_str(),
            O_WRONLY | O_APPEND);
        QCOMPARE(::write(behind, "b\n", 2), ssize_t(2));
        ::close(behind);
    }
    QCOMPARE(contentOf(file), std::string("1\n2\nb\n1\n2\nb\n1\n2\nb\n1\n2\nb\n1\n2\nb\n"));
    QCOMPARE(::truncate(file.c_str(), 3), 0);
    QCOMPARE(contentOf(file), std::string("1\n2"));
    QCOMPARE(::write(one, "x", 1), ssize_t(1));
    QCOMPARE(contentOf(file), std::string("1\n2x"));
    ::close(one);
    ::close(two);
    QCOMPARE(overwrite(file, "new", O_TRUNC), 0);
    QCOMPARE(contentOf(file), std::string("new"));
}

void DurableTest::memoryMaps()
{
    const std::string file = home("map");
    const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_APPEND, 0600);
    QCOMPARE(::ftruncate(fd, 8192), 0);
    auto *map = static_cast<char *>(::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    QVERIFY(map != MAP_FAILED);
    std::memcpy(map + 4090, "across pages", 12);
    QCOMPARE(::msync(map, 8192, MS_SYNC), 0);
    QCOMPARE(contentOf(file).substr(4090, 12), std::string("across pages"));
    // Not appended, although the file was opened that way.
    struct stat info = {};
    QCOMPARE(::fstat(fd, &info), 0);
    QCOMPARE(info.st_size, off_t(8192));
    ::munmap(map, 8192);
    ::close(fd);
    QCOMPARE(
        contentOf(m_mounted->places.installedTree() + "/home/" + std::to_string(::geteuid()) + "/map").substr(4090, 12),
        std::string("across pages"));
}

void DurableTest::sparseFiles()
{
    const int fd = ::open(home("sparse").c_str(), O_RDWR | O_CREAT, 0600);
    QCOMPARE(::pwrite(fd, "x", 1, 1 << 20), ssize_t(1));
    QCOMPARE(::lseek(fd, 0, SEEK_DATA), off_t(1 << 20));
    QCOMPARE(::lseek(fd, 0, SEEK_HOLE), off_t(0));
    QCOMPARE(errnoOf(int(::lseek(fd, 2 << 20, SEEK_DATA))), ENXIO);
    struct stat info = {};
    QCOMPARE(::fstat(fd, &info), 0);
    QVERIFY(info.st_blocks * 512 < 100'000);
    // copy_file_range inside the tree.
    const int copy = ::open(home("copy").c_str(), O_RDWR | O_CREAT, 0600);
    off_t from = (1 << 20) - 3;
    off_t to = 0;
    QCOMPARE(::copy_file_range(fd, &from, copy, &to, 4, 0), ssize_t(4));
    char text[4] = {};
    QCOMPARE(::pread(copy, text, 4, 0), ssize_t(4));
    QCOMPARE(text[3], 'x');
    QCOMPARE(::fsync(copy), 0);
    QCOMPARE(::fdatasync(copy), 0);
    ::close(copy);
    ::close(fd);
    const int directory = ::open(home().c_str(), O_RDONLY | O_DIRECTORY);
    QCOMPARE(::fsync(directory), 0);
    ::close(directory);
}

void DurableTest::locks()
{
    const std::string file = home("lock");
    const int fd = ::open(file.c_str(), O_RDWR | O_CREAT, 0600);
    QCOMPARE(::flock(fd, LOCK_EX), 0);
    const int other = ::open(file.c_str(), O_RDWR);
    QCOMPARE(errnoOf(::flock(other, LOCK_EX | LOCK_NB)), EWOULDBLOCK);
    QCOMPARE(::flock(fd, LOCK_UN), 0);
    QCOMPARE(::flock(other, LOCK_EX | LOCK_NB), 0);
    struct flock range = {};
    range.l_type = F_WRLCK;
    range.l_len = 10;
    QCOMPARE(::fcntl(fd, F_SETLK, &range), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        struct flock wanted = {};
        wanted.l_type = F_WRLCK;
        wanted.l_len = 5;
        ::_exit(::fcntl(other, F_SETLK, &wanted) < 0 && errno == EAGAIN ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    QCOMPARE(status, 0);
    ::close(other);
    ::close(fd);
}

void DurableTest::extendedAttributes()
{
    const std::string file = home("x");
    QCOMPARE(overwrite(file, "abc", O_CREAT), 0);
    QCOMPARE(::setxattr(file.c_str(), "user.note", "hello", 5, XATTR_CREATE), 0);
    QCOMPARE(errnoOf(::setxattr(file.c_str(), "user.note", "hello", 5, XATTR_CREATE)), EEXIST);
    char value[512] = {};
    QCOMPARE(::getxattr(file.c_str(), "user.note", value, sizeof value), ssize_t(5));
    QCOMPARE(errnoOf(int(::getxattr(file.c_str(), "user.note", value, 2))), ERANGE);
    QCOMPARE(::listxattr(file.c_str(), value, sizeof value), ssize_t(10));
    QCOMPARE(std::string(value), std::string("user.note"));
    QCOMPARE(::removexattr(file.c_str(), "user.note"), 0);
    QCOMPARE(errnoOf(int(::getxattr(file.c_str(), "user.note", value, sizeof value))), ENODATA);
    QCOMPARE(errnoOf(::setxattr(file.c_str(), "user.cortexfs.kind", "x", 1, 0)), EROFS);
    QCOMPARE(errnoOf(::removexattr(file.c_str(), "user.cortexfs.kind")), EROFS);
    std::memset(value, 0, sizeof value);
    QVERIFY(::getxattr(file.c_str(), "user.cortexfs.abi_path", value, sizeof value) > 0);
    QCOMPARE(std::string(value), "home/" + std::to_string(::geteuid()) + "/x");
    QCOMPARE(::getxattr(file.c_str(), "user.cortexfs.bytes", value, sizeof value), ssize_t(1));
}

void DurableTest::inodesAreTheBackingOnes()
{
    QCOMPARE(overwrite(home("a"), "", O_CREAT), 0);
    struct stat seen = {};
    struct stat backing = {};
    QCOMPARE(::stat(home("a").c_str(), &seen), 0);
    const std::string behind = m_mounted->places.installedTree() + "/home/" + std::to_string(::geteuid()) + "/a";
    QCOMPARE(::stat(behind.c_str(), &backing), 0);
    QCOMPARE(seen.st_ino, backing.st_ino);
    DIR *directory = ::opendir(home().c_str());
    while (const dirent *entry = ::readdir(directory)) {
        if (std::string_view(entry->d_name) == "a") {
            QCOMPARE(entry->d_ino, backing.st_ino);
            QCOMPARE(int(entry->d_type), int(DT_REG));
        }
    }
    ::closedir(directory);
}

void DurableTest::directoryChangesWhileItIsRead()
{
    std::set<std::string> expected;
    for (int i = 0; i < 2000; ++i) {
        const std::string name = "a rather long name of a file, so that several buffers are needed "
                                 + std::to_string(i);
        QCOMPARE(overwrite(home(name), "", O_CREAT), 0);
        expected.insert(name);
    }
    std::set<std::string> seen;
    DIR *directory = ::opendir(home().c_str());
    int count = 0;
    while (const dirent *entry = ::readdir(directory)) {
        const std::string name = entry->d_name;
        if (name.front() == '.')
            continue;
        QVERIFY2(seen.insert(name).second, name.c_str());
        if (++count % 3 == 0)
            QCOMPARE(::unlink(home(name).c_str()), 0);
    }
    QCOMPARE(seen, expected);
    ::rewinddir(directory);
    int left = 0;
    while (::readdir(directory))
        ++left;
    QCOMPARE(left, 2 + 2000 - 2000 / 3);
    ::closedir(directory);
}

void DurableTest::acrossAreasIsAnotherFileSystem()
{
    QCOMPARE(overwrite(home("a"), "1", O_CREAT), 0);
    const std::string shared = m_mounted->path("shared/a");
    QCOMPARE(errnoOf(::rename(home("a").c_str(), shared.c_str())), EXDEV);
    QCOMPARE(errnoOf(::link(home("a").c_str(), shared.c_str())), EXDEV);
    QCOMPARE(shell("mv " + home("a") + " " + shared + " && cat " + shared).output, QStringLiteral("1"));
    QCOMPARE(errnoOf(::rename(shared.c_str(), m_mounted->path("model/debug/echo.d/t").c_str())), EXDEV);
    QCOMPARE(errnoOf(::mkdir(m_mounted->path("home/x").c_str(), 0755)), EROFS);
    QCOMPARE(errnoOf(::rmdir(home().c_str())), EROFS);
    QCOMPARE(errnoOf(::rename(home().c_str(), m_mounted->path("home/77").c_str())), EROFS);
}

void DurableTest::fewDescriptorsManyFiles()
{
    m_mounted.reset();
    rlimit before = {};
    ::getrlimit(RLIMIT_NOFILE, &before);
    rlimit few = before;
    few.rlim_cur = 200;
    ::setrlimit(RLIMIT_NOFILE, &few);
    m_mounted = std::make_unique<Mounted>();
    QVERIFY2(m_mounted->session, qPrintable(m_mounted->problem));
    const CommandResult result = shell(
        "for d in 1 2 3 4 5 6 7 8 9 10; do mkdir d$d; for i in $(seq 100); do echo $i > d$d/n$i; done; done; "
        "find . -type f | wc -l; cat d*/n* | wc -l; rm -r d*; ls | wc -l",
        home());
    QCOMPARE(result.output, QStringLiteral("1000\n1000\n0\n"));
    // Somebody opens more than there is: that one is refused, the others are not.
    // (In a child with the old limit, so that the descriptors which run out are those of the mount.)
    std::vector<std::string> names;
    for (int i = 0; i < 400; ++i)
        names.push_back(home("x" + std::to_string(i)));
    const std::string statusFile = m_mounted->path("status");
    const pid_t greedy = ::fork();
    if (greedy == 0) {
        ::setrlimit(RLIMIT_NOFILE, &before);
        int refused = 0;
        for (const std::string &name : names)
            refused += ::open(name.c_str(), O_WRONLY | O_CREAT, 0600) < 0 ? 1 : 0;
        constexpr std::string_view kReady = "state=ready";
        char text[kReady.size()] = {};
        const int status = ::open(statusFile.c_str(), O_RDONLY);
        const bool answers = ::read(status, text, sizeof text) == ssize_t(sizeof text)
                             && std::string_view(text, sizeof text) == kReady;
        ::_exit(refused > 0 && answers ? 0 : 1);
    }
    int status = -1;
    ::waitpid(greedy, &status, 0);
    QCOMPARE(status, 0);
    // The mount hears later that the files of a dead process are closed, and this process needs descriptors too.
    QTRY_COMPARE(shell("echo x > last && cat last", home()).output, QStringLiteral("x\n"));
    ::setrlimit(RLIMIT_NOFILE, &before);
}

void DurableTest::concurrentWriters()
{
    std::atomic<int> failures{0};
    std::vector<std::thread> workers;
    for (int worker = 0; worker < 4; ++worker) {
        workers.emplace_back([&, worker] {
            for (int i = 0; i < 150; ++i) {
                const std::string name = home("w" + std::to_string(worker));
                const std::string text = std::to_string(worker * 1000 + i);
                if (overwrite(name + ".tmp", text, O_CREAT | O_TRUNC) != 0
                    || ::rename((name + ".tmp").c_str(), name.c_str()) != 0 || contentOf(name) != text)
                    ++failures;
                const std::string other = contentOf(home("w" + std::to_string((worker + 1) % 4)));
                if (other.starts_with("errno") && other != "errno " + std::to_string(ENOENT))
                    ++failures;
            }
        });
    }
    for (std::thread &worker : workers)
        worker.join();
    QCOMPARE(failures.load(), 0);
}

void DurableTest::changesBehindTheMountAreSeen()
{
    const std::string behind = m_mounted->places.installedTree() + "/home/" + std::to_string(::geteuid());
    QCOMPARE(overwrite(home("s"), "one", O_CREAT), 0);
    QCOMPARE(contentOf(home("s")), std::string("one"));
    put(behind + "/s", "a longer text");
    QCOMPARE(contentOf(home("s")), std::string("a longer text"));
    QVERIFY(files::replace(behind + "/s", "replaced", 0644).isOk());
    QCOMPARE(contentOf(home("s")), std::string("replaced"));
    QCOMPARE(::unlink((behind + "/s").c_str()), 0);
    QCOMPARE(errnoOf(::open(home("s").c_str(), O_RDONLY)), ENOENT);
    QCOMPARE(::mkdir((behind + "/d").c_str(), 0700), 0);
    QCOMPARE(overwrite(home("d/f"), "x", O_CREAT), 0);
    QCOMPARE(::rename((behind + "/d").c_str(), (behind + "/e").c_str()), 0);
    QCOMPARE(contentOf(home("e/f")), std::string("x"));
    QCOMPARE(errnoOf(::open(home("d/f").c_str(), O_RDONLY)), ENOENT);
}

QTEST_GUILESS_MAIN(DurableTest)
#include "durable_test.moc"
