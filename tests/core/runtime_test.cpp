// Changes of projected state: stored, published, then answered; and what is stored survives.
#include "common/base/unique_fd.h"
#include "daemon/core/runtime.h"
#include "tests/common/test_strings.h"
#include "tests/core/runtime_fixture.h"
#include "tests/support/loop_watch.h"
#include "tests/support/temp_dir.h"

#include <QTest>

#include <filesystem>
#include <thread>

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace cortexfs;
using namespace cortexfs::test;

namespace {} // namespace

class RuntimeTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void loads();
    void aControlIsStoredAndPublishedBeforeTheAnswer();
    void everyWritableControl_data();
    void everyWritableControl();
    void refusedWrites_data();
    void refusedWrites();
    void manyWritesKeepTheirOrder();
    void postedFromAnotherThread();
    void aReadOnlyStateKeepsTheOld();
    void aFullDiskKeepsTheOld();
    void aliasTargets_data();
    void aliasTargets();
    void aliasNames_data();
    void aliasNames();
    void anAliasComesAndGoes();
    void refreshReadsAgain();
    void aDirectoryThatCannotBeReadTakesNothingAway();
    void keysAreLookedAtAgain();
    void snapshotsOfReadersStay();
    void checkControlIsPure();
    void badStoredTextIsAProblem();
    void unusableStateDirectory();
    void destroyedWithAChangeUnderWay();
    void theLoopIsNotHeldUp();
};

void RuntimeTest::loads()
{
    Fixture fixture;
    fixture.dir.write("config/providers.d/broken.json", "{");
    QVERIFY(fixture.load());
    for (const char *area : {"agent", "tool", "home", "shared", "model"})
        QVERIFY(std::filesystem::is_directory(fixture.places.installedTree() + "/" + area));
    const auto snapshot = fixture.runtime->snapshot().load();
    QVERIFY(snapshot->statusText.starts_with("state=ready\n"));
    QVERIFY(snapshot->statusText.ends_with('\n'));
    QVERIFY(snapshot->statusText.find("\nproblems=1\n") != std::string::npos);
    QVERIFY(snapshot->statusText.find("\nmodels=4\n") != std::string::npos);
    QCOMPARE(snapshot->bin.size(), std::size_t(1));
    QCOMPARE(fixture.control("a", models::Control::Limit), std::string("100\n"));
    QCOMPARE(fixture.alias("main"), fixture.places.mount + "/model/local/a");
    QCOMPARE(fixture.runtime->problems().size(), std::size_t(1));
    QCOMPARE(fixture.runtime->problems()[0].where, std::string("providers.d/broken.json"));
}

void RuntimeTest::aControlIsStoredAndPublishedBeforeTheAnswer()
{
    Fixture fixture;
    QVERIFY(fixture.load());
    const auto before = fixture.runtime->snapshot().load();
    int published = 0;
    std::string publishedText;
    QObject::connect(
        fixture.runtime.get(), &Runtime::snapshotChanged, fixture.runtime.get(), [&](const auto &old, const auto &now) {
            ++published;
            QVERIFY(old == before);
            publishedText = models::controlText(*now->catalog->find("local", "a"), models::Control::Effort);
        });
    std::string atAnswer;
    TreeChange change;
    change.path = "model/local/a.d/effort";
    change.content = "high";
    change.uid = ::geteuid();
    fixture.runtime->postTreeChange(change, [&](const Result<void> &outcome) {
        QVERIFY(outcome);
        atAnswer = fixture.control("a", models::Control::Effort) + std::to_string(published)
                   + fixture.dir.read("state/storage/current/model/local/a.d/effort");
    });
    QVERIFY(atAnswer.empty()); // posted, not done at once
    QTRY_COMPARE(atAnswer, std::string("high\n1high\n"));
    QCOMPARE(publishedText, std::string("high\n"));
    QCOMPARE(models::controlText(*before->catalog->find("local", "a"), models::Control::Effort), std::string("auto\n"));
    // The next daemon has it.
    Runtime next(fixture.places, config::DaemonConfig(), {});
    QVERIFY(next.load());
    QCOMPARE(next.snapshot().load()->catalog->find("local", "a")->effort, std::string("high\n"));
    QCOMPARE(next.snapshot().load()->catalog->find("local", "b")->effort, std::string("auto\n"));
}

