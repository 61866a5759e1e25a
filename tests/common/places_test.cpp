#include "common/base/places.h"
#include "tests/common/test_strings.h"
#include "tests/support/temp_dir.h"

#include <QTest>

#include <map>

#include <sys/stat.h>
#include <unistd.h>

using namespace cortexfs;

using Variables = std::map<std::string, std::string>;

namespace {

Environment environmentOf(const Variables &variables)
{
    return [variables](const char *name) -> std::optional<std::string> {
        const auto it = variables.find(name);
        if (it == variables.end())
            return std::nullopt;
        return it->second;
    };
}

const char *const kNames[] = {"mount", "config", "state", "runtime"};

std::string valueOf(const Places &places, const std::string &name)
{
    if (name == "mount")
        return places.mount;
    if (name == "config")
        return places.config;
    return name == "state" ? places.state : places.runtime;
}

class Umask {
public:
    explicit Umask(mode_t mask) : m_old(::umask(mask)) {}
    ~Umask() { ::umask(m_old); }
    Umask(const Umask &) = delete;
    Umask &operator=(const Umask &) = delete;

private:
    mode_t m_old;
};

Places withRuntime(const std::string &path, Mode mode)
{
    Places places;
    places.mode = mode;
    places.runtime = path;
    return places;
}

mode_t modeOf(const std::string &path)
{
    struct stat info = {};
    return ::lstat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
}

} // namespace

class PlacesTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void resolves_data();
    void resolves();
    void refuses_data();
    void refuses();
    void derivesThePathsBelow();
    void underMount_data();
    void underMount();
    void processEnvironmentTakesEmptyAsUnset();
    void runtimeDirGetsItsModeWhateverTheUmask_data();
    void runtimeDirGetsItsModeWhateverTheUmask();
    void runtimeDirOfSomebodyElse();
    void runtimeDirThatOthersMayWrite();
    void runtimeDirThatIsNone_data();
    void runtimeDirThatIsNone();
};

