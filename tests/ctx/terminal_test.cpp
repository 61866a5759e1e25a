// Colour, and what the build makes out of the descriptors.
#include "app/ctx/core/manual.h"
#include "tests/ctx/ctx_run.h"

#include <QFile>
#include <QTest>

using namespace cortexfs::ctx::test;

namespace {

constexpr char kStatus[] = R"("state":"ready","version":"0.1.7","pid":42,"uptime_ms":1,"problems":[])";

std::string textOf(const QString &path)
{
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll().toStdString() : std::string();
}

} // namespace

class TerminalTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void colourIsForTerminals_data()
    {
        QTest::addColumn<bool>("isTerminal");
        QTest::addColumn<QByteArray>("name");
        QTest::addColumn<QByteArray>("value");
        QTest::addColumn<bool>("isColoured");
        QTest::newRow("on a terminal") << true << QByteArray("X") << QByteArray("y") << true;
        QTest::newRow("not in a pipe") << false << QByteArray("X") << QByteArray("y") << false;
        QTest::newRow("not with NO_COLOR") << true << QByteArray("NO_COLOR") << QByteArray("1") << false;
        QTest::newRow("not on a dumb terminal") << true << QByteArray("TERM") << QByteArray("dumb") << false;
        QTest::newRow("not without TERM") << true << QByteArray("TERM") << QByteArray() << false;
    }
    void colourIsForTerminals()
    {
        QFETCH(bool, isTerminal);
        QFETCH(QByteArray, name);
        QFETCH(QByteArray, value);
        QFETCH(bool, isColoured);
        World world;
        world.daemon().reply("status", kStatus);
        const std::map<std::string, std::string> environment = {{name.toStdString(), value.toStdString()}};
        const Outcome outcome = isTerminal ? world.runOnTerminal({"status"}, {}, environment)
                                           : world.run({"status"}, {}, environment);
        QCOMPARE(outcome.exitCode, 0);
        QCOMPARE(outcome.out.find('\x1b') != std::string::npos, isColoured);
        QVERIFY(outcome.out.find("ready") != std::string::npos);
    }

    void jsonIsNeverColoured()
    {
        World world;
        world.daemon().reply("status", kStatus);
        const Outcome outcome = world.runOnTerminal({"status", "--json"});
        QVERIFY(outcome.out.find('\x1b') == std::string::npos);
    }

    void helpHasColourOnATerminalAndTheSameWordsInAPipe()
    {
        World world;
        std::string shown = world.runOnTerminal({"help", "ls"}).out;
        QVERIFY(shown.find("\x1b[1mExamples\x1b[0m") != std::string::npos);
        for (const char *part : {"\x1b[1m", "\x1b[0m", "\r"}) {
            for (std::size_t at = shown.find(part); at != std::string::npos; at = shown.find(part))
                shown.erase(at, std::string_view(part).size());
        }
        QCOMPARE(shown, world.run({"help", "ls"}).out);
    }

    void theVersionIsOneLine()
    {
        const World world;
        QCOMPARE(world.run({"--version"}).out, std::string("ctx " CORTEXFS_VERSION "\n"));
        QCOMPARE(world.run({"status", "-V"}).exitCode, 0);
    }

    void theBuildMakesTheScriptsAndThePage()
    {
        const QString made = QStringLiteral(CORTEXFS_BIN_DIR "/../packaging/");
        const World world;
        const std::pair<const char *, const char *> scripts[] = {
            {"bash", "completions/bash/ctx"}, {"zsh", "completions/zsh/_ctx"}, {"fish", "completions/fish/ctx.fish"}};
        for (const auto &[shell, file] : scripts) {
            const std::string script = world.run({"completion", shell}).out;
            QVERIFY(script.find("completion query --") != std::string::npos);
            QCOMPARE(textOf(made + QString::fromUtf8(file)), script);
        }
        QCOMPARE(textOf(made + QStringLiteral("man/ctx.1")), world.run({"help", "--man"}).out);
    }

    void thePageIsCleanSource()
    {
        const std::string page = cortexfs::ctx::manualPage();
        std::size_t start = 0;
        while (start < page.size()) {
            const std::size_t end = page.find('\n', start);
            const std::string line = page.substr(start, end - start);
            QVERIFY2(!line.empty(), "mdoc has no empty lines outside of displays");
            QVERIFY2(!line.ends_with(' '), line.c_str());
            QVERIFY2(line.starts_with('.') || line.size() <= 80, line.c_str());
            start = end + 1;
        }
    }
};

QTEST_GUILESS_MAIN(TerminalTest)
#include "terminal_test.moc"
