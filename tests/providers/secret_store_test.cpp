#include "common/base/limits.h"
#include "common/base/unique_fd.h"
#include "daemon/providers/core/secret_store.h"
#include "tests/support/fake_clock.h"
#include "tests/support/temp_dir.h"

#include <QTest>

#include <functional>

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace cortexfs;
using namespace cortexfs::test;
using providers::SecretCache;
using providers::SecretStore;
using providers::SlotInfo;
using providers::SlotState;

namespace {

constexpr char kCanary[] = "sk-canary-77aa";
constexpr char kOtherKey[] = "sk-another-88b"; // of the same length
constexpr char kSlotFile[] = "secrets/provider/p/default";

using Spoil = std::function<void(const TempDir &)>;
using Change = std::function<void(const TempDir &, SecretStore &)>;

mode_t modeOf(const std::string &path)
{
    struct stat info = {};
    return ::lstat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
}

FileStamp stampAt(const std::string &path)
{
    struct stat info = {};
    return ::lstat(path.c_str(), &info) == 0 ? stampOf(info) : FileStamp();
}

// A clock that shows a minute after now: what was written until now has long settled.
FakeClock aMinuteLater() { return FakeClock(systemClock().wallMs() + 60'000); }

// Tells whether a file was opened since it was asked last.
class OpenWatch {
public:
    explicit OpenWatch(const std::string &path) : m_fd(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC))
    {
        if (::inotify_add_watch(m_fd.get(), path.c_str(), IN_OPEN) < 0)
            qFatal("no watch on %s", path.c_str());
    }
    bool wasOpened()
    {
        bool opened = false;
        alignas(inotify_event) char events[4096];
        while (::read(m_fd.get(), events, sizeof(events)) > 0)
            opened = true;
        return opened;
    }

private:
    UniqueFd m_fd;
};

} // namespace

Q_DECLARE_METATYPE(Spoil)
Q_DECLARE_METATYPE(Change)

class SecretStoreTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void keyComesBackAndIsPrivate();
    void whiteSpaceAroundIsTrimmed();
    void missingSlotNamesProviderAndSlot();
    void slotThatOthersCouldTouchDoesNotCount_data();
    void slotThatOthersCouldTouchDoesNotCount();
    void keyIsReadOnceWhileItsFileStays();
    void keyOfAFileJustWrittenIsReadAgain();
    void keptKeyFollowsItsFile_data();
    void keptKeyFollowsItsFile();
    void keyReadWhileItsSlotGoesIsNotKept();
    void badValueIsNotStored_data();
    void badValueIsNotStored();
    void badNamesAreRefused();
    void setReplacesALinkWithoutFollowingIt();
    void setRepairsOurDirectoryModes();
    void foreignOwnerIsRefused();
    void removeAndList();
};

void SecretStoreTest::keyComesBackAndIsPrivate()
{
    const TempDir dir;
    SecretStore store(dir.path(), ::geteuid());
    const mode_t old = ::umask(0);
    QVERIFY(store.set("openai", "default", SecretString(kCanary)));
    ::umask(old);
    const Result<SecretString> key = store.get("openai", "default");
    QVERIFY(key);
    QVERIFY(key->reveal() == kCanary);
    QCOMPARE(modeOf(dir.path("secrets")), 0700u);
    QCOMPARE(modeOf(dir.path("secrets/provider")), 0700u);
    QCOMPARE(modeOf(dir.path("secrets/provider/openai")), 0700u);
    QCOMPARE(modeOf(dir.path("secrets/provider/openai/default")), 0600u);

    QVERIFY(store.set("openai", "default", SecretString("other")));
    QVERIFY(store.get("openai", "default")->reveal() == "other");
}