void PlacesTest::resolves_data()
{
    QTest::addColumn<PlaceOptions>("options");
    QTest::addColumn<Variables>("variables");
    QTest::addColumn<uint>("uid");
    QTest::addColumn<std::string>("expected"); // mount config state runtime
    const auto row = [](const char *name, PlaceOptions options, Variables variables, uint uid, const char *expected) {
        QTest::newRow(name) << options << variables << uid << std::string(expected);
    };
    PlaceOptions none;
    PlaceOptions system;
    system.mode = Mode::System;
    PlaceOptions user;
    user.mode = Mode::User;
    const Variables home = {{"HOME", "/home/u"}};
    const Variables xdg = {
        {"HOME", "/home/u"}, {"XDG_RUNTIME_DIR", "/run/user/7"}, {"XDG_CONFIG_HOME", "/c"}, {"XDG_DATA_HOME", "/d"}};
    const Variables given = {{"HOME", "/home/u"},
                             {"XDG_RUNTIME_DIR", "/run/user/7"},
                             {"CORTEXFS_CONFIG_DIR", "/e/c"},
                             {"CORTEXFS_STATE_DIR", "/e/s"},
                             {"CORTEXFS_RUNTIME_DIR", "/e/r"},
                             {"CTX_ROOT", "/e/m"}};
    const char *systemPlaces = "/ctx /etc/cortexfs /var/lib/cortexfs /run/cortexfs";
    row("root is in system mode", none, home, 0, systemPlaces);
    row("system mode needs no HOME", none, {}, 0, systemPlaces);
    row("system mode does not look at XDG", none, xdg, 0, systemPlaces);
    row("any uid may ask for system mode", system, xdg, 1000, systemPlaces);
    row("another uid is in user mode", none, xdg, 7,
        "/run/user/7/cortexfs/ctx /c/cortexfs /d/cortexfs /run/user/7/cortexfs");
    row("root may ask for user mode", user, xdg, 0,
        "/run/user/7/cortexfs/ctx /c/cortexfs /d/cortexfs /run/user/7/cortexfs");
    row("without XDG the home directory's defaults", none, home, 1000,
        "/tmp/cortexfs-1000/ctx /home/u/.config/cortexfs /home/u/.local/share/cortexfs /tmp/cortexfs-1000");
    row("root in user mode without XDG", user, home, 0,
        "/tmp/cortexfs-0/ctx /home/u/.config/cortexfs /home/u/.local/share/cortexfs /tmp/cortexfs-0");
    row("empty XDG variables count as unset", none,
        {{"HOME", "/home/u"}, {"XDG_RUNTIME_DIR", ""}, {"XDG_CONFIG_HOME", ""}, {"XDG_DATA_HOME", ""}}, 9,
        "/tmp/cortexfs-9/ctx /home/u/.config/cortexfs /home/u/.local/share/cortexfs /tmp/cortexfs-9");
    row("relative XDG variables count as unset", none,
        {{"HOME", "/home/u"}, {"XDG_RUNTIME_DIR", "r"}, {"XDG_CONFIG_HOME", "./c"}, {"XDG_DATA_HOME", "../d"}}, 9,
        "/tmp/cortexfs-9/ctx /home/u/.config/cortexfs /home/u/.local/share/cortexfs /tmp/cortexfs-9");
    row("HOME is not needed where XDG says all", none, {{"XDG_CONFIG_HOME", "/c"}, {"XDG_DATA_HOME", "/d"}}, 9,
        "/tmp/cortexfs-9/ctx /c/cortexfs /d/cortexfs /tmp/cortexfs-9");
    row("the environment gives every place", none, given, 1000, "/e/m /e/c /e/s /e/r");
    row("the environment counts in system mode too", system, given, 1000, "/e/m /e/c /e/s /e/r");
    row("given places need no HOME", none, {{"CORTEXFS_CONFIG_DIR", "/e/c"}, {"CORTEXFS_STATE_DIR", "/e/s"}}, 5,
        "/tmp/cortexfs-5/ctx /e/c /e/s /tmp/cortexfs-5");
    row("an empty variable counts as unset", none,
        {{"CORTEXFS_CONFIG_DIR", ""}, {"CORTEXFS_STATE_DIR", ""}, {"CORTEXFS_RUNTIME_DIR", ""}, {"CTX_ROOT", ""}}, 0,
        systemPlaces);
    PlaceOptions all;
    all.mount = "/o/m";
    all.config = "/o/c";
    all.state = "/o/s";
    all.runtime = "/o/r";
    row("an option wins over the environment", all, given, 1000, "/o/m /o/c /o/s /o/r");
    row("options need no environment at all", all, {}, 1000, "/o/m /o/c /o/s /o/r");
    PlaceOptions runtime;
    runtime.runtime = "/o/r";
    row("the mount of a user follows a given runtime directory", runtime, xdg, 7,
        "/o/r/ctx /c/cortexfs /d/cortexfs /o/r");
    row("the mount of the system does not", runtime, {}, 0, "/ctx /etc/cortexfs /var/lib/cortexfs /o/r");
    PlaceOptions relative;
    relative.mount = "m";
    relative.config = "./c/.";
    relative.state = "../s";
    relative.runtime = "a//b///";
    row("relative paths stand against the working directory", relative, {}, 1,
        "/here/dir/m /here/dir/c /here/dir/../s /here/dir/a/b");
    row("relative variables too", none,
        {{"CORTEXFS_CONFIG_DIR", "c"}, {"CORTEXFS_STATE_DIR", "s"}, {"CORTEXFS_RUNTIME_DIR", "r"}, {"CTX_ROOT", "m"}},
        1, "/here/dir/m /here/dir/c /here/dir/s /here/dir/r");
    PlaceOptions slashes = all;
    slashes.mount = "//o//m///";
    slashes.state = "/";
    row("slashes are reduced", slashes, {}, 1, "/o/m /o/c / /o/r");
    PlaceOptions spaced = all;
    spaced.config = "/o/with space";
    row("blanks and bytes beyond ASCII stay", spaced, {{"CTX_ROOT", "/\xc3\xa9"}}, 1, "/o/m /o/with space /o/s /o/r");
}

void PlacesTest::resolves()
{
    QFETCH(PlaceOptions, options);
    QFETCH(Variables, variables);
    QFETCH(uint, uid);
    QFETCH(std::string, expected);
    const Result<Places> places = resolvePlaces(options, environmentOf(variables), uid, "/here/dir");
    QVERIFY2(places, places ? "" : places.error().text().c_str());
    QCOMPARE(places->mount + " " + places->config + " " + places->state + " " + places->runtime, expected);
    const bool system = options.mode ? *options.mode == Mode::System : uid == 0;
    QCOMPARE(places->mode == Mode::System, system);
}

