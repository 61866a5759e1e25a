#include "common/config/provider_config.h"
#include "tests/common/test_strings.h"
#include "tests/support/temp_dir.h"

#include <QTest>

#include <csignal>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace cortexfs;
using namespace cortexfs::config;

namespace {

std::string provider(const std::string &name, const std::string &more = {})
{
    return R"({"name":")" + name + R"(","base_url":"http://h.example/v1")" + more + "}";
}

std::string names(const ProviderSet &set)
{
    std::string out;
    for (const ProviderConfig &config : set.providers)
        out += (out.empty() ? "" : " ") + config.name + ":" + config.file;
    return out;
}

// "file:ERRNO ..."
std::string faults(const ProviderSet &set)
{
    std::string out;
    for (const InvalidProvider &invalid : set.invalid)
        out += (out.empty() ? "" : " ") + invalid.file + ":" + std::string(invalid.error.name());
    return out;
}

ProviderSet load(const test::TempDir &dir)
{
    Result<ProviderSet> set = loadProviders(dir.path(), {"openai.chat"});
    return set ? std::move(*set) : ProviderSet();
}

} // namespace

class ProviderFilesTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void sortsProvidersByName();
    void theFirstFileOfANameStands();
    void oneBadFileLeavesTheOthers_data();
    void oneBadFileLeavesTheOthers();
    void onlyVisibleJsonFilesCount();
    void unreadableFiles();
    void aMissingDirectoryIsEmpty();
    void directoriesThatAreNone();
    void manyFiles();
};

void ProviderFilesTest::sortsProvidersByName()
{
    const test::TempDir dir;
    dir.write("10-z.json", provider("zeta"));
    dir.write("20-a.json", provider("alpha"));
    dir.write("05-m.json", provider("mid", R"(,"enabled":false)"));
    const ProviderSet set = load(dir);
    QCOMPARE(names(set), std::string("alpha:20-a.json mid:05-m.json zeta:10-z.json"));
    QCOMPARE(faults(set), std::string());
}

