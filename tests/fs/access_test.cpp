// Who may do what in home/ and shared/: foreign uids, warm caches, modes and groups.
#include "tests/fs/fs_fixture.h"

#include "common/base/files.h"

#include <QtTest>

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace cortexfs;
using namespace cortexfs::fstest;

namespace {
constexpr uid_t kAlice = 12345;
constexpr uid_t kBob = 12346;
} // namespace

class AccessTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void cleanup();
    void setuidIsLostByWriting();
    void foreignUidIsKeptOut();
    void hotDentriesLetNobodyIn();
    void homeBelongsToItsUser();
    void sharedFollowsModesAndGroups();
    void handedOverDescriptorsWork();

private:
    std::string home() const { return m_mounted->path("home/" + std::to_string(::geteuid())); }
    std::unique_ptr<Mounted> m_mounted;
};

void AccessTest::init()
{
    m_mounted = std::make_unique<Mounted>();
    QVERIFY2(m_mounted->session, qPrintable(m_mounted->problem));
}

void AccessTest::cleanup() { m_mounted.reset(); }

void AccessTest::setuidIsLostByWriting()
{
    if (::geteuid() != 0)
        return; // root's own writes keep it, and only root can play another uid
    const std::string file = m_mounted->path("shared/s");
    QCOMPARE(overwrite(file, "x", O_CREAT), 0);
    QCOMPARE(::chmod(file.c_str(), 06777), 0);
    QCOMPARE(asUser(kAlice, [&] { return overwrite(file, "new"); }), 0);
    struct stat info = {};
    QCOMPARE(::stat(file.c_str(), &info), 0);
    QCOMPARE(uint(info.st_mode & 07777), 0777U);
    QCOMPARE(::chmod(file.c_str(), 04777), 0);
    QCOMPARE(asUser(kAlice, [&] { return errnoOf(::truncate(file.c_str(), 1)); }), 0);
    QCOMPARE(::stat(file.c_str(), &info), 0);
    QCOMPARE(uint(info.st_mode & 07777), 0777U);
}

void AccessTest::foreignUidIsKeptOut()
{
    if (::geteuid() != 0)
        return; // the kernel keeps other uids out of a user's mount
    const std::string alice = m_mounted->path("home/12345");
    QCOMPARE(asUser(kBob, [&] { return errnoOf(::access(alice.c_str(), F_OK)); }), ENOENT);
    QCOMPARE(asUser(kAlice, [&] { return overwrite(alice + "/secret", "s", O_CREAT); }), 0);
    QCOMPARE(asUser(kAlice, [&] { return errnoOf(::chmod(alice.c_str(), 0777)); }), 0); // does not help anybody
    QCOMPARE(asUser(kAlice, [&] { return errnoOf(::chmod((alice + "/secret").c_str(), 0666)); }), 0);
    const auto asBob = [](const std::function<int()> &body) { return asUser(kBob, body); };
    QCOMPARE(asBob([&] { return errnoOf(::open((alice + "/secret").c_str(), O_RDONLY)); }), EACCES);
    QCOMPARE(asBob([&] { return errnoOf(::open((alice + "/new").c_str(), O_WRONLY | O_CREAT, 0600)); }), EACCES);
    QCOMPARE(asBob([&] { return errnoOf(::open(alice.c_str(), O_RDONLY | O_DIRECTORY)); }), EACCES);
    QCOMPARE(asBob([&] { return errnoOf(::chdir(alice.c_str())); }), EACCES);
    QCOMPARE(asBob([&] { return errnoOf(::mkdir((alice + "/d").c_str(), 0700)); }), EACCES);
    QCOMPARE(asBob([&] { return errnoOf(::unlink((alice + "/secret").c_str())); }), EACCES);
    QCOMPARE(asBob([&] { return errnoOf(::rename((alice + "/secret").c_str(), (alice + "/x").c_str())); }), EACCES);
    struct stat info = {};
    QCOMPARE(asBob([&] { return errnoOf(::stat((alice + "/secret").c_str(), &info)); }), EACCES);
    QCOMPARE(asBob([&] { return errnoOf(::chmod(alice.c_str(), 0700)); }), EACCES);
    QCOMPARE(contentOf(alice + "/secret"), std::string("s")); // root may
}

void AccessTest::hotDentriesLetNobodyIn()
{
    if (::geteuid() != 0)
        return; // as above
    const std::string alice = m_mounted->path("home/12345");
    QCOMPARE(asUser(kAlice, [&] { return errnoOf(::mkdir((alice + "/project").c_str(), 0777)); }), 0);
    QCOMPARE(asUser(kAlice, [&] { return overwrite(alice + "/project/f", "s", O_CREAT); }), 0);
    QCOMPARE(::chmod((alice + "/project").c_str(), 0777), 0);
    // Alice works in there and keeps every dentry warm.
    int ready[2];
    QCOMPARE(::pipe(ready), 0);
    const std::string project = alice + "/project";
    const std::string warm = project + "/f";
    const pid_t worker = ::fork();
    if (worker == 0) {
        if (::setgid(kAlice) != 0 || ::setuid(kAlice) != 0 || ::chdir(project.c_str()) != 0)
            ::_exit(9);
        for (;;) {
            struct stat info;
            if (::stat("f", &info) != 0 || ::stat(warm.c_str(), &info) != 0)
                ::_exit(8);
            char one = 1;
            if (::write(ready[1], &one, 1) != 1)
                ::_exit(7);
        }
    }
    char one = 0;
    QCOMPARE(::read(ready[0], &one, 1), ssize_t(1));
    for (int i = 0; i < 100; ++i) {
        QCOMPARE(::read(ready[0], &one, 1), ssize_t(1));
        QCOMPARE(asUser(kBob, [&] { return errnoOf(::open((alice + "/project/f").c_str(), O_RDONLY)); }), EACCES);
        QCOMPARE(asUser(kBob, [&] { return errnoOf(::chdir((alice + "/project").c_str())); }), EACCES);
    }
    ::kill(worker, SIGKILL);
    int status = 0;
    ::waitpid(worker, &status, 0);
    QVERIFY(WIFSIGNALED(status)); // Alice was never disturbed
    ::close(ready[0]);
    ::close(ready[1]);
}