void SecretStoreTest::whiteSpaceAroundIsTrimmed()
{
    const TempDir dir;
    SecretStore store(dir.path(), ::geteuid());
    dir.write("secrets/provider/p/default", std::string(" \t") + kCanary + " \r\n\n");
    QVERIFY(store.get("p", "default")->reveal() == kCanary);
    QVERIFY(store.set("p", "other", SecretString(std::string(kCanary) + "\n")));
    QCOMPARE(dir.read("secrets/provider/p/other"), std::string(kCanary));
}

void SecretStoreTest::missingSlotNamesProviderAndSlot()
{
    const TempDir dir;
    const SecretStore store(dir.path(), ::geteuid());
    const Result<SecretString> key = store.get("openai", "office");
    QCOMPARE(key.error().number(), ENOKEY);
    QVERIFY(key.error().message().find("openai") != std::string::npos);
    QVERIFY(key.error().message().find("office") != std::string::npos);
    QVERIFY(store.state("openai", "office").state == SlotState::Missing);
    const Result<std::optional<SecretString>> found = store.find("openai", "office");
    QVERIFY(found && !*found);
    // Asking makes nothing.
    QCOMPARE(modeOf(dir.path("secrets")), 0u);
}

void SecretStoreTest::slotThatOthersCouldTouchDoesNotCount_data()
{
    QTest::addColumn<Spoil>("spoil");
    QTest::addColumn<QByteArray>("reason");
    const auto row = [](const char *title, Spoil spoil, const char *reason) {
        QTest::newRow(title) << spoil << QByteArray(reason);
    };
    const auto slot = [](const TempDir &dir) { return dir.path("secrets/provider/p/default"); };
    row(
        "readable by the group", [=](const TempDir &d) { ::chmod(slot(d).c_str(), 0640); }, "mode 0640");
    row(
        "readable by all", [=](const TempDir &d) { ::chmod(slot(d).c_str(), 0604); }, "mode 0604");
    row(
        "executable", [=](const TempDir &d) { ::chmod(slot(d).c_str(), 0700); }, "mode 0700");
    row(
        "a second hard link", [=](const TempDir &d) { QCOMPARE(::link(slot(d).c_str(), d.path("x").c_str()), 0); },
        "hard links");
    row(
        "a symbolic link",
        [=](const TempDir &d) {
            d.write("elsewhere", kCanary);
            ::unlink(slot(d).c_str());
            QCOMPARE(::symlink(d.path("elsewhere").c_str(), slot(d).c_str()), 0);
        },
        "link");
    row(
        "a directory",
        [=](const TempDir &d) {
            ::unlink(slot(d).c_str());
            ::mkdir(slot(d).c_str(), 0700);
        },
        "regular");
    row(
        "a fifo",
        [=](const TempDir &d) {
            ::unlink(slot(d).c_str());
            QCOMPARE(::mkfifo(slot(d).c_str(), 0600), 0);
        },
        "regular");
    row(
        "over 64 KiB",
        [](const TempDir &d) { d.write("secrets/provider/p/default", std::string(limits::kSecretFile + 1, 'k')); },
        "over");
    row(
        "two lines", [](const TempDir &d) { d.write("secrets/provider/p/default", "one\ntwo\n"); }, "one line");
    row(
        "a NUL inside", [](const TempDir &d) { d.write("secrets/provider/p/default", std::string("a\0b", 3)); },
        "control character");
    row(
        "empty", [](const TempDir &d) { d.write("secrets/provider/p/default", " \n"); }, "empty");
    row(
        "provider directory open to others",
        [](const TempDir &d) { ::chmod(d.path("secrets/provider/p").c_str(), 0755); }, "mode 0755");
    row(
        "secrets directory open to others", [](const TempDir &d) { ::chmod(d.path("secrets").c_str(), 0711); },
        "mode 0711");
    row(
        "provider directory is a link",
        [](const TempDir &d) {
            QCOMPARE(::rename(d.path("secrets/provider/p").c_str(), d.path("moved").c_str()), 0);
            QCOMPARE(::symlink(d.path("moved").c_str(), d.path("secrets/provider/p").c_str()), 0);
        },
        "link");
}