void PlacesTest::refuses_data()
{
    QTest::addColumn<PlaceOptions>("options");
    QTest::addColumn<Variables>("variables");
    QTest::addColumn<std::string>("word");
    QTest::newRow("a user without HOME") << PlaceOptions() << Variables() << std::string("HOME is not set");
    QTest::newRow("a user whose HOME is empty") << PlaceOptions() << Variables{{"HOME", ""}} << std::string("HOME");
    QTest::newRow("a user whose HOME is relative") << PlaceOptions() << Variables{{"HOME", "u"}} << std::string("HOME");
    QTest::newRow("HOME missing for the state alone")
        << PlaceOptions() << Variables{{"XDG_CONFIG_HOME", "/c"}} << std::string("no state directory");
    for (const char *name : kNames) {
        for (const bool nul : {false, true}) {
            PlaceOptions options;
            options.mode = Mode::System;
            std::optional<std::string> *target = std::string(name) == "mount"    ? &options.mount
                                                 : std::string(name) == "config" ? &options.config
                                                 : std::string(name) == "state"  ? &options.state
                                                                                 : &options.runtime;
            *target = nul ? std::string("/a\0b", 4) : std::string();
            QTest::addRow("%s %s", nul ? "a NUL in" : "an empty", name)
                << options << Variables() << std::string(name) + " directory";
        }
    }
}

void PlacesTest::refuses()
{
    QFETCH(PlaceOptions, options);
    QFETCH(Variables, variables);
    QFETCH(std::string, word);
    const Result<Places> places = resolvePlaces(options, environmentOf(variables), 1000, "/w");
    QVERIFY(!places);
    QCOMPARE(places.error().number(), EINVAL);
    QVERIFY2(places.error().text().find(word) != std::string::npos, places.error().text().c_str());
}

void PlacesTest::derivesThePathsBelow()
{
    const Result<Places> places = resolvePlaces({}, environmentOf({}), 0, "/");
    QVERIFY(places);
    QCOMPARE(places->controlSocket(), std::string("/run/cortexfs/control.sock"));
    QCOMPARE(places->providersDir(), std::string("/etc/cortexfs/providers.d"));
    QCOMPARE(places->configFile(), std::string("/etc/cortexfs/cortexd.json"));
    QCOMPARE(places->installedTree(), std::string("/var/lib/cortexfs/storage/current"));
    QCOMPARE(places->secretsDir(), std::string("/var/lib/cortexfs/secrets/provider"));
    for (const char *name : kNames)
        QVERIFY(valueOf(*places, name).starts_with('/'));
}

void PlacesTest::underMount_data()
{
    QTest::addColumn<std::string>("mount");
    QTest::addColumn<std::string>("path");
    QTest::addColumn<bool>("under");
    const auto row = [](const char *name, const char *mount, const char *path, bool under) {
        QTest::newRow(name) << std::string(mount) << std::string(path) << under;
    };
    row("the mount itself", "/ctx", "/ctx", true);
    row("below it", "/ctx", "/ctx/model/main", true);
    row("a sibling with the same beginning", "/ctx", "/ctx2/x", false);
    row("its parent", "/srv/ctx", "/srv", false);
    row("the root", "/ctx", "/", false);
    row("everything where the root is the mount", "/", "/etc", true);
}

void PlacesTest::underMount()
{
    QFETCH(std::string, mount);
    QFETCH(std::string, path);
    QFETCH(bool, under);
    Places places;
    places.mount = mount;
    QCOMPARE(isUnderMount(places, path), under);
}

void PlacesTest::processEnvironmentTakesEmptyAsUnset()
{
    ::setenv("CORTEXFS_TEST_VARIABLE", "", 1);
    QVERIFY(!processEnvironment()("CORTEXFS_TEST_VARIABLE"));
    ::setenv("CORTEXFS_TEST_VARIABLE", "x", 1);
    QCOMPARE(processEnvironment()("CORTEXFS_TEST_VARIABLE").value_or(""), std::string("x"));
    ::unsetenv("CORTEXFS_TEST_VARIABLE");
    QVERIFY(!processEnvironment()("CORTEXFS_TEST_VARIABLE"));
}

