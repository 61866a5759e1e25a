#include "daemon/core/control_store.h"
#include "tests/common/test_strings.h"
#include "tests/support/temp_dir.h"

#include <QTest>

#include <csignal>
#include <filesystem>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace cortexfs;
using models::Control;

namespace {

const abi::ModelRef kModel{"openai", "gpt-5.6"};

// "P/M.control=text ..." in order
std::string described(const ControlStore::Overrides &overrides)
{
    std::string out;
    for (const auto &[ref, controls] : overrides) {
        for (const auto &[control, text] : controls) {
            out += (out.empty() ? "" : " ") + ref.text() + "."
                   + std::string(models::kControlNames[static_cast<std::size_t>(control)]) + "="
                   + text.substr(0, text.find('\n'));
        }
    }
    return out;
}

std::string described(const std::map<std::string, abi::ModelRef> &aliases)
{
    std::string out;
    for (const auto &[name, ref] : aliases)
        out += (out.empty() ? "" : " ") + name + "->" + ref.text();
    return out;
}

mode_t modeOf(const std::string &path)
{
    struct stat info = {};
    return ::lstat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
}

} // namespace

class ControlStoreTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void roundTrip();
    void modesWhateverTheUmask();
    void nothingThereIsNothing();
    void leftoversOfACrash();
    void hostileEntries_data();
    void hostileEntries();
    void linksAreNotFollowedWhenWriting_data();
    void linksAreNotFollowedWhenWriting();
    void hostileAliases();
    void aliasesReplaceAndGo();
    void removeAlias_data();
    void removeAlias();
    void setAliasOverADirectory();
    void killedWritersLeaveOldOrNew();
};

void ControlStoreTest::roundTrip()
{
    const test::TempDir dir;
    const ControlStore store(dir.path("tree"));
    QVERIFY(store.prepare());
    QVERIFY(store.write(kModel, Control::Effort, "high\n"));
    QVERIFY(store.write(kModel, Control::Effort, "low\n"));
    QVERIFY(store.write(kModel, Control::Default, ""));
    QVERIFY(store.write(kModel, Control::Fallback, "a/b\nc/d\n"));
    QVERIFY(store.write({"debug", "echo"}, Control::Session, "socket\n"));
    QVERIFY(store.setAlias("main", kModel));
    QVERIFY(store.setAlias("mine", {"debug", "echo"}));
    const ControlStore again(dir.path("tree"));
    QVERIFY(again.prepare());
    const ControlStore::Overrides overrides = again.loadOverrides();
    QCOMPARE(
        described(overrides),
        std::string(
            "debug/echo.session=socket openai/gpt-5.6.effort=low openai/gpt-5.6.default= openai/gpt-5.6.fallback=a/b"));
    QCOMPARE(overrides.at(kModel).at(Control::Fallback), std::string("a/b\nc/d\n"));
    QCOMPARE(described(again.loadAliases()), std::string("main->openai/gpt-5.6 mine->debug/echo"));
    QCOMPARE(dir.read("tree/model/openai/gpt-5.6.d/effort"), std::string("low\n"));
    QCOMPARE(std::filesystem::read_symlink(dir.path("tree/model/main")).string(), std::string("openai/gpt-5.6"));
}

void ControlStoreTest::modesWhateverTheUmask()
{
    const test::TempDir dir;
    const mode_t before = ::umask(077);
    const ControlStore store(dir.path("tree"));
    const bool ok = store.prepare().isOk() && store.write(kModel, Control::Effort, "high\n").isOk();
    ::umask(before);
    QVERIFY(ok);
    QCOMPARE(modeOf(dir.path("tree/model/openai/gpt-5.6.d/effort")), mode_t(0644));
    QCOMPARE(modeOf(dir.path("tree/model")), mode_t(0755));
}

