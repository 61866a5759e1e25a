#include "common/base/limits.h"
#include "daemon/providers/core/secret_store.h"
#include "tests/support/temp_dir.h"

#include <QTest>

#include <functional>

#include <sys/stat.h>
#include <unistd.h>

using namespace cortexfs;
using namespace cortexfs::test;
using providers::SecretStore;
using providers::SlotInfo;
using providers::SlotState;

namespace {

constexpr char kCanary[] = "sk-canary-77aa";

using Spoil = std::function<void(const TempDir &)>;

mode_t modeOf(const std::string &path)
{
    struct stat info = {};
    return ::lstat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
}

} // namespace

Q_DECLARE_METATYPE(Spoil)

class SecretStoreTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void keyComesBackAndIsPrivate();
    void whiteSpaceAroundIsTrimmed();
    void missingSlotNamesProviderAndSlot();
    void slotThatOthersCouldTouchDoesNotCount_data();
    void slotThatOthersCouldTouchDoesNotCount();
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
    SecretStore store(dir.path(), ::geteuid());
    QVERIFY(store.set("p", "default", SecretString(kCanary)));
    spoil(dir);
    const Result<SecretString> key = store.get("p", "default");
    QVERIFY(!key);
    QCOMPARE(key.error().number(), ENOKEY);
    QVERIFY2(QByteArray::fromStdString(key.error().message()).contains(reason), key.error().message().c_str());
    const SlotInfo info = store.state("p", "default");
    QVERIFY(info.state == SlotState::Rejected);
    QVERIFY(QByteArray::fromStdString(info.reason).contains(reason));
    QVERIFY(key.error().message().find(kCanary) == std::string::npos);
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