void RuntimeTest::everyWritableControl_data()
{
    QTest::addColumn<std::string>("name");
    QTest::addColumn<std::string>("written");
    QTest::addColumn<std::string>("shown");
    const auto row = [](const char *name, const char *written, const char *shown) {
        QTest::newRow(name) << std::string(name) << std::string(written) << std::string(shown);
    };
    row("effort", "max\n", "max\n");
    row("session", "socket", "socket\n");
    row("default", "temperature=0.1\nstop=x", "temperature=0.1\nstop=x\n");
    row("fallback", "debug/echo\n", "debug/echo\n");
    row("driver", "default=openai-chat\n", "default=openai-chat\n");
}

void RuntimeTest::everyWritableControl()
{
    QFETCH(std::string, name);
    QFETCH(std::string, written);
    QFETCH(std::string, shown);
    Fixture fixture;
    QVERIFY(fixture.load());
    const models::Control which = *models::controlFromName(name);
    QCOMPARE(fixture.write("model/local/a.d/" + name, written), 0);
    QCOMPARE(fixture.control("a", which), shown);
    fixture.runtime->refresh();
    QCOMPARE(fixture.control("a", which), shown);
    QVERIFY(fixture.load()); // the next start
    QCOMPARE(fixture.control("a", which), shown);
}