void ControlStoreTest::nothingThereIsNothing()
{
    const test::TempDir dir;
    const ControlStore store(dir.path("gone"));
    QVERIFY(store.loadOverrides().empty());
    QVERIFY(store.loadAliases().empty());
    QVERIFY(!store.write(kModel, Control::Effort, "high\n"));
    QVERIFY(!store.setAlias("main", kModel));
    QVERIFY(!store.removeAlias("main"));
    dir.write("file", "x");
    QVERIFY(!ControlStore(dir.path("file")).prepare());
}

void ControlStoreTest::leftoversOfACrash()
{
    const test::TempDir dir;
    dir.write("tree/model/.cortexfs-tmp-1-0", "half");
    dir.write("tree/model/openai/gpt-5.6.d/effort", "high\n");
    dir.write("tree/model/openai/gpt-5.6.d/.cortexfs-tmp-1-7", "lo");
    QCOMPARE(::symlink("a/b", dir.path("tree/model/.cortexfs-tmp-link-main").c_str()), 0);
    const ControlStore store(dir.path("tree"));
    QVERIFY(store.prepare());
    QCOMPARE(described(store.loadOverrides()), std::string("openai/gpt-5.6.effort=high"));
    QVERIFY(store.loadAliases().empty());
    QVERIFY(!std::filesystem::exists(dir.path("tree/model/.cortexfs-tmp-1-0")));
    QVERIFY(!std::filesystem::is_symlink(dir.path("tree/model/.cortexfs-tmp-link-main")));
    QVERIFY(!std::filesystem::exists(dir.path("tree/model/openai/gpt-5.6.d/.cortexfs-tmp-1-7")));
    // A crash between the two steps of an alias does not block the next one.
    QCOMPARE(::symlink("a/b", dir.path("tree/model/.cortexfs-tmp-link-main").c_str()), 0);
    QVERIFY(store.setAlias("main", kModel));
}

void ControlStoreTest::hostileEntries_data()
{
    QTest::addColumn<std::string>("kind");
    for (const char *kind : {"link to a control", "linked provider", "linked controls", "FIFO", "directory",
                             "over 64 KiB", "read-only control", "unknown name", "no object name", "not .d",
                             "file for a provider", "file for the controls"})
        QTest::newRow(kind) << std::string(kind);
}