void AccessTest::homeBelongsToItsUser()
{
    struct stat info = {};
    QCOMPARE(::stat(home().c_str(), &info), 0);
    QCOMPARE(info.st_uid, ::geteuid());
    QCOMPARE(uint(info.st_mode), uint(S_IFDIR | 0700));
    for (const char *name : {"root", "4294967296", "01", "-1", "12x"})
        QCOMPARE(errnoOf(::stat(m_mounted->path(std::string("home/") + name).c_str(), &info)), ENOENT);
    if (::geteuid() != 0) {
        QCOMPARE(errnoOf(::stat(m_mounted->path("home/12345").c_str(), &info)), ENOENT);
        return;
    }
    QCOMPARE(::stat(m_mounted->path("home/12345").c_str(), &info), 0); // root looks it up
    QCOMPARE(info.st_uid, kAlice);
    QCOMPARE(uint(info.st_mode & 07777), 0700U);
    QCOMPARE(asUser(kAlice, [&] { return overwrite(m_mounted->path("home/12345/f"), "x", O_CREAT); }), 0);
    QCOMPARE(::stat(m_mounted->path("home/12345/f").c_str(), &info), 0);
    QCOMPARE(info.st_uid, kAlice);
    QCOMPARE(info.st_gid, gid_t(kAlice));
    // Each user lists what is theirs.
    QCOMPARE(
        asUser(kBob, [&] { return shell("test \"$(find " + m_mounted->path("home") + " | wc -l)\" = 1").exitCode; }),
        0);
}

void AccessTest::sharedFollowsModesAndGroups()
{
    if (::geteuid() != 0)
        return; // needs several uids
    const std::string space = m_mounted->path("shared/team");
    constexpr gid_t team = 54321;
    QCOMPARE(::mkdir(space.c_str(), 0755), 0);
    QCOMPARE(::chown(space.c_str(), 0, team), 0);
    QCOMPARE(::chmod(space.c_str(), 02770), 0);
    const auto create = [&](const char *name) {
        return [file = space + "/" + name] { return overwrite(file, "x", O_CREAT | O_EXCL); };
    };
    QCOMPARE(asUser(kAlice, create("a")), EACCES);
    QCOMPARE(asUser(kAlice, create("a"), {team}), 0); // a supplementary group is enough
    struct stat info = {};
    QCOMPARE(::stat((space + "/a").c_str(), &info), 0);
    QCOMPARE(info.st_uid, kAlice);
    QCOMPARE(info.st_gid, team);                                                          // from the directory
    QCOMPARE(asUser(kBob, [&] { return overwrite(space + "/a", "y"); }, {team}), EACCES); // 0644
    QCOMPARE(asUser(kAlice, [&] { return errnoOf(::chmod((space + "/a").c_str(), 02664)); }, {team}), 0);
    QCOMPARE(::stat((space + "/a").c_str(), &info), 0);
    QCOMPARE(uint(info.st_mode & 07777), 02664U); // the group was known
    QCOMPARE(asUser(kBob, [&] { return overwrite(space + "/a", "y"); }, {team}), 0);
    QCOMPARE(asUser(kBob, [&] { return errnoOf(::chmod((space + "/a").c_str(), 0666)); }, {team}), EPERM);
    QCOMPARE(asUser(kBob, [&] { return errnoOf(::chown((space + "/a").c_str(), kBob, team)); }, {team}), EPERM);
    // The sticky bit.
    const std::string open = m_mounted->path("shared/open");
    QCOMPARE(::mkdir(open.c_str(), 0755), 0);
    QCOMPARE(::chmod(open.c_str(), 01777), 0);
    QCOMPARE(asUser(kAlice, [&] { return overwrite(open + "/a", "x", O_CREAT); }), 0);
    QCOMPARE(asUser(kBob, [&] { return errnoOf(::unlink((open + "/a").c_str())); }), EPERM);
    QCOMPARE(asUser(kBob, [&] { return errnoOf(::mkdir(m_mounted->path("shared/mine").c_str(), 0755)); }), EACCES);
    // An executable that may be run and not read.
    put(m_mounted->places.installedTree() + "/shared/open/run", contentOf("/bin/true"), 0711);
    QCOMPARE(asUser(kBob, [&] { return errnoOf(::open((open + "/run").c_str(), O_RDONLY)); }), EACCES);
    QCOMPARE(asUser(kBob, [&] { return shell(open + "/run").exitCode; }), 0);
}

void AccessTest::handedOverDescriptorsWork()
{
    if (::geteuid() != 0)
        return; // needs two uids
    // sudo -u bob cat > ~/out
    const std::string file = m_mounted->path("home/12345/out");
    const int fd = ::open(file.c_str(), O_RDWR | O_CREAT, 0600);
    QVERIFY(fd >= 0);
    QCOMPARE(asUser(kBob,
                    [&] {
                        struct stat info;
                        if (::fstat(fd, &info) != 0)
                            return errno;
                        return ::write(fd, "bob", 3) == 3 && ::ftruncate(fd, 2) == 0 ? 0 : errno;
                    }),
             0);
    QCOMPARE(contentOf(file), std::string("bo"));
    ::close(fd);
}

QTEST_GUILESS_MAIN(AccessTest)
#include "access_test.moc"
