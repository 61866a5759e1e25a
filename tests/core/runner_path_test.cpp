#include "daemon/core/runner_path.h"
#include "tests/common/test_strings.h"
#include "tests/support/temp_dir.h"

#include <QTest>

#include <filesystem>
#include <functional>

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace cortexfs;

namespace {

constexpr char kInstalled[] = "/usr/bin/cortexfs-object-runner";

// Runs `act` in a child whose /usr/bin is `directory`, so that nothing is installed for real. "" when it was true.
std::string inOwnUsrBin(const std::string &directory, const std::function<std::string()> &act)
{
    int ends[2] = {};
    if (::pipe(ends) != 0)
        return "pipe";
    const pid_t child = ::fork();
    if (child == 0) {
        std::string text;
        if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0
            || ::mount(directory.c_str(), "/usr/bin", nullptr, MS_BIND, nullptr) != 0)
            text = std::string("no mount namespace: ") + std::strerror(errno);
        else
            text = act();
        ::_exit(::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1);
    }
    ::close(ends[1]);
    std::string out;
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;)
        out.append(buffer, static_cast<std::size_t>(got));
    ::close(ends[0]);
    ::waitpid(child, nullptr, 0);
    return out;
}

std::string found(const Result<RunnerPath> &runner)
{
    return runner ? runner->path() : std::string(runner.error().name());
}

} // namespace

class RunnerPathTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theOneBeside();
    void theConfiguredOne_data();
    void theConfiguredOne();
    void noneAnywhere();
    void theInstalledOne_data();
    void theInstalledOne();
    void aPathThatDoesNotFitGetsALink_data();
    void aPathThatDoesNotFitGetsALink();
    void blanksInTheRuntimeDirectoryToo();
    void whatStandsInTheLinksPlaceIsReplaced();
    void linksGoWithTheObject();
};

void RunnerPathTest::theOneBeside()
{
    const test::TempDir dir;
    dir.write("bin/cortexfs-object-runner", "#!runner", 0755);
    if (std::filesystem::exists(kInstalled))
        QSKIP("a runner is installed on this machine; theInstalledOne covers the choice");
    const Result<RunnerPath> runner = RunnerPath::find({}, dir.path("bin/cortexd"), dir.path("run"));
    QCOMPARE(found(runner), dir.path("bin/cortexfs-object-runner"));
    QVERIFY(!std::filesystem::exists(dir.path("run")));
}

void RunnerPathTest::theConfiguredOne_data()
{
    QTest::addColumn<std::string>("kind");
    QTest::addColumn<std::string>("expected");
    QTest::newRow("an executable") << std::string("good") << std::string();
    QTest::newRow("a link to one") << std::string("link") << std::string();
    QTest::newRow("nothing") << std::string("missing") << std::string("ENOENT");
    QTest::newRow("a directory") << std::string("directory") << std::string("ENOENT");
    QTest::newRow("a file that may not be executed") << std::string("plain") << std::string("ENOENT");
}

void RunnerPathTest::theConfiguredOne()
{
    QFETCH(std::string, kind);
    QFETCH(std::string, expected);
    const test::TempDir dir;
    dir.write("bin/cortexfs-object-runner", "beside", 0755);
    const std::string path = dir.path("opt/runner");
    dir.write("opt/real", "real", 0755);
    if (kind == "good")
        dir.write("opt/runner", "good", 0755);
    if (kind == "link")
        QCOMPARE(::symlink("real", path.c_str()), 0);
    if (kind == "directory")
        QCOMPARE(::mkdir(path.c_str(), 0755), 0);
    if (kind == "plain")
        dir.write("opt/runner", "plain", 0644);
    const Result<RunnerPath> runner = RunnerPath::find(path, dir.path("bin/cortexd"), dir.path("run"));
    QCOMPARE(found(runner), expected.empty() ? path : expected);
}

void RunnerPathTest::noneAnywhere()
{
    const test::TempDir dir;
    if (std::filesystem::exists(kInstalled))
        QSKIP("a runner is installed on this machine; theInstalledOne covers the choice");
    const Result<RunnerPath> runner = RunnerPath::find({}, dir.path("bin/cortexd"), dir.path("run"));
    QVERIFY(!runner);
    QCOMPARE(runner.error().number(), ENOENT);
    QVERIFY(runner.error().text().find("cortexfs-object-runner") != std::string::npos); // what to build
}

void RunnerPathTest::theInstalledOne_data()
{
    QTest::addColumn<std::string>("installed");
    QTest::addColumn<std::string>("beside");
    QTest::addColumn<std::string>("expected"); // installed, beside, ENOENT
    const auto row = [](const char *title, const char *installed, const char *beside, const char *expected) {
        QTest::newRow(title) << std::string(installed) << std::string(beside) << std::string(expected);
    };
    row("identical to the one beside", "same", "same", "installed");
    row("of the same size, another build", "abcd", "abce", "beside");
    row("of another size", "old", "newer", "beside");
    row("alone", "x", "", "installed");
    row("not there", "", "x", "beside");
    row("neither", "", "", "ENOENT");
}

