#include "common/abi/control_text.h"
#include "common/base/limits.h"
#include "tests/common/test_strings.h"

#include <QTest>

using namespace cortexfs;
using namespace cortexfs::abi;

namespace {

const std::vector<std::string> kDrivers = {"openai-chat", "openai-responses", "debug"};

Result<std::string> check(const std::string &control, std::string_view text)
{
    if (control == "effort")
        return checkEffort(text);
    if (control == "session")
        return checkSession(text);
    if (control == "default")
        return checkDefaults(text);
    if (control == "fallback")
        return checkFallback(text);
    return checkDriver(text, kDrivers);
}

std::string lines(int count, const char *line)
{
    std::string out;
    for (int i = 0; i < count; ++i)
        out += std::string(line) + "\n";
    return out;
}

} // namespace

class ControlTextTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void accepts_data();
    void accepts();
    void refuses_data();
    void refuses();
    void whatIsNoPlainTextIsRefusedEverywhere_data();
    void whatIsNoPlainTextIsRefusedEverywhere();
    void whatWasStoredIsAcceptedAgain();
    void parsesDefaults();
    void driversOfAPurpose_data();
    void driversOfAPurpose();
    void linesLeaveOutTheEmptyOnes();
};

void ControlTextTest::accepts_data()
{
    QTest::addColumn<std::string>("control");
    QTest::addColumn<std::string>("text");
    QTest::addColumn<std::string>("stored");
    const auto row = [](const char *title, const char *control, std::string text, std::string stored) {
        QTest::newRow(title) << std::string(control) << std::move(text) << std::move(stored);
    };
    for (const char *word : {"auto", "none", "low", "medium", "high", "xhigh", "max"}) {
        QTest::addRow("effort %s", word) << std::string("effort") << std::string(word) + "\n"
                                         << std::string(word) + "\n";
        QTest::addRow("effort %s without its line feed", word)
            << std::string("effort") << std::string(word) << std::string(word) + "\n";
    }
    row("session none", "session", "none\n", "none\n");
    row("session socket without its line feed", "session", "socket", "socket\n");
    row("no defaults at all", "default", "", "");
    row("one default", "default", "temperature=0.2\n", "temperature=0.2\n");
    row("a default without its line feed", "default", "a=1", "a=1\n");
    row("an empty value", "default", "a=\n", "a=\n");
    row("a value with = and blanks and a tab", "default", "a= b=c\td \n", "a= b=c\td \n");
    row("a value beyond ASCII", "default", "stop=\xe3\x80\x82\n", "stop=\xe3\x80\x82\n");
    row("keys of every kind", "default", "_a=1\nB.c-d_9=2\n", "_a=1\nB.c-d_9=2\n");
    row("the order stays", "default", "z=1\na=2\n", "z=1\na=2\n");
    row("keys differ by case", "default", "a=1\nA=2\n", "a=1\nA=2\n");
    row("no fallback at all", "fallback", "", "");
    row("a chain", "fallback", "openai/gpt-5.6\nmodels.example.test/m", "openai/gpt-5.6\nmodels.example.test/m\n");
    row("sixteen fallbacks", "fallback", lines(16, "a/b"), lines(16, "a/b"));
    row("one driver word", "driver", "debug", "debug\n");
    row("a driver table", "driver", "default=openai-chat\nagent=openai-responses,openai-chat\n",
        "default=openai-chat\nagent=openai-responses,openai-chat\n");
    row("every purpose", "driver", "default=debug\nexec=debug\nsocket=debug\nagent=debug",
        "default=debug\nexec=debug\nsocket=debug\nagent=debug\n");
}

void ControlTextTest::accepts()
{
    QFETCH(std::string, control);
    QFETCH(std::string, text);
    QFETCH(std::string, stored);
    const Result<std::string> checked = check(control, text);
    QVERIFY2(checked, checked ? "" : checked.error().text().c_str());
    QCOMPARE(*checked, stored);
}