void PlacesTest::runtimeDirGetsItsModeWhateverTheUmask_data()
{
    QTest::addColumn<bool>("system");
    QTest::addColumn<uint>("mask");
    QTest::addColumn<uint>("mode");
    QTest::newRow("user") << false << 022u << 0700u;
    QTest::newRow("user with an open umask") << false << 0u << 0700u;
    QTest::newRow("system") << true << 022u << 0755u;
    QTest::newRow("system with a closed umask") << true << 077u << 0755u;
    QTest::newRow("system with an open umask") << true << 0u << 0755u;
}

void PlacesTest::runtimeDirGetsItsModeWhateverTheUmask()
{
    QFETCH(bool, system);
    QFETCH(uint, mask);
    QFETCH(uint, mode);
    const test::TempDir dir;
    const Places places = withRuntime(dir.path("deep/er/run"), system ? Mode::System : Mode::User);
    const Umask umask(mask);
    QVERIFY(prepareRuntimeDir(places, ::geteuid()));
    QCOMPARE(modeOf(places.runtime), mode);
    QVERIFY(prepareRuntimeDir(places, ::geteuid())); // once more, on what is there
    QCOMPARE(modeOf(places.runtime), mode);
}

void PlacesTest::runtimeDirOfSomebodyElse()
{
    const test::TempDir dir;
    const std::string run = dir.path("run");
    QCOMPARE(::mkdir(run.c_str(), 0700), 0);
    uid_t asked = ::geteuid();
    if (::geteuid() == 0)
        QCOMPARE(::chown(run.c_str(), 12345, 12345), 0);
    else
        asked = 12345; // without root the caller is the other one
    const Result<void> prepared = prepareRuntimeDir(withRuntime(run, Mode::User), asked);
    QVERIFY(!prepared);
    QCOMPARE(prepared.error().number(), EACCES);
    const std::string owner = ::geteuid() == 0 ? "12345" : std::to_string(::geteuid());
    QVERIFY2(prepared.error().text().find("owned by uid " + owner) != std::string::npos,
             prepared.error().text().c_str());
    QVERIFY(prepared.error().text().find(run) != std::string::npos);
}

void PlacesTest::runtimeDirThatOthersMayWrite()
{
    const test::TempDir dir;
    const std::string run = dir.path("run");
    QCOMPARE(::mkdir(run.c_str(), 0700), 0);
    for (const mode_t mode : {mode_t(0777), mode_t(0770), mode_t(0702)}) {
        QCOMPARE(::chmod(run.c_str(), mode), 0);
        const Result<void> prepared = prepareRuntimeDir(withRuntime(run, Mode::User), ::geteuid());
        QVERIFY(!prepared);
        QCOMPARE(prepared.error().number(), EACCES);
    }
    for (const mode_t mode : {mode_t(0755), mode_t(0700), mode_t(01777)}) {
        QCOMPARE(::chmod(run.c_str(), mode), 0);
        QVERIFY(prepareRuntimeDir(withRuntime(run, Mode::User), ::geteuid()));
        QCOMPARE(modeOf(run), mode); // not ours to change
    }
}

void PlacesTest::runtimeDirThatIsNone_data()
{
    QTest::addColumn<std::string>("kind");
    QTest::newRow("a file") << std::string("file");
    QTest::newRow("a link to a directory") << std::string("link");
    QTest::newRow("a dangling link") << std::string("dangling");
    QTest::newRow("below a file") << std::string("below");
}

void PlacesTest::runtimeDirThatIsNone()
{
    QFETCH(std::string, kind);
    const test::TempDir dir;
    std::string run = dir.path("run");
    if (kind == "file" || kind == "below")
        dir.write("run", "x");
    if (kind == "below")
        run += "/deeper";
    if (kind == "link")
        QCOMPARE(::symlink("/tmp", run.c_str()), 0);
    if (kind == "dangling")
        QCOMPARE(::symlink("/nowhere/at/all", run.c_str()), 0);
    QVERIFY(!prepareRuntimeDir(withRuntime(run, Mode::User), ::geteuid()));
}

QTEST_GUILESS_MAIN(PlacesTest)
#include "places_test.moc"