void ProviderFilesTest::theFirstFileOfANameStands()
{
    const test::TempDir dir;
    dir.write("b.json", provider("same"));
    dir.write("a.json", provider("same", R"(,"default_model":"first")"));
    dir.write("c.json", R"({"base_url":"https://same"})");
    dir.write("d.json", provider("other"));
    const ProviderSet set = load(dir);
    QCOMPARE(names(set), std::string("other:d.json same:a.json"));
    QCOMPARE(set.providers.back().defaultModel, std::string("first"));
    QCOMPARE(faults(set), std::string("b.json:EEXIST c.json:EEXIST"));
    QVERIFY(set.invalid.front().error.text().find("same") != std::string::npos);
    // An invalid first file does not claim its name.
    dir.write("a.json", R"({"name":"same","base_url":7})");
    QCOMPARE(names(load(dir)), std::string("other:d.json same:b.json"));
}

void ProviderFilesTest::oneBadFileLeavesTheOthers_data()
{
    QTest::addColumn<std::string>("kind");
    QTest::addColumn<std::string>("error");
    QTest::newRow("broken JSON") << std::string("broken") << std::string("EINVAL");
    QTest::newRow("an empty file") << std::string("empty") << std::string("EINVAL");
    QTest::newRow("a link to a good file") << std::string("link") << std::string("ELOOP");
    QTest::newRow("a dangling link") << std::string("dangling") << std::string("ELOOP");
    QTest::newRow("a link to itself") << std::string("loop") << std::string("ELOOP");
    QTest::newRow("a FIFO nobody writes to") << std::string("fifo") << std::string("EINVAL");
    QTest::newRow("a directory") << std::string("directory") << std::string("EINVAL");
    QTest::newRow("over 64 KiB") << std::string("large") << std::string("EMSGSIZE");
    QTest::newRow("bytes that are no text") << std::string("binary") << std::string("EINVAL");
}

void ProviderFilesTest::oneBadFileLeavesTheOthers()
{
    QFETCH(std::string, kind);
    QFETCH(std::string, error);
    const test::TempDir dir;
    dir.write("a.json", provider("a"));
    dir.write("z.json", provider("z"));
    const std::string path = dir.path("m.json");
    if (kind == "broken")
        dir.write("m.json", "{\"name\":");
    if (kind == "empty")
        dir.write("m.json", "");
    if (kind == "link") {
        dir.write("elsewhere", provider("linked"));
        QCOMPARE(::symlink("elsewhere", path.c_str()), 0);
    }
    if (kind == "dangling")
        QCOMPARE(::symlink("/nowhere/at/all", path.c_str()), 0);
    if (kind == "loop")
        QCOMPARE(::symlink("m.json", path.c_str()), 0);
    if (kind == "fifo")
        QCOMPARE(::mkfifo(path.c_str(), 0600), 0);
    if (kind == "directory")
        QCOMPARE(::mkdir(path.c_str(), 0700), 0);
    if (kind == "large")
        dir.write("m.json", provider("m") + std::string(65'536, ' '));
    if (kind == "binary")
        dir.write("m.json", std::string("\x7f"
                                        "ELF\0\xff",
                                        6));
    const ProviderSet set = load(dir);
    QCOMPARE(names(set), std::string("a:a.json z:z.json"));
    QCOMPARE(faults(set), "m.json:" + error);
}

void ProviderFilesTest::onlyVisibleJsonFilesCount()
{
    const test::TempDir dir;
    for (const char *name : {".hidden.json", ".cortexfs-tmp-1-2", "x.json~", "x.json.bak", "x.json.dpkg-new", "x.JSON",
                             "json", "README", ".json"})
        dir.write(name, provider("hidden"));
    dir.write("with space.json", provider("spaced"));
    const ProviderSet set = load(dir);
    QCOMPARE(names(set), std::string("spaced:with space.json"));
    QCOMPARE(faults(set), std::string());
}

void ProviderFilesTest::unreadableFiles()
{
    const test::TempDir dir;
    dir.write("a.json", provider("a"));
    dir.write("b.json", provider("b"), 0000);
    QCOMPARE(::chmod(dir.path().c_str(), 0755), 0);
    QCOMPARE(::chmod(dir.path("a.json").c_str(), 0644), 0);
    // Root can read all; another uid cannot.
    const pid_t child = ::fork();
    QVERIFY(child >= 0);
    if (child == 0) {
        if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0))
            ::_exit(10);
        const Result<ProviderSet> set = loadProviders(dir.path(), {"openai.chat"});
        ::_exit(set && names(*set) == "a:a.json" && faults(*set) == "b.json:EACCES" ? 0 : 11);
    }
    int status = 0;
    QCOMPARE(::waitpid(child, &status, 0), child);
    QVERIFY(WIFEXITED(status));
    QCOMPARE(WEXITSTATUS(status), 0);
}

void ProviderFilesTest::aMissingDirectoryIsEmpty()
{
    const test::TempDir dir;
    const Result<ProviderSet> set = loadProviders(dir.path("gone/providers.d"), {"openai.chat"});
    QVERIFY(set);
    QVERIFY(set->providers.empty() && set->invalid.empty());
}

void ProviderFilesTest::directoriesThatAreNone()
{
    const test::TempDir dir;
    dir.write("file", "x");
    const Result<ProviderSet> set = loadProviders(dir.path("file"), {"openai.chat"});
    QVERIFY(!set);
    QCOMPARE(set.error().number(), ENOTDIR);
}

void ProviderFilesTest::manyFiles()
{
    const test::TempDir dir;
    for (int i = 0; i < 300; ++i)
        dir.write("p" + std::to_string(i) + ".json", i % 3 == 0 ? std::string("{") : provider("p" + std::to_string(i)));
    const ProviderSet set = load(dir);
    QCOMPARE(set.providers.size(), std::size_t(200));
    QCOMPARE(set.invalid.size(), std::size_t(100));
    QVERIFY(std::is_sorted(set.providers.begin(), set.providers.end(),
                           [](const ProviderConfig &a, const ProviderConfig &b) { return a.name < b.name; }));
}

QTEST_GUILESS_MAIN(ProviderFilesTest)
#include "provider_files_test.moc"
