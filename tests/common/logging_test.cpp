#include "common/base/logging.h"
#include "common/base/secret_string.h"
#include "common/base/unique_fd.h"
#include "tests/common/test_strings.h"

#include <QTest>

#include <fcntl.h>
#include <unistd.h>

using namespace cortexfs;

namespace {

// What `act` writes to stderr through our handler.
template<typename Act>
std::string capturedStderr(Act act)
{
    char name[] = "/tmp/cortexfs-log-XXXXXX";
    const UniqueFd file(::mkstemp(name));
    ::unlink(name);
    const UniqueFd saved(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
    ::dup2(file.get(), STDERR_FILENO);
    const QtMessageHandler before = qInstallMessageHandler(nullptr);
    logging::install();
    act();
    qInstallMessageHandler(before);
    ::dup2(saved.get(), STDERR_FILENO);
    std::string out(65536, '\0');
    const ssize_t got = ::pread(file.get(), out.data(), out.size(), 0);
    out.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return out;
}

} // namespace

class LoggingTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void escapes_data();
    void escapes();
    void noNameForgesALine();
    void journalGetsPriorities();
    void levels_data();
    void levels();
    void secretsAreWiped_data();
    void secretsAreWiped();
    void secretsMoveAndClone();
};

void LoggingTest::escapes_data()
{
    QTest::addColumn<std::string>("text");
    QTest::addColumn<std::string>("escaped");
    const auto row = [](const char *name, std::string text, const char *escaped) {
        QTest::newRow(name) << std::move(text) << std::string(escaped);
    };
    row("plain text", "model/openai/gpt-5.6 \"q\" \\ '", "model/openai/gpt-5.6 \"q\" \\ '");
    row("empty", "", "");
    row("a line feed", "a\nb", "a\\nb");
    row("a carriage return", "a\rb", "a\\x0db");
    row("a tab", "a\tb", "a\\tb");
    row("NUL", std::string("a\0b", 3), "a\\x00b");
    row("a terminal escape", "\x1b[31mred", "\\x1b[31mred");
    row("DEL", "\x7f", "\\x7f");
    row("a C1 control in UTF-8",
        "\xc2\x9b"
        "31m",
        "\\x9b31m");
    row("the last C1 control", "\xc2\x9f", "\\x9f");
    row("a no-break space is no control", "\xc2\xa0", "\xc2\xa0");
    row("letters beyond ASCII stay", "\xc3\xa9\xe6\xa8\xa1\xf0\x9f\x98\x80", "\xc3\xa9\xe6\xa8\xa1\xf0\x9f\x98\x80");
    row("half a sequence at the end stays", "a\xc2", "a\xc2");
}

void LoggingTest::escapes()
{
    QFETCH(std::string, text);
    QFETCH(std::string, escaped);
    QCOMPARE(logging::escapeControl(text), escaped);
}

void LoggingTest::noNameForgesALine()
{
    ::unsetenv("JOURNAL_STREAM");
    const std::string text = capturedStderr([] {
        qCWarning(lcConfig, "file %s", "x\n<0>cortexfs error: forged\x1b[2J");
        qWarning("no category");
    });
    QCOMPARE(text, std::string("cortexfs warning cortexfs.config: file x\\n<0>cortexfs error: forged\\x1b[2J\n"
                               "cortexfs warning: no category\n"));
}

void LoggingTest::journalGetsPriorities()
{
    ::setenv("JOURNAL_STREAM", "8:1", 1);
    const std::string text = capturedStderr([] {
        qCInfo(lcDaemon, "i");
        qCWarning(lcDaemon, "w");
        qCCritical(lcDaemon, "c");
    });
    ::unsetenv("JOURNAL_STREAM");
    QCOMPARE(text, std::string("<6>cortexfs info cortexfs.daemon: i\n<4>cortexfs warning cortexfs.daemon: w\n"
                               "<3>cortexfs error cortexfs.daemon: c\n"));
}

void LoggingTest::levels_data()
{
    QTest::addColumn<std::string>("word");
    QTest::addColumn<bool>("known");
    QTest::addColumn<std::string>("shown");
    QTest::newRow("debug") << std::string("debug") << true << std::string("diwc");
    QTest::newRow("info") << std::string("info") << true << std::string("iwc");
    QTest::newRow("warning") << std::string("warning") << true << std::string("wc");
    QTest::newRow("error") << std::string("error") << true << std::string("c");
    QTest::newRow("another word keeps the level") << std::string("loud") << false << std::string("c");
    QTest::newRow("upper case is another word") << std::string("ERROR") << false << std::string("c");
    QTest::newRow("no word") << std::string() << false << std::string("c");
}

void LoggingTest::levels()
{
    QFETCH(std::string, word);
    QFETCH(bool, known);
    QFETCH(std::string, shown);
    QVERIFY(logging::setLevel("error"));
    QCOMPARE(logging::setLevel(word), known);
    std::string levels;
    if (lcFs().isDebugEnabled())
        levels += 'd';
    if (lcFs().isInfoEnabled())
        levels += 'i';
    if (lcFs().isWarningEnabled())
        levels += 'w';
    if (lcFs().isCriticalEnabled())
        levels += 'c';
    QCOMPARE(levels, shown);
    QVERIFY(logging::setLevel("info"));
}

void LoggingTest::secretsAreWiped_data()
{
    QTest::addColumn<std::string>("value");
    QTest::newRow("a short secret lives inside the object") << std::string("sk-12345");
    QTest::newRow("the longest that does") << std::string("sk-123456789012");
}

void LoggingTest::secretsAreWiped()
{
    QFETCH(std::string, value);
    alignas(SecretString) unsigned char storage[2][sizeof(SecretString)] = {};
    const auto holds = [&](int i) {
        const std::string bytes(reinterpret_cast<const char *>(storage[i]), sizeof storage[i]);
        return bytes.find(value.substr(1)) != std::string::npos;
    };
    auto *first = new (storage[0]) SecretString(value);
    QVERIFY(holds(0));
    auto *second = new (storage[1]) SecretString(std::move(*first));
    QVERIFY(!holds(0)); // moved away: nothing stays behind
    QVERIFY(holds(1));
    *first = std::move(*second);
    QVERIFY(holds(0) && !holds(1));
    first->~SecretString();
    second->~SecretString();
    QVERIFY(!holds(0) && !holds(1));
}

void LoggingTest::secretsMoveAndClone()
{
    static_assert(!std::is_copy_constructible_v<SecretString> && !std::is_copy_assignable_v<SecretString>);
    SecretString secret(std::string(100, 's'));
    const SecretString copy = secret.clone();
    SecretString moved = std::move(secret);
    QVERIFY(secret.isEmpty()); // NOLINT(bugprone-use-after-move): that it is empty is what is promised
    QCOMPARE(moved.reveal(), std::string_view(copy.reveal()));
    SecretString &alias = moved;
    moved = std::move(alias);
    QCOMPARE(moved.reveal().size(), std::size_t(100));
    QVERIFY(SecretString().isEmpty());
}

QTEST_GUILESS_MAIN(LoggingTest)
#include "logging_test.moc"