void RuntimeTest::refusedWrites_data()
{
    QTest::addColumn<std::string>("path");
    QTest::addColumn<std::string>("content");
    QTest::addColumn<uint>("uid");
    QTest::addColumn<int>("number");
    const auto row = [](const char *title, std::string path, std::string content, int number, uint uid = ::geteuid()) {
        QTest::newRow(title) << std::move(path) << std::move(content) << uid << number;
    };
    row("bad content", "model/local/a.d/effort", "turbo\n", EINVAL);
    row("nothing", "model/local/a.d/effort", "", EINVAL);
    row("too much", "model/local/a.d/default", "a=" + std::string(65'535, 'x'), EMSGSIZE);
    row("another uid", "model/local/a.d/effort", "high\n", EACCES, 54321);
    row("limit", "model/local/a.d/limit", "5\n", EROFS);
    row("limit by another uid", "model/local/a.d/limit", "5\n", EROFS, 54321);
    row("limit by root", "model/local/a.d/limit", "5\n", EROFS, 0);
    row("id", "model/local/a.d/id", "x\n", EROFS);
    row("cap", "model/local/a.d/cap", "chat\n", EROFS);
    row("status", "model/local/a.d/status", "x\n", EROFS);
    row("log", "model/local/a.d/log", "", EROFS);
    row("no such control", "model/local/a.d/colour", "x\n", EROFS);
    row("no such model", "model/local/gone.d/effort", "high\n", ENOENT);
    row("no such provider", "model/gone/a.d/effort", "high\n", ENOENT);
    row("the model itself", "model/local/a", "x\n", EROFS);
    row("status of the root", "status", "x\n", EROFS);
    row("parent directories", "model/../../etc.d/effort", "high\n", EROFS);
    row("a deeper path", "model/local/a.d/x/effort", "high\n", EROFS);
    row("an empty path", "", "high\n", EROFS);
    row("an absolute path", "/model/local/a.d/effort", "high\n", EROFS);
}

void RuntimeTest::refusedWrites()
{
    QFETCH(std::string, path);
    QFETCH(std::string, content);
    QFETCH(uint, uid);
    QFETCH(int, number);
    Fixture fixture;
    QVERIFY(fixture.load());
    QCOMPARE(fixture.write("model/local/a.d/effort", "low\n"), 0);
    QCOMPARE(fixture.write("model/local/a.d/default", "x=1\n"), 0);
    const auto before = fixture.runtime->snapshot().load();
    QCOMPARE(fixture.write(path, content, uid), number);
    QVERIFY(fixture.runtime->snapshot().load() == before); // nothing was published
    QVERIFY(fixture.load());
    QCOMPARE(fixture.control("a", models::Control::Effort), std::string("low\n"));
    QCOMPARE(fixture.control("a", models::Control::Default), std::string("x=1\n"));
    QCOMPARE(fixture.control("a", models::Control::Limit), std::string("100\n"));
}

void RuntimeTest::manyWritesKeepTheirOrder()
{
    Fixture fixture;
    QVERIFY(fixture.load());
    std::string answers;
    std::string expected;
    for (int i = 0; i < 30; ++i) {
        TreeChange change;
        change.path = "model/local/a.d/default";
        change.content = i % 5 == 4 ? std::string("bad") : "n=" + std::to_string(i) + "\n";
        change.uid = ::geteuid();
        fixture.runtime->postTreeChange(change, [&answers, i](const Result<void> &outcome) {
            if (outcome)
                answers += std::to_string(i) + " ";
        });
        expected += i % 5 == 4 ? "" : std::to_string(i) + " ";
    }
    QTRY_COMPARE(answers, expected);
    QCOMPARE(fixture.control("a", models::Control::Default), std::string("n=28\n"));
    QCOMPARE(fixture.dir.read("state/storage/current/model/local/a.d/default"), std::string("n=28\n"));
}

void RuntimeTest::postedFromAnotherThread()
{
    Fixture fixture;
    QVERIFY(fixture.load());
    std::atomic<int> done{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            for (int i = 0; i < 10; ++i) {
                TreeChange change;
                change.path = std::string("model/local/") + (t % 2 == 0 ? "a" : "b") + ".d/default";
                change.content = "t=" + std::to_string(t) + "\n";
                change.uid = ::geteuid();
                fixture.runtime->postTreeChange(change,
                                                [&](const Result<void> &outcome) { done += outcome ? 1 : 1000; });
                // What the answering thread does meanwhile.
                static_cast<void>(fixture.runtime->checkControl("model/local/a.d/effort", "high"));
                static_cast<void>(fixture.runtime->snapshot().load()->catalog->find("local", "a"));
            }
        });
    }
    QTRY_COMPARE_WITH_TIMEOUT(done.load(), 40, 20'000);
    for (std::thread &thread : threads)
        thread.join();
}

void RuntimeTest::aReadOnlyStateKeepsTheOld()
{
    if (::geteuid() != 0)
        QSKIP("only root can mount the small file system");
    Fixture fixture;
    QCOMPARE(::mkdir(fixture.places.state.c_str(), 0700), 0);
    QCOMPARE(::mount("none", fixture.places.state.c_str(), "tmpfs", 0, "size=1m"), 0);
    const bool loaded = fixture.load();
    const int first = fixture.write("model/local/a.d/effort", "low\n");
    const int readOnly = ::mount("none", fixture.places.state.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr);
    const int second = fixture.write("model/local/a.d/effort", "high\n");
    const int third = fixture.link("main", "local/b");
    const std::string shown = fixture.control("a", models::Control::Effort) + fixture.alias("main");
    Runtime again(fixture.places, config::DaemonConfig(), {});
    const bool startsReadOnly = again.load().isOk(); // everything it needs is there
    ::umount2(fixture.places.state.c_str(), MNT_DETACH);
    QVERIFY(loaded);
    QCOMPARE(first, 0);
    QCOMPARE(readOnly, 0);
    QCOMPARE(second, EROFS);
    QCOMPARE(third, EROFS);
    QCOMPARE(shown, "low\n" + fixture.places.mount + "/model/local/a");
    QVERIFY(startsReadOnly);
}

void RuntimeTest::aFullDiskKeepsTheOld()
{
    if (::geteuid() != 0)
        QSKIP("only root can mount the small file system");
    Fixture fixture;
    QCOMPARE(::mkdir(fixture.places.state.c_str(), 0700), 0);
    QCOMPARE(::mount("none", fixture.places.state.c_str(), "tmpfs", 0, "size=96k"), 0);
    const bool loaded = fixture.load();
    const int first = fixture.write("model/local/a.d/default", "a=1\n");
    const int second = fixture.write("model/local/b.d/default", "a=" + std::string(60'000, 'x') + "\n");
    const int third = fixture.write("model/local/a.d/default", "a=" + std::string(60'000, 'x') + "\n");
    const std::string shown = fixture.control("a", models::Control::Default);
    const std::string stored = fixture.dir.read("state/storage/current/model/local/a.d/default");
    const int fourth = fixture.write("model/local/a.d/default", "a=2\n");
    ::umount2(fixture.places.state.c_str(), MNT_DETACH);
    QVERIFY(loaded);
    QCOMPARE(first, 0);
    QCOMPARE(second, 0);
    QCOMPARE(third, ENOSPC);
    QCOMPARE(shown, std::string("a=1\n"));
    QCOMPARE(stored, std::string("a=1\n"));
    QCOMPARE(fourth, 0);
}

void RuntimeTest::aliasTargets_data()
{
    QTest::addColumn<std::string>("target"); // MOUNT is replaced
    QTest::addColumn<int>("number");
    const auto row = [](const char *title, const char *target, int number) {
        QTest::newRow(title) << std::string(target) << number;
    };
    row("relative", "local/b", 0);
    row("relative with a dot", "./local/b", 0);
    row("below the mount", "MOUNT/model/local/b", 0);
    row("below /ctx", "/ctx/model/local/b", 0);
    row("a built-in model", "debug/script", 0);
    row("a model that is not there", "local/gone", EINVAL);
    row("another alias", "helper", EINVAL);
    row("outside", "/etc/passwd", EINVAL);
    row("below another mount", "/other/model/local/b", EINVAL);
    row("upwards", "../model/local/b", EINVAL);
    row("a control", "local/b.d", EINVAL);
    row("a trailing slash", "local/b/", EINVAL);
    row("nothing", "", EINVAL);
    row("a line feed", "local/b\n", EINVAL);
}

void RuntimeTest::aliasTargets()
{
    QFETCH(std::string, target);
    QFETCH(int, number);
    Fixture fixture;
    QVERIFY(fixture.load());
    if (target.starts_with("MOUNT"))
        target = fixture.places.mount + target.substr(5);
    const std::string before = fixture.alias("main");
    QCOMPARE(fixture.link("main", target), number);
    const std::string expected = fixture.places.mount + "/model/" + (target == "debug/script" ? target : "local/b")
                                 + "*";
    QCOMPARE(fixture.alias("main"), number == 0 ? expected : before);
    QVERIFY(fixture.load());
    QCOMPARE(fixture.alias("main"), number == 0 ? expected : before);
}

void RuntimeTest::aliasNames_data()
{
    QTest::addColumn<std::string>("name");
    QTest::addColumn<int>("number");
    QTest::newRow("one of the six") << std::string("vision") << 0;
    QTest::newRow("a name of one's own") << std::string("my.model+1") << 0;
    QTest::newRow("a provider's name") << std::string("local") << EROFS;
    QTest::newRow("the built-in provider") << std::string("debug") << EROFS;
    QTest::newRow("route") << std::string("route") << EROFS;
    QTest::newRow("a hidden name") << std::string(".x") << EROFS;
    QTest::newRow("a reserved ending") << std::string("x.d") << EROFS;
    QTest::newRow("a deeper path") << std::string("local/c") << EROFS;
    QTest::newRow("nothing") << std::string() << EROFS;
    QTest::newRow("our own temporary names") << std::string(".cortexfs-tmp-1") << EROFS;
}

void RuntimeTest::aliasNames()
{
    QFETCH(std::string, name);
    QFETCH(int, number);
    Fixture fixture;
    QVERIFY(fixture.load());
    QCOMPARE(fixture.link(name, "local/b"), number);
    QCOMPARE(fixture.link(name, "local/b", 54321), number == 0 ? EACCES : number);
    if (number == 0)
        QCOMPARE(fixture.alias(name), fixture.places.mount + "/model/local/b*");
}

void RuntimeTest::anAliasComesAndGoes()
{
    Fixture fixture;
    QVERIFY(fixture.load());
    QCOMPARE(fixture.unlink("main"), EROFS); // chosen by us, nobody made it
    QCOMPARE(fixture.unlink("gone"), EROFS);
    QCOMPARE(fixture.unlink("local"), EROFS);
    QCOMPARE(fixture.unlink("route", TreeChange::Kind::RemoveFile), ENOENT);
    QCOMPARE(fixture.unlink("local", TreeChange::Kind::RemoveFile), EROFS);
    QCOMPARE(fixture.link("main", "local/b"), 0);
    QCOMPARE(fixture.link("mine", "local/b"), 0);
    QCOMPARE(fixture.unlink("main", TreeChange::Kind::RemoveLink, 54321), EACCES);
    QCOMPARE(fixture.unlink("main"), 0);
    QCOMPARE(fixture.alias("main"), fixture.places.mount + "/model/local/a"); // our choice is back
    QCOMPARE(fixture.unlink("mine"), 0);
    QCOMPARE(fixture.alias("mine"), std::string("(absent)"));
    QCOMPARE(fixture.unlink("mine"), EROFS);
    // A user's alias outlives the model it points at and is back with it.
    QCOMPARE(fixture.link("main", "local/b"), 0);
    fixture.dir.write("config/providers.d/local.json",
                      R"({"name":"local","base_url":"http://127.0.0.1:9/v1","models":["a"]})");
    fixture.runtime->refresh();
    QCOMPARE(fixture.alias("main"), fixture.places.mount + "/model/local/a");
    fixture.dir.write("config/providers.d/local.json", kProvider);
    fixture.runtime->refresh();
    QCOMPARE(fixture.alias("main"), fixture.places.mount + "/model/local/b*");
}

void RuntimeTest::refreshReadsAgain()
{
    Fixture fixture;
    QVERIFY(fixture.load());
    QCOMPARE(fixture.write("model/local/a.d/effort", "low\n"), 0);
    fixture.dir.write("config/providers.d/new.json",
                      R"({"name":"new","base_url":"http://localhost/v1","models":["n"]})");
    fixture.dir.write("config/providers.d/bad.json", "[]");
    QVERIFY(!fixture.runtime->snapshot().load()->catalog->find("new", "n")); // nothing else reads it
    fixture.runtime->refresh();
    QVERIFY(fixture.runtime->snapshot().load()->catalog->find("new", "n"));
    QCOMPARE(fixture.runtime->problems().size(), std::size_t(1));
    QCOMPARE(fixture.control("a", models::Control::Effort), std::string("low\n"));
    QVERIFY(std::filesystem::remove(fixture.dir.path("config/providers.d/bad.json")));
    fixture.runtime->refresh();
    QVERIFY(fixture.runtime->problems().empty());
    // A model that goes for a while keeps its controls.
    fixture.dir.write("config/providers.d/local.json", "{");
    fixture.runtime->refresh();
    QCOMPARE(fixture.control("a", models::Control::Effort), std::string("(absent)"));
    QCOMPARE(fixture.write("model/local/a.d/effort", "max\n"), ENOENT);
    fixture.dir.write("config/providers.d/local.json", kProvider);
    fixture.runtime->refresh();
    QCOMPARE(fixture.control("a", models::Control::Effort), std::string("low\n"));
}

void RuntimeTest::aDirectoryThatCannotBeReadTakesNothingAway()
{
    Fixture fixture;
    QVERIFY(fixture.load());
    std::filesystem::rename(fixture.places.providersDir(), fixture.dir.path("config/away"));
    fixture.dir.write("config/providers.d", "not a directory");
    fixture.runtime->refresh();
    QCOMPARE(fixture.control("a", models::Control::Limit), std::string("100\n"));
    QCOMPARE(fixture.runtime->problems().size(), std::size_t(1));
    QCOMPARE(fixture.runtime->problems()[0].error.number(), ENOTDIR);
}

void RuntimeTest::keysAreLookedAtAgain()
{
    Fixture fixture;
    fixture.dir.write("config/providers.d/far.json",
                      R"({"name":"far","base_url":"https://h.example/v1","models":["m"]})");
    QVERIFY(fixture.load());
    const auto isReady = [&] { return fixture.runtime->snapshot().load()->catalog->find("far", "m")->isConfigured; };
    QVERIFY(!isReady());
    QVERIFY(fixture.runtime->secrets().set("far", "default", SecretString("sk-1")));
    fixture.runtime->secretsChanged("far");
    QVERIFY(isReady());
    QVERIFY(fixture.runtime->secrets().remove("far", "default"));
    fixture.runtime->secretsChanged("far");
    QVERIFY(!isReady());
    QVERIFY(
        fixture.runtime->secrets().set("far", "other", SecretString("sk-1"))); // another slot is not the default one
    fixture.runtime->secretsChanged("far");
    QVERIFY(!isReady());
}

void RuntimeTest::snapshotsOfReadersStay()
{
    Fixture fixture;
    QVERIFY(fixture.load());
    const auto held = fixture.runtime->snapshot().load();
    const models::ModelEntry *entry = held->catalog->find("local", "a");
    fixture.dir.write("config/providers.d/local.json", "{");
    fixture.runtime->refresh();
    fixture.runtime.reset();
    QCOMPARE(entry->ref.text(), std::string("local/a"));
    QCOMPARE(models::controlText(*entry, models::Control::Id), std::string("local/a\n"));
}

void RuntimeTest::checkControlIsPure()
{
    Fixture fixture;
    QVERIFY(fixture.load());
    const auto before = fixture.runtime->snapshot().load();
    QVERIFY(fixture.runtime->checkControl("model/local/a.d/effort", "high\n"));
    const Result<void> bad = fixture.runtime->checkControl("model/local/a.d/effort", "turbo\n");
    QVERIFY(!bad);
    QCOMPARE(bad.error().number(), EINVAL);
    const Result<void> readOnly = fixture.runtime->checkControl("model/local/a.d/limit", "1\n");
    QVERIFY(!readOnly);
    QCOMPARE(readOnly.error().number(), EROFS);
    QCOMPARE(fixture.runtime->checkControl("status", "1\n").error().number(), EROFS);
    QVERIFY(fixture.runtime->snapshot().load() == before);
    QCOMPARE(fixture.control("a", models::Control::Effort), std::string("auto\n"));
}

void RuntimeTest::badStoredTextIsAProblem()
{
    Fixture fixture;
    fixture.dir.write("state/storage/current/model/local/a.d/effort", "turbo\n");
    fixture.dir.write("state/storage/current/model/local/a.d/session", "socket\n");
    QVERIFY(fixture.load());
    QCOMPARE(fixture.control("a", models::Control::Effort), std::string("auto\n"));
    QCOMPARE(fixture.control("a", models::Control::Session), std::string("socket\n"));
    QCOMPARE(fixture.runtime->problems().size(), std::size_t(1));
    QCOMPARE(fixture.runtime->problems()[0].where, std::string("model/local/a.d/effort"));
    QCOMPARE(fixture.dir.read("state/storage/current/model/local/a.d/effort"), std::string("turbo\n")); // it stays
    QCOMPARE(fixture.write("model/local/a.d/effort", "low\n"), 0);
    QVERIFY(fixture.runtime->problems().empty());
}

void RuntimeTest::unusableStateDirectory()
{
    Fixture fixture;
    fixture.dir.write("state", "a file");
    QVERIFY(!fixture.load());
}

void RuntimeTest::destroyedWithAChangeUnderWay()
{
    Fixture fixture;
    QVERIFY(fixture.load());
    auto answered = std::make_shared<int>(0);
    for (int i = 0; i < 20; ++i) {
        TreeChange change;
        change.path = "model/local/a.d/default";
        change.content = "n=" + std::to_string(i) + "\n";
        change.uid = ::geteuid();
        fixture.runtime->postTreeChange(change, [answered](const Result<void> &) { ++*answered; });
        if (i == 10)
            QCoreApplication::processEvents();
    }
    fixture.runtime.reset();
    QCoreApplication::processEvents();
    QVERIFY(*answered < 20);
    QCOMPARE(answered.use_count(), 1L); // what was not answered is dropped, and its reply with it
    QVERIFY(fixture.load());
    const std::string stored = fixture.control("a", models::Control::Default);
    QVERIFY2(stored.starts_with("n=") || stored.empty(), stored.c_str());
}

void RuntimeTest::theLoopIsNotHeldUp()
{
    Fixture fixture;
    QVERIFY(fixture.load());
    const test::LoopWatch watch;
    int done = 0;
    for (int i = 0; i < 200; ++i) {
        TreeChange change;
        change.path = "model/local/a.d/default";
        change.content = "n=" + std::to_string(i) + "\n";
        change.uid = ::geteuid();
        fixture.runtime->postTreeChange(change, [&](const Result<void> &) { ++done; });
    }
    QTRY_COMPARE_WITH_TIMEOUT(done, 200, 30'000);
    QVERIFY2(watch.longestGapMs() < 1'000, std::to_string(watch.longestGapMs()).c_str());
}

QTEST_GUILESS_MAIN(RuntimeTest)
#include "runtime_test.moc"