void SecretStoreTest::slotThatOthersCouldTouchDoesNotCount()
{
    QFETCH(Spoil, spoil);
    QFETCH(QByteArray, reason);
    const TempDir dir;
    const FakeClock clock = aMinuteLater();
    SecretStore keeps(dir.path(), ::geteuid(), clock);
    QVERIFY(keeps.set("p", "default", SecretString(kCanary)));
    QVERIFY(keeps.get("p", "default"));
    spoil(dir);
    const SecretStore fresh(dir.path(), ::geteuid());
    for (const SecretStore *store : {&std::as_const(keeps), &fresh}) {
        const Result<SecretString> key = store->get("p", "default");
        QVERIFY(!key);
        QCOMPARE(key.error().number(), ENOKEY);
        QVERIFY2(QByteArray::fromStdString(key.error().message()).contains(reason), key.error().message().c_str());
        const SlotInfo info = store->state("p", "default");
        QVERIFY(info.state == SlotState::Rejected);
        QVERIFY(QByteArray::fromStdString(info.reason).contains(reason));
        QVERIFY(key.error().message().find(kCanary) == std::string::npos);
    }
}

void SecretStoreTest::keyIsReadOnceWhileItsFileStays()
{
    const TempDir dir;
    const FakeClock clock = aMinuteLater();
    SecretStore store(dir.path(), ::geteuid(), clock);
    QVERIFY(store.set("p", "default", SecretString(kCanary)));
    OpenWatch watch(dir.path(kSlotFile));
    QVERIFY(store.get("p", "default")->reveal() == kCanary);
    QVERIFY(watch.wasOpened());
    QVERIFY(store.get("p", "default")->reveal() == kCanary);
    QVERIFY(store.get("p", "default")->reveal() == kCanary);
    QVERIFY(!watch.wasOpened());
}

void SecretStoreTest::keyOfAFileJustWrittenIsReadAgain()
{
    const TempDir dir;
    // Before the file was written: as if it had been written in this very tick of the clock.
    const FakeClock clock(systemClock().wallMs());
    SecretStore store(dir.path(), ::geteuid(), clock);
    QVERIFY(store.set("p", "default", SecretString(kCanary)));
    OpenWatch watch(dir.path(kSlotFile));
    for (int i = 0; i < 2; ++i) {
        QVERIFY(store.get("p", "default")->reveal() == kCanary);
        QVERIFY(watch.wasOpened());
    }
    dir.write(kSlotFile, kOtherKey);
    QVERIFY(store.get("p", "default")->reveal() == kOtherKey);
}