void ControlTextTest::refuses_data()
{
    QTest::addColumn<std::string>("control");
    QTest::addColumn<std::string>("text");
    QTest::addColumn<std::string>("detail");
    const auto row = [](const char *title, const char *control, std::string text, const char *detail = "") {
        QTest::newRow(title) << std::string(control) << std::move(text) << std::string(detail);
    };
    row("effort: nothing", "effort", "");
    row("effort: a line feed", "effort", "\n");
    row("effort: another word", "effort", "turbo\n");
    row("effort: upper case", "effort", "High\n");
    row("effort: a blank before", "effort", " high\n");
    row("effort: a blank behind", "effort", "high \n");
    row("effort: two lines", "effort", "high\nlow\n");
    row("effort: an empty second line", "effort", "high\n\n");
    row("effort: an empty first line", "effort", "\nhigh\n");
    row("effort: a comment", "effort", "high # why\n");
    row("session: nothing", "session", "");
    row("session: yes", "session", "yes\n");
    row("session: upper case", "session", "Socket\n");
    row("session: two words", "session", "none socket\n");
    row("default: no =", "default", "a=1\ntemperature\n", "line 2");
    row("default: an empty line", "default", "a=1\n\nb=2\n", "line 2");
    row("default: an empty key", "default", "=1\n", "line 1");
    row("default: a digit first", "default", "1a=1\n", "line 1");
    row("default: a blank in the key", "default", "a b=1\n", "line 1");
    row("default: a blank before the =", "default", "a =1\n", "line 1");
    row("default: a comment", "default", "# a\n", "line 1");
    row("default: a key twice", "default", "a=1\nb=2\na=3\n", "line 3");
    row("fallback: no slash", "fallback", "main\n", "line 1");
    row("fallback: a path", "fallback", "/ctx/model/a/b\n", "line 1");
    row("fallback: an empty line", "fallback", "a/b\n\n", "line 2");
    row("fallback: a comment", "fallback", "a/b\n# c/d\n", "line 2");
    row("fallback: a blank behind", "fallback", "a/b \n", "line 1");
    row("fallback: seventeen", "fallback", lines(17, "a/b"), "line 17");
    row("fallback: parent directories", "fallback", "../..\n", "line 1");
    row("driver: nothing", "driver", "");
    row("driver: a line feed", "driver", "\n");
    row("driver: unknown", "driver", "gemini\n");
    row("driver: a format's name", "driver", "openai.chat\n");
    row("driver: unknown in a table", "driver", "default=openai-chat\nexec=gemini\n", "line 2");
    row("driver: an unknown purpose", "driver", "default=debug\nhttp=debug\n", "line 2");
    row("driver: a purpose twice", "driver", "default=debug\ndefault=debug\n", "line 2");
    row("driver: an empty list", "driver", "default=\n", "line 1");
    row("driver: a comma too many", "driver", "default=debug,\n", "line 1");
    row("driver: a comma first", "driver", "default=,debug\n", "line 1");
    row("driver: a blank behind the comma", "driver", "default=debug, openai-chat\n", "line 1");
    row("driver: a list without its purpose", "driver", "debug,openai-chat\n");
    row("driver: two words", "driver", "debug\nopenai-chat\n", "line 1");
    row("driver: an empty line", "driver", "default=debug\n\n", "line 2");
}

void ControlTextTest::refuses()
{
    QFETCH(std::string, control);
    QFETCH(std::string, text);
    QFETCH(std::string, detail);
    const Result<std::string> checked = check(control, text);
    QVERIFY(!checked);
    QCOMPARE(checked.error().number(), EINVAL);
    QCOMPARE(checked.error().detail(), detail);
}

