#include "common/config/daemon_config.h"
#include "tests/common/test_strings.h"
#include "tests/support/temp_dir.h"

#include <QTest>

#include <sys/stat.h>
#include <unistd.h>

using namespace cortexfs;
using namespace cortexfs::config;

class DaemonConfigTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void defaults();
    void everyKey();
    void faults_data();
    void faults();
    void unknownKeysWarn();
    void loads_data();
    void loads();
};

void DaemonConfigTest::defaults()
{
    const Result<DaemonConfig> config = parseDaemonConfig("{}");
    QVERIFY(config);
    QCOMPARE(config->autostart, (std::vector<std::string>{"assistant", "coder", "reviewer"}));
    QCOMPARE(config->modelsDevUrl, std::string("https://models.dev/api.json"));
    QVERIFY(!config->allowOther && !config->runner && !config->logLevel && config->warnings.empty());
}

void DaemonConfigTest::everyKey()
{
    const Result<DaemonConfig> config = parseDaemonConfig(
        R"({"autostart":[],"models_dev_url":"http://127.0.0.1/x","allow_other":true,"runner":"/opt/a b/r","log_level":"debug"})");
    QVERIFY2(config, config ? "" : config.error().text().c_str());
    QVERIFY(config->autostart.empty() && config->allowOther && config->warnings.empty());
    QCOMPARE(config->modelsDevUrl, std::string("http://127.0.0.1/x"));
    QCOMPARE(config->runner.value_or(""), std::string("/opt/a b/r"));
    QCOMPARE(config->logLevel.value_or(""), std::string("debug"));
}

void DaemonConfigTest::faults_data()
{
    QTest::addColumn<std::string>("text");
    QTest::addColumn<std::string>("pointer");
    const auto row = [](const char *text, const char *pointer) {
        QTest::newRow(*text ? text : "empty") << std::string(text) << std::string(pointer);
    };
    row("", "offset");
    row("{", "offset");
    row("[]", "object");
    row(R"({"autostart":"coder"})", "/autostart: ");
    row(R"({"autostart":[1]})", "/autostart/0: ");
    row(R"({"allow_other":"yes"})", "/allow_other: ");
    row(R"({"runner":7})", "/runner: ");
    row(R"({"runner":""})", "/runner: ");
    row(R"({"runner":"bin/r"})", "/runner: ");
    row(R"({"log_level":"loud"})", "/log_level: ");
    row(R"({"log_level":null})", "/log_level: ");
    row(R"({"models_dev_url":1})", "/models_dev_url: ");
    row(R"({"models_dev_url":"ftp://h/x"})", "/models_dev_url: ");
    row(R"({"models_dev_url":""})", "/models_dev_url: ");
}

void DaemonConfigTest::faults()
{
    QFETCH(std::string, text);
    QFETCH(std::string, pointer);
    const Result<DaemonConfig> config = parseDaemonConfig(text);
    QVERIFY(!config);
    QCOMPARE(config.error().number(), EINVAL);
    QVERIFY2(config.error().text().find(pointer) != std::string::npos, config.error().text().c_str());
}

void DaemonConfigTest::unknownKeysWarn()
{
    const Result<DaemonConfig> config = parseDaemonConfig(R"({"colour":1,"a~/b":2,"allow_other":true})");
    QVERIFY(config);
    QVERIFY(config->allowOther);
    QCOMPARE(config->warnings,
             (std::vector<std::string>{"/colour: unknown key, ignored", "/a~0~1b: unknown key, ignored"}));
}

void DaemonConfigTest::loads_data()
{
    QTest::addColumn<std::string>("kind");
    QTest::addColumn<int>("number"); // 0: succeeds
    QTest::newRow("an absent file is the default") << std::string("absent") << 0;
    QTest::newRow("an absent directory too") << std::string("nowhere") << 0;
    QTest::newRow("a good file") << std::string("good") << 0;
    QTest::newRow("a broken file") << std::string("broken") << EINVAL;
    QTest::newRow("a link") << std::string("link") << ELOOP;
    QTest::newRow("a directory") << std::string("directory") << EINVAL;
    QTest::newRow("over 64 KiB") << std::string("large") << EMSGSIZE;
}

void DaemonConfigTest::loads()
{
    QFETCH(std::string, kind);
    QFETCH(int, number);
    const test::TempDir dir;
    std::string path = dir.path("cortexd.json");
    if (kind == "nowhere")
        path = dir.path("gone/cortexd.json");
    if (kind == "good")
        dir.write("cortexd.json", R"({"log_level":"error"})");
    if (kind == "broken")
        dir.write("cortexd.json", "{]");
    if (kind == "link") {
        dir.write("real", "{}");
        QCOMPARE(::symlink("real", path.c_str()), 0);
    }
    if (kind == "directory")
        QCOMPARE(::mkdir(path.c_str(), 0700), 0);
    if (kind == "large")
        dir.write("cortexd.json", "{}" + std::string(65'535, ' '));
    const Result<DaemonConfig> config = loadDaemonConfig(path);
    QCOMPARE(config.isOk(), number == 0);
    if (number != 0) {
        QCOMPARE(config.error().number(), number);
        QVERIFY2(config.error().text().find("cortexd.json") != std::string::npos, config.error().text().c_str());
    }
    if (kind == "good")
        QCOMPARE(config->logLevel.value_or(""), std::string("error"));
}

QTEST_GUILESS_MAIN(DaemonConfigTest)
#include "daemon_config_test.moc"