void RunnerPathTest::theInstalledOne()
{
    QFETCH(std::string, installed);
    QFETCH(std::string, beside);
    QFETCH(std::string, expected);
    if (::geteuid() != 0)
        QSKIP("only root can have a /usr/bin of its own");
    const test::TempDir dir;
    QCOMPARE(::mkdir(dir.path("usrbin").c_str(), 0755), 0);
    if (!installed.empty())
        dir.write("usrbin/cortexfs-object-runner", installed, 0755);
    if (!beside.empty())
        dir.write("bin/cortexfs-object-runner", beside, 0755);
    const std::string result = inOwnUsrBin(
        dir.path("usrbin"), [&] { return found(RunnerPath::find({}, dir.path("bin/cortexd"), dir.path("run"))); });
    QCOMPARE(result, expected == "installed" ? std::string(kInstalled)
                     : expected == "beside"  ? dir.path("bin/cortexfs-object-runner")
                                             : expected);
}

void RunnerPathTest::aPathThatDoesNotFitGetsALink_data()
{
    QTest::addColumn<std::string>("directory");
    QTest::newRow("a blank") << std::string("my programs");
    QTest::newRow("a tab") << std::string("my\tprograms");
    QTest::newRow("a line feed") << std::string("my\nprograms");
    QTest::newRow("longer than a #! line") << std::string(200, 'd') + "/" + std::string(60, 'e');
}

void RunnerPathTest::aPathThatDoesNotFitGetsALink()
{
    QFETCH(std::string, directory);
    const test::TempDir dir;
    dir.write(directory + "/runner", "x", 0755);
    QCOMPARE(::mkdir(dir.path("run").c_str(), 0755), 0);
    const Result<RunnerPath> runner = RunnerPath::find(dir.path(directory + "/runner"), "/nowhere/cortexd",
                                                       dir.path("run"));
    QCOMPARE(found(runner), dir.path("run/cortexfs-object-runner"));
    QCOMPARE(std::filesystem::read_symlink(runner->path()).string(), dir.path(directory + "/runner"));
    QVERIFY(::access(runner->path().c_str(), X_OK) == 0);
}

void RunnerPathTest::blanksInTheRuntimeDirectoryToo()
{
    const test::TempDir dir;
    dir.write("my programs/runner", "x", 0755);
    QCOMPARE(::mkdir(dir.path("my run").c_str(), 0755), 0);
    std::string path;
    {
        const Result<RunnerPath> runner = RunnerPath::find(dir.path("my programs/runner"), "/nowhere/cortexd",
                                                           dir.path("my run"));
        QVERIFY(runner);
        path = runner->path();
        QVERIFY2(path.starts_with("/tmp/cortexfs-runner-") && path.find(' ') == std::string::npos, path.c_str());
        struct stat info = {};
        QCOMPARE(::stat(path.substr(0, path.rfind('/')).c_str(), &info), 0);
        QCOMPARE(info.st_mode & 0777, mode_t(0755)); // others run objects too
        QVERIFY(::access(path.c_str(), X_OK) == 0);
    }
    QVERIFY(!std::filesystem::exists(path.substr(0, path.rfind('/'))));
}

void RunnerPathTest::whatStandsInTheLinksPlaceIsReplaced()
{
    const test::TempDir dir;
    dir.write("my programs/runner", "x", 0755);
    dir.write("run/x", "");
    QCOMPARE(::symlink("/nowhere/at/all", dir.path("run/cortexfs-object-runner").c_str()), 0); // of a killed daemon
    const Result<RunnerPath> runner = RunnerPath::find(dir.path("my programs/runner"), "/nowhere/cortexd",
                                                       dir.path("run"));
    QVERIFY(runner);
    QCOMPARE(std::filesystem::read_symlink(runner->path()).string(), dir.path("my programs/runner"));
    const Result<RunnerPath> noDirectory = RunnerPath::find(dir.path("my programs/runner"), "/nowhere/cortexd",
                                                            dir.path("gone"));
    QVERIFY(!noDirectory);
    QCOMPARE(noDirectory.error().number(), ENOENT);
}

void RunnerPathTest::linksGoWithTheObject()
{
    const test::TempDir dir;
    dir.write("my programs/runner", "x", 0755);
    dir.write("run/x", "");
    {
        std::optional<RunnerPath> kept;
        {
            Result<RunnerPath> runner = RunnerPath::find(dir.path("my programs/runner"), "/nowhere/cortexd",
                                                         dir.path("run"));
            QVERIFY(runner);
            kept.emplace(std::move(*runner));
        }
        QVERIFY(std::filesystem::exists(kept->path())); // the moved-from one took nothing away
    }
    QVERIFY(!std::filesystem::is_symlink(dir.path("run/cortexfs-object-runner")));
    QVERIFY(std::filesystem::exists(dir.path("my programs/runner")));
    {
        // A runner that needed no link is not ours to remove.
        const Result<RunnerPath> plain = RunnerPath::find("/bin/true", "/nowhere/cortexd", dir.path("run"));
        QCOMPARE(found(plain), std::string("/bin/true"));
    }
    QVERIFY(std::filesystem::exists("/bin/true"));
}

QTEST_GUILESS_MAIN(RunnerPathTest)
#include "runner_path_test.moc"
