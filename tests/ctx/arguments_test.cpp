#include "app/ctx/core/arguments.h"
#include "app/ctx/core/registry.h"

#include <QTest>

#include <cstring>

using namespace cortexfs;
using namespace cortexfs::ctx;

namespace {

// argv in memory of its own, as the kernel gives it.
class Argv {
public:
    explicit Argv(const std::vector<std::string> &arguments)
    {
        for (const std::string &argument : arguments)
            m_pointers.push_back(::strdup(argument.c_str()));
    }
    ~Argv()
    {
        for (char *pointer : m_pointers)
            ::free(pointer);
    }
    Argv(const Argv &) = delete;
    Argv &operator=(const Argv &) = delete;
    std::span<char *const> span() const { return m_pointers; }
    std::string text(std::size_t index) const { return m_pointers[index]; }

private:
    std::vector<char *> m_pointers;
};

std::vector<std::string> words(const QByteArray &line)
{
    std::vector<std::string> out;
    for (const QByteArray &word : line.split(' '))
        out.push_back(word.toStdString());
    return out;
}

} // namespace

class ArgumentsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void wrongLinesSayWhatIsWrong_data()
    {
        QTest::addColumn<QByteArray>("line");
        QTest::addColumn<QByteArray>("says");
        QTest::newRow("a mistyped command gets the right one")
            << QByteArray("stauts")
            << QByteArray("unknown command \"stauts\", did you mean \"status\"?; see \"ctx --help\"");
        QTest::newRow("a word that is near nothing")
            << QByteArray("xyzzyq") << QByteArray("unknown command \"xyzzyq\"; see");
        QTest::newRow("an unknown option of a command")
            << QByteArray("ls --jason")
            << QByteArray("unknown option --jason, did you mean --json?; see \"ctx help ls\"");
        QTest::newRow("an unknown letter") << QByteArray("ls -lz") << QByteArray("unknown option -z");
        QTest::newRow("an unknown option before the command")
            << QByteArray("--foo ls") << QByteArray("unknown option --foo");
        QTest::newRow("--json where there are no facts")
            << QByteArray("cat --json x") << QByteArray("unknown option --json");
        QTest::newRow("an option without its value") << QByteArray("--root") << QByteArray("--root needs a DIR");
        QTest::newRow("a value for a flag") << QByteArray("ls --long=1") << QByteArray("--long takes no value");
        QTest::newRow("a missing argument")
            << QByteArray("which") << QByteArray("NAME is missing; see \"ctx help which\"");
        QTest::newRow("set without a value") << QByteArray("set model/a/b/effort") << QByteArray("VALUE is missing");
        QTest::newRow("an argument too many") << QByteArray("status now") << QByteArray("unexpected argument \"now\"");
        QTest::newRow("a group alone") << QByteArray("provider")
                                       << QByteArray("needs one of: list show add edit enable disable remove "
                                                     "preset key models test");
        QTest::newRow("a deeper group alone") << QByteArray("provider key") << QByteArray("needs one of: set remove");
        QTest::newRow("a mistyped subcommand")
            << QByteArray("provider lits") << QByteArray("unknown command \"provider lits\", did you mean \"list\"?");
        QTest::newRow("a shell that is none")
            << QByteArray("env --shell csh") << QByteArray("--shell is not \"csh\" but one of: sh bash zsh fish");
    }
    void wrongLinesSayWhatIsWrong()
    {
        QFETCH(QByteArray, line);
        QFETCH(QByteArray, says);
        const Argv argv(words(line));
        const Result<Invocation> parsed = parseArguments(argv.span());
        QVERIFY(!parsed);
        QCOMPARE(parsed.error().number(), EINVAL);
        QVERIFY2(parsed.error().text().find(says.toStdString()) != std::string::npos, parsed.error().text().c_str());
    }

    void optionsMayStandAnywhere()
    {
        const Argv argv({"--root", "/a", "ls", "-al", "--runtime=/r", "model", "--json", "--system"});
        const Result<Invocation> parsed = parseArguments(argv.span());
        QVERIFY2(parsed.isOk(), parsed ? "" : parsed.error().text().c_str());
        QCOMPARE(parsed->command().name, std::string_view("ls"));
        QCOMPARE(parsed->word(0), std::string_view("model"));
        QCOMPARE(parsed->global().places.mount.value_or(""), std::string("/a"));
        QCOMPARE(parsed->global().places.runtime.value_or(""), std::string("/r"));
        QVERIFY(parsed->global().places.mode == Mode::System);
        QVERIFY(parsed->has("--all") && parsed->has("--long") && parsed->wantsJson());
        QVERIFY(!parsed->has("--quiet"));
    }

    void whatFollowsAnObjectBelongsToIt()
    {
        const Argv argv({"exec", "debug/echo", "--json", "-h", "--"});
        const Result<Invocation> parsed = parseArguments(argv.span());
        QVERIFY(parsed.isOk());
        QCOMPARE(parsed->wordCount(), std::size_t{4});
        QCOMPARE(parsed->word(1), std::string_view("--json"));
        QVERIFY(!parsed->global().wantsHelp);
    }

    void twoDashesEndTheOptions()
    {
        const Argv argv({"set", "model/a/b/default", "--", "-x"});
        const Result<Invocation> parsed = parseArguments(argv.span());
        QVERIFY(parsed.isOk());
        QCOMPARE(parsed->word(1), std::string_view("-x"));
    }

    void helpNeedsNoArguments()
    {
        for (const char *flag : {"--help", "-h"}) {
            const Argv argv({"provider", "key", "set", flag});
            const Result<Invocation> parsed = parseArguments(argv.span());
            QVERIFY(parsed.isOk());
            QVERIFY(parsed->global().wantsHelp);
            QCOMPARE(pathText(parsed->path()), std::string("provider key set"));
        }
    }

    void aKeyOnTheLineIsRefusedAndWiped_data()
    {
        QTest::addColumn<QByteArray>("line");
        QTest::newRow("as an argument") << QByteArray("provider key set local CANARY-KEY");
        QTest::newRow("as an unknown option's value") << QByteArray("provider key set local --key=CANARY-KEY");
        QTest::newRow("as an unknown option and its argument")
            << QByteArray("provider key set local --value CANARY-KEY");
        QTest::newRow("as letters") << QByteArray("provider key set local -CANARY-KEY");
    }
    void aKeyOnTheLineIsRefusedAndWiped()
    {
        QFETCH(QByteArray, line);
        const Argv argv(words(line));
        const Result<Invocation> parsed = parseArguments(argv.span());
        QVERIFY(!parsed);
        QVERIFY(parsed.error().text().find("CANARY") == std::string::npos);
        QVERIFY(parsed.error().text().find("not taken from the command line") != std::string::npos);
        for (std::size_t i = 0; i < argv.span().size(); ++i)
            QVERIFY2(argv.text(i).find("CANARY") == std::string::npos, argv.text(i).c_str());
    }
};

QTEST_GUILESS_MAIN(ArgumentsTest)
#include "arguments_test.moc"