void ControlStoreTest::hostileEntries()
{
    QFETCH(std::string, kind);
    const test::TempDir dir;
    dir.write("elsewhere/effort", "max\n");
    dir.write("tree/model/good/m.d/effort", "low\n");
    const std::string base = "tree/model/evil/m.d";
    const auto makeBase = [&] { dir.write(base + "/session", "none\n"); };
    std::string expected = "evil/m.session=none good/m.effort=low";
    if (kind == "link to a control") {
        makeBase();
        QCOMPARE(::symlink(dir.path("elsewhere/effort").c_str(), dir.path(base + "/effort").c_str()), 0);
    } else if (kind == "FIFO") {
        makeBase();
        QCOMPARE(::mkfifo(dir.path(base + "/effort").c_str(), 0600), 0);
    } else if (kind == "directory") {
        makeBase();
        QCOMPARE(::mkdir(dir.path(base + "/effort").c_str(), 0700), 0);
    } else if (kind == "over 64 KiB") {
        makeBase();
        dir.write(base + "/default", "a=" + std::string(65'536, 'x'));
    } else if (kind == "read-only control") {
        makeBase();
        dir.write(base + "/limit", "1\n");
        dir.write(base + "/status", "state=ready\n");
        dir.write(base + "/id", "x\n");
    } else if (kind == "unknown name") {
        makeBase();
        dir.write(base + "/api_key", "sk-x\n");
        dir.write(base + "/effort~", "max\n");
    } else {
        expected = "good/m.effort=low";
        if (kind == "linked provider") {
            dir.write("elsewhere2/m.d/effort", "max\n");
            QCOMPARE(::symlink(dir.path("elsewhere2").c_str(), dir.path("tree/model/evil").c_str()), 0);
        } else if (kind == "linked controls") {
            dir.write("tree/model/evil/x", "");
            QCOMPARE(::symlink(dir.path("elsewhere").c_str(), dir.path(base).c_str()), 0);
        } else if (kind == "no object name") {
            dir.write("tree/model/_evil/m.d/effort", "max\n");
            dir.write("tree/model/evil/-m.d/effort", "max\n");
            dir.write("tree/model/evil/.d/effort", "max\n");
            dir.write("tree/model/evil/m.sock.d/effort", "max\n");
            dir.write("tree/model/ev il/m.d/effort", "max\n");
        } else if (kind == "not .d") {
            dir.write("tree/model/evil/m/effort", "max\n");
        } else if (kind == "file for a provider") {
            dir.write("tree/model/evil", "max\n");
        } else {
            dir.write("tree/model/evil/m.d", "max\n");
        }
    }
    const ControlStore store(dir.path("tree"));
    QVERIFY(store.prepare());
    QCOMPARE(described(store.loadOverrides()), expected);
    QCOMPARE(dir.read("elsewhere/effort"), std::string("max\n"));
}

void ControlStoreTest::linksAreNotFollowedWhenWriting_data()
{
    QTest::addColumn<std::string>("link");
    QTest::addColumn<bool>("ok");
    QTest::newRow("in the provider's place") << std::string("tree/model/openai") << false;
    QTest::newRow("in the place of the controls") << std::string("tree/model/openai/gpt-5.6.d") << false;
    QTest::newRow("in the file's place it is replaced") << std::string("tree/model/openai/gpt-5.6.d/effort") << true;
}

void ControlStoreTest::linksAreNotFollowedWhenWriting()
{
    QFETCH(std::string, link);
    QFETCH(bool, ok);
    const test::TempDir dir;
    dir.write("elsewhere/gpt-5.6.d/effort", "victim\n");
    dir.write("elsewhere/effort", "victim\n");
    const ControlStore store(dir.path("tree"));
    QVERIFY(store.prepare());
    dir.write(link.substr(0, link.rfind('/')) + "/x", "");
    const std::string target = ok ? dir.path("elsewhere/effort") : dir.path("elsewhere");
    QCOMPARE(::symlink(target.c_str(), dir.path(link).c_str()), 0);
    QCOMPARE(store.write(kModel, Control::Effort, "high\n").isOk(), ok);
    QCOMPARE(dir.read("elsewhere/gpt-5.6.d/effort"), std::string("victim\n"));
    QCOMPARE(dir.read("elsewhere/effort"), std::string("victim\n"));
    if (ok)
        QCOMPARE(described(store.loadOverrides()), std::string("openai/gpt-5.6.effort=high"));
}

void ControlStoreTest::hostileAliases()
{
    const test::TempDir dir;
    const ControlStore store(dir.path("tree"));
    QVERIFY(store.prepare());
    const auto link = [&](const std::string &name, const std::string &target) {
        return ::symlink(target.c_str(), dir.path("tree/model/" + name).c_str()) == 0;
    };
    QVERIFY(link("good", "a/b"));
    QVERIFY(link("absolute", "/ctx/model/a/b"));
    QVERIFY(link("up", "../../etc/passwd"));
    QVERIFY(link("alone", "a"));
    QVERIFY(link("deep", "a/b/c"));
    QVERIFY(link("long", std::string(300, 'x') + "/b"));
    QVERIFY(link("exactly255", std::string(253, 'x') + "/b"));
    QVERIFY(link("_hidden", "a/b"));
    QVERIFY(link("x.d", "a/b"));
    QVERIFY(link("x.sock", "a/b"));
    QVERIFY(link("with blank", "a/b"));
    dir.write("tree/model/file", "a/b");
    QCOMPARE(described(store.loadAliases()), std::string("good->a/b"));
}

void ControlStoreTest::aliasesReplaceAndGo()
{
    const test::TempDir dir;
    const ControlStore store(dir.path("tree"));
    QVERIFY(store.prepare());
    QVERIFY(store.setAlias("main", {"a", "b"}));
    QVERIFY(store.setAlias("main", {"c", "d"}));
    QCOMPARE(described(store.loadAliases()), std::string("main->c/d"));
    QVERIFY(store.removeAlias("main"));
    QVERIFY(store.loadAliases().empty());
    const Result<void> again = store.removeAlias("main");
    QVERIFY(!again);
    QCOMPARE(again.error().number(), ENOENT);
    std::size_t left = 0;
    for (const auto &entry : std::filesystem::directory_iterator(dir.path("tree/model")))
        left += entry.exists() ? 1 : 1;
    QCOMPARE(left, std::size_t(0));
}

void ControlStoreTest::removeAlias_data()
{
    QTest::addColumn<std::string>("name");
    QTest::addColumn<int>("number");
    QTest::newRow("a directory") << std::string("openai") << EROFS;
    QTest::newRow("a file") << std::string("route") << EROFS;
    QTest::newRow("nothing") << std::string("gone") << ENOENT;
    QTest::newRow("an over-long name") << std::string(300, 'x') << ENAMETOOLONG;
}

void ControlStoreTest::removeAlias()
{
    QFETCH(std::string, name);
    QFETCH(int, number);
    const test::TempDir dir;
    dir.write("tree/model/openai/m.d/effort", "low\n");
    dir.write("tree/model/route", "fallback: direct\n");
    const ControlStore store(dir.path("tree"));
    const Result<void> removed = store.removeAlias(name);
    QVERIFY(!removed);
    QCOMPARE(removed.error().number(), number);
    QCOMPARE(dir.read("tree/model/route"), std::string("fallback: direct\n"));
}

void ControlStoreTest::setAliasOverADirectory()
{
    const test::TempDir dir;
    dir.write("tree/model/openai/m.d/effort", "low\n");
    const ControlStore store(dir.path("tree"));
    const Result<void> set = store.setAlias("openai", {"a", "b"});
    QVERIFY(!set);
    QCOMPARE(set.error().number(), EISDIR);
    QCOMPARE(dir.read("tree/model/openai/m.d/effort"), std::string("low\n"));
    QVERIFY(store.prepare());
    std::size_t entries = 0;
    for (const auto &entry : std::filesystem::directory_iterator(dir.path("tree/model")))
        entries += entry.path().filename() == "openai" ? 1 : 100;
    QCOMPARE(entries, std::size_t(1));
}

void ControlStoreTest::killedWritersLeaveOldOrNew()
{
    const test::TempDir dir;
    const ControlStore store(dir.path("tree"));
    QVERIFY(store.prepare());
    const std::string old = "a=" + std::string(30'000, 'a') + "\n";
    const std::string fresh = "a=" + std::string(60'000, 'b') + "\n";
    QVERIFY(store.write(kModel, Control::Default, old));
    for (int round = 0; round < 25; ++round) {
        const pid_t child = ::fork();
        QVERIFY(child >= 0);
        if (child == 0) {
            for (;;) {
                static_cast<void>(store.write(kModel, Control::Default, fresh));
                static_cast<void>(store.setAlias("main", {"a", "a"}));
                static_cast<void>(store.write(kModel, Control::Default, old));
                static_cast<void>(store.setAlias("main", {"b", "b"}));
            }
        }
        for (int i = 0; i < 10 + round * 3; ++i)
            QVERIFY(store.loadOverrides().size() == 1);
        ::kill(child, SIGKILL);
        QCOMPARE(::waitpid(child, nullptr, 0), child);
        const ControlStore next(dir.path("tree"));
        QVERIFY(next.prepare());
        const ControlStore::Overrides overrides = next.loadOverrides();
        const std::string &text = overrides.at(kModel).at(Control::Default);
        QVERIFY(text == old || text == fresh);
        const std::string aliases = described(next.loadAliases());
        QVERIFY2(aliases.empty() || aliases == "main->a/a" || aliases == "main->b/b", aliases.c_str());
        std::size_t files = 0;
        for (const auto &entry : std::filesystem::directory_iterator(dir.path("tree/model/openai/gpt-5.6.d")))
            files += entry.path().filename() == "default" ? 1 : 100;
        QCOMPARE(files, std::size_t(1));
    }
}

QTEST_GUILESS_MAIN(ControlStoreTest)
#include "control_store_test.moc"