void SecretStoreTest::keptKeyFollowsItsFile_data()
{
    QTest::addColumn<Change>("change");
    QTest::addColumn<QByteArray>("after"); // empty: no key
    const auto row = [](const char *title, Change change, const char *after) {
        QTest::newRow(title) << change << QByteArray(after);
    };
    // Until the clock of the file system has ticked: with a real clock, nothing younger than that is kept.
    const auto overwrite = [](const TempDir &dir) {
        const FileStamp before = stampAt(dir.path(kSlotFile));
        QTRY_VERIFY((dir.write(kSlotFile, kOtherKey), stampAt(dir.path(kSlotFile)) != before));
    };
    row(
        "nothing happens", [](const TempDir &, SecretStore &) {}, kCanary);
    row(
        "another key is set",
        [](const TempDir &, SecretStore &store) { QVERIFY(store.set("p", "default", SecretString(kOtherKey))); },
        kOtherKey);
    row(
        "the slot is removed", [](const TempDir &, SecretStore &store) { QVERIFY(store.remove("p", "default")); }, "");
    row(
        "another slot is removed",
        [](const TempDir &, SecretStore &store) {
            QVERIFY(store.set("p", "office", SecretString(kOtherKey)));
            QVERIFY(store.remove("p", "office"));
        },
        kCanary);
    row(
        "the file is removed by hand", [](const TempDir &dir, SecretStore &) { ::unlink(dir.path(kSlotFile).c_str()); },
        "");
    row(
        "another file is moved over it",
        [](const TempDir &dir, SecretStore &) {
            dir.write("secrets/provider/p/new", kOtherKey);
            QCOMPARE(::rename(dir.path("secrets/provider/p/new").c_str(), dir.path(kSlotFile).c_str()), 0);
        },
        kOtherKey);
    row(
        "the file is overwritten in place", [=](const TempDir &dir, SecretStore &) { overwrite(dir); }, kOtherKey);
    row(
        "it is overwritten and its time is put back",
        [=](const TempDir &dir, SecretStore &) {
            struct stat info = {};
            QCOMPARE(::lstat(dir.path(kSlotFile).c_str(), &info), 0);
            overwrite(dir);
            const timespec times[2] = {info.st_atim, info.st_mtim};
            QCOMPARE(::utimensat(AT_FDCWD, dir.path(kSlotFile).c_str(), times, 0), 0);
        },
        kOtherKey);
    row(
        "its mode is spoilt and repaired",
        [](const TempDir &dir, SecretStore &) {
            QCOMPARE(::chmod(dir.path(kSlotFile).c_str(), 0644), 0);
            QCOMPARE(::chmod(dir.path(kSlotFile).c_str(), 0600), 0);
        },
        kCanary);
    row(
        "the directory of the provider is another one",
        [](const TempDir &dir, SecretStore &) {
            QCOMPARE(::rename(dir.path("secrets/provider/p").c_str(), dir.path("old").c_str()), 0);
            dir.write(kSlotFile, kOtherKey);
        },
        kOtherKey);
}

void SecretStoreTest::keptKeyFollowsItsFile()
{
    QFETCH(Change, change);
    QFETCH(QByteArray, after);
    const TempDir dir;
    const FakeClock clock = aMinuteLater();
    SecretStore store(dir.path(), ::geteuid(), clock);
    QVERIFY(store.set("p", "default", SecretString(kCanary)));
    QVERIFY(store.get("p", "default")->reveal() == kCanary);
    change(dir, store);
    for (int i = 0; i < 2; ++i) {
        const Result<SecretString> key = store.get("p", "default");
        QCOMPARE(key ? 0 : key.error().number(), after.isEmpty() ? ENOKEY : 0);
        QVERIFY(after.isEmpty() || key->reveal() == after.toStdString());
    }
}

void SecretStoreTest::keyReadWhileItsSlotGoesIsNotKept()
{
    SecretCache cache;
    FileStamp stamp;
    stamp.inode = 7;
    const std::uint64_t dropCount = cache.dropCount();
    cache.drop("slot");
    cache.keep("slot", stamp, SecretString(kCanary), dropCount);
    QVERIFY(!cache.find("slot", stamp));
    cache.keep("slot", stamp, SecretString(kCanary), cache.dropCount());
    QVERIFY(cache.find("slot", stamp)->reveal() == kCanary);
    cache.drop("slot");
    QVERIFY(!cache.find("slot", stamp));
}

void SecretStoreTest::badValueIsNotStored_data()
{
    QTest::addColumn<QByteArray>("value");
    QTest::addColumn<int>("code");
    QTest::newRow("empty") << QByteArray("") << EINVAL;
    QTest::newRow("white space") << QByteArray(" \n") << EINVAL;
    QTest::newRow("two lines") << QByteArray("canary-a\ncanary-b") << EINVAL;
    QTest::newRow("header injection") << QByteArray("canary\r\nX-Evil: 1") << EINVAL;
    QTest::newRow("over 64 KiB") << QByteArray(limits::kSecretFile + 1, 'k') << EMSGSIZE;
}

void SecretStoreTest::badValueIsNotStored()
{
    QFETCH(QByteArray, value);
    QFETCH(int, code);
    const TempDir dir;
    SecretStore store(dir.path(), ::geteuid());
    QVERIFY(store.set("p", "default", SecretString("good")));
    const Result<void> set = store.set("p", "default", SecretString(value.toStdString()));
    QVERIFY(!set);
    QCOMPARE(set.error().number(), code);
    QVERIFY(set.error().message().find("canary") == std::string::npos);
    QVERIFY(store.get("p", "default")->reveal() == "good");
}