void ControlTextTest::whatIsNoPlainTextIsRefusedEverywhere_data()
{
    QTest::addColumn<std::string>("control");
    QTest::addColumn<std::string>("text");
    QTest::addColumn<int>("number");
    struct Good {
        const char *control;
        std::string text;
    };
    const Good goods[] = {
        {"effort", "high"}, {"session", "none"}, {"default", "a=b"}, {"fallback", "a/b"}, {"driver", "debug"}};
    for (const Good &good : goods) {
        const std::string control = good.control;
        const auto row = [&](const char *title, std::string text, int number) {
            QTest::addRow("%s: %s", good.control, title) << control << std::move(text) << number;
        };
        row("a NUL", good.text + std::string(1, '\0'), EINVAL);
        row("a CRLF", good.text + "\r\n", EINVAL);
        row("an escape", good.text + "\x1b", EINVAL);
        row("DEL", good.text + "\x7f", EINVAL);
        row("an invalid byte", good.text + "\xff", EINVAL);
        row("half a character", good.text + "\xc3", EINVAL);
        row("an overlong slash", good.text + "\xc0\xaf", EINVAL);
        row("a surrogate", good.text + "\xed\xa0\x80", EINVAL);
        row("a BOM", "\xef\xbb\xbf" + good.text, EINVAL);
        row("one byte over 64 KiB", good.text + std::string(limits::kControlFile + 1 - good.text.size(), 'x'),
            EMSGSIZE);
    }
}

void ControlTextTest::whatIsNoPlainTextIsRefusedEverywhere()
{
    QFETCH(std::string, control);
    QFETCH(std::string, text);
    QFETCH(int, number);
    const Result<std::string> checked = check(control, text);
    QVERIFY(!checked);
    QCOMPARE(checked.error().number(), number);
}

void ControlTextTest::whatWasStoredIsAcceptedAgain()
{
    const std::string full = "a=" + std::string(limits::kControlFile - 3, 'x') + "\n";
    QCOMPARE(full.size(), limits::kControlFile);
    const Result<std::string> stored = checkDefaults(full);
    QVERIFY(stored);
    QVERIFY(checkDefaults(*stored));
    // The line feed that is added must not push the file over the limit either.
    const std::string unended = "a=" + std::string(limits::kControlFile - 2, 'x');
    const Result<std::string> ended = checkDefaults(unended);
    QVERIFY(!ended || checkDefaults(*ended));
}

void ControlTextTest::parsesDefaults()
{
    using Pairs = std::vector<std::pair<std::string, std::string>>;
    QCOMPARE(parseDefaults("a=1\nb=x=y\nc=\n"), (Pairs{{"a", "1"}, {"b", "x=y"}, {"c", ""}}));
    QCOMPARE(parseDefaults(""), Pairs());
}

void ControlTextTest::driversOfAPurpose_data()
{
    QTest::addColumn<std::string>("text");
    QTest::addColumn<std::string>("purpose");
    QTest::addColumn<std::vector<std::string>>("drivers");
    using List = std::vector<std::string>;
    const auto row = [](const char *title, const char *text, const char *purpose, List drivers) {
        QTest::newRow(title) << std::string(text) << std::string(purpose) << std::move(drivers);
    };
    row("a single word is for everything", "debug\n", "agent", {"debug"});
    row("its own line", "default=a\nagent=b,c\n", "agent", {"b", "c"});
    row("else the default", "default=a,b\nagent=c\n", "exec", {"a", "b"});
    row("the default may come last", "agent=c\ndefault=a\n", "socket", {"a"});
    row("the default itself", "default=a\nexec=b\n", "default", {"a"});
    row("neither", "exec=b\n", "agent", {});
    row("an empty text", "", "exec", {});
}

void ControlTextTest::driversOfAPurpose()
{
    QFETCH(std::string, text);
    QFETCH(std::string, purpose);
    QFETCH(std::vector<std::string>, drivers);
    QCOMPARE(driversFor(text, purpose), drivers);
}

void ControlTextTest::linesLeaveOutTheEmptyOnes()
{
    using List = std::vector<std::string>;
    QCOMPARE(linesOf("a\n\nb"), (List{"a", "b"}));
    QCOMPARE(linesOf("\n\n"), List());
    QCOMPARE(linesOf(""), List());
    QCOMPARE(linesOf("a\n"), List{"a"});
}

QTEST_GUILESS_MAIN(ControlTextTest)
#include "control_text_test.moc"