void SecretStoreTest::badNamesAreRefused()
{
    const TempDir dir;
    SecretStore store(dir.path(), ::geteuid());
    for (const char *name : {"", "..", "../x", "a/b", ".hidden", "x.sock"}) {
        QCOMPARE(store.set(name, "default", SecretString("k")).error().number(), EINVAL);
        QCOMPARE(store.set("p", name, SecretString("k")).error().number(), EINVAL);
        QCOMPARE(store.get("p", name).error().number(), EINVAL);
        QCOMPARE(store.find("p", name).error().number(), EINVAL);
        QCOMPARE(store.remove(name, "default").error().number(), EINVAL);
    }
}

void SecretStoreTest::setReplacesALinkWithoutFollowingIt()
{
    const TempDir dir;
    SecretStore store(dir.path(), ::geteuid());
    QVERIFY(store.set("p", "other", SecretString("x")));
    dir.write("victim", "untouched");
    QCOMPARE(::symlink(dir.path("victim").c_str(), dir.path("secrets/provider/p/default").c_str()), 0);
    QVERIFY(store.set("p", "default", SecretString(kCanary)));
    QCOMPARE(dir.read("victim"), std::string("untouched"));
    QVERIFY(store.get("p", "default")->reveal() == kCanary);
}

void SecretStoreTest::setRepairsOurDirectoryModes()
{
    const TempDir dir;
    SecretStore store(dir.path(), ::geteuid());
    QCOMPARE(::mkdir(dir.path("secrets").c_str(), 0755), 0);
    ::chmod(dir.path("secrets").c_str(), 0755);
    QVERIFY(store.set("p", "default", SecretString(kCanary)));
    QCOMPARE(modeOf(dir.path("secrets")), 0700u);
    QVERIFY(store.get("p", "default"));
}

void SecretStoreTest::foreignOwnerIsRefused()
{
    const TempDir dir;
    QVERIFY(SecretStore(dir.path(), ::geteuid()).set("p", "default", SecretString(kCanary)));
    // The store of another uid sees the same files as foreign.
    SecretStore other(dir.path(), ::geteuid() + 1);
    QCOMPARE(other.get("p", "default").error().number(), ENOKEY);
    QVERIFY(other.state("p", "default").reason.find("belongs to uid") != std::string::npos);
    QCOMPARE(other.set("p", "default", SecretString("k")).error().number(), EACCES);
    QVERIFY(SecretStore(dir.path(), ::geteuid()).get("p", "default"));
}

void SecretStoreTest::removeAndList()
{
    const TempDir dir;
    SecretStore store(dir.path(), ::geteuid());
    QVERIFY(store.list().empty());
    QVERIFY(store.set("b", "office", SecretString("1")));
    QVERIFY(store.set("b", "default", SecretString("2")));
    QVERIFY(store.set("a", "default", SecretString("3")));
    dir.write("secrets/provider/a/spoilt", "k", 0644);
    dir.write("secrets/provider/a/.cortexfs-tmp-1-1", "left behind by a crash");
    std::string seen;
    for (const SlotInfo &info : store.list())
        seen += info.provider + "/" + info.slot + (info.state == SlotState::Filled ? " " : "! ");
    QCOMPARE(seen, std::string("a/default a/spoilt! b/default b/office "));

    QVERIFY(store.remove("b", "default"));
    QCOMPARE(store.get("b", "default").error().number(), ENOKEY);
    QCOMPARE(store.remove("b", "default").error().number(), ENOENT);
    QCOMPARE(store.remove("nobody", "default").error().number(), ENOENT);
}

QTEST_GUILESS_MAIN(SecretStoreTest)
#include "secret_store_test.moc"
