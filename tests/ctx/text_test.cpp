#include "app/ctx/core/text.h"

#include <QTest>

using namespace cortexfs;
using namespace cortexfs::ctx;

class TextTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void textFromOutsideIsMadeHarmless_data()
    {
        QTest::addColumn<QByteArray>("given");
        QTest::addColumn<QByteArray>("shown");
        QTest::newRow("plain text stays") << QByteArray("a b") << QByteArray("a b");
        QTest::newRow("letters of the world stay")
            << QByteArray("\u6a21\u578b \u00e9 \U0001F600") << QByteArray("\u6a21\u578b \u00e9 \U0001F600");
        QTest::newRow("a line break cannot forge a line") << QByteArray("a\nctx: b") << QByteArray("a\\nctx: b");
        QTest::newRow("an escape cannot move the cursor") << QByteArray("\x1b[2J") << QByteArray("\\x1b[2J");
        QTest::newRow("DEL and NUL are shown") << QByteArray("\x7f\0z", 3) << QByteArray("\\x7f\\x00z");
        QTest::newRow("C1 controls are shown") << QByteArray("\xc2\x9b") << QByteArray("\\u{009b}");
        QTest::newRow("text cannot be turned round") << QByteArray("\u202eabc") << QByteArray("\\u{202e}abc");
        QTest::newRow("a line separator is shown") << QByteArray("\u2028") << QByteArray("\\u{2028}");
        QTest::newRow("bytes that are no UTF-8 are shown") << QByteArray("\xff\xc3") << QByteArray("\\xff\\xc3");
        QTest::newRow("overlong forms are bytes") << QByteArray("\xc0\xaf") << QByteArray("\\xc0\\xaf");
        QTest::newRow("a surrogate is bytes") << QByteArray("\xed\xa0\x80") << QByteArray("\\xed\\xa0\\x80");
    }
    void textFromOutsideIsMadeHarmless()
    {
        QFETCH(QByteArray, given);
        QFETCH(QByteArray, shown);
        QCOMPARE(QByteArray::fromStdString(escaped(given.toStdString())), shown);
    }

    void linesAreKeptWhereTheyAreWanted() { QCOMPARE(escapedLines("a\n\tb\r"), std::string("a\n\tb\\r")); }

    void columnsLineUpWhateverTheScript()
    {
        Table table({"NAME", "N", "LAST"});
        table.alignRight(1);
        table.add({"\u6a21\u578b", "1", "x"});
        table.add({"abcdef", "1000", ""});
        QCOMPARE(table.text(), std::string("NAME       N  LAST\n"
                                           "\u6a21\u578b       1  x\n"
                                           "abcdef  1000\n"));
    }

    void aThousandRowsKeepOneWidth()
    {
        Table table({"A", "B"});
        for (int i = 0; i < 1000; ++i)
            table.add({std::string(static_cast<std::size_t>(i % 40) + 1, 'x'), "end"});
        const std::string text = table.text();
        std::size_t start = 0;
        int rows = 0;
        while (start < text.size()) {
            const std::size_t end = text.find('\n', start);
            if (rows > 0)
                QCOMPARE(text.substr(start, end - start).find("end"), std::size_t{42});
            ++rows;
            start = end + 1;
        }
        QCOMPARE(rows, 1001);
    }

    void numbersReadWell_data()
    {
        QTest::addColumn<qint64>("ms");
        QTest::addColumn<QByteArray>("text");
        QTest::newRow("short") << qint64(850) << QByteArray("850 ms");
        QTest::newRow("just below ten seconds") << qint64(9999) << QByteArray("9999 ms");
        QTest::newRow("seconds") << qint64(12'400) << QByteArray("12 s");
        QTest::newRow("minutes") << qint64(180'000) << QByteArray("3 min");
        QTest::newRow("hours") << qint64(7'200'000) << QByteArray("2 h");
        QTest::newRow("days") << qint64(3 * 86'400'000LL) << QByteArray("3 d");
    }
    void numbersReadWell()
    {
        QFETCH(qint64, ms);
        QFETCH(QByteArray, text);
        QCOMPARE(QByteArray::fromStdString(duration(ms)), text);
    }

    void tokenCountsReadWell()
    {
        QCOMPARE(tokens(4096), std::string("4096"));
        QCOMPARE(tokens(272'000), std::string("272k"));
        QCOMPARE(tokens(1'048'576), std::string("1048576"));
    }

    void shellTextSurvivesTheShell()
    {
        QCOMPARE(shellQuoted("it's $HOME"), std::string("'it'\\''s $HOME'"));
        QCOMPARE(shellWord("/tmp/plain-1.x"), std::string("/tmp/plain-1.x"));
        QCOMPARE(shellWord("a b"), std::string("'a b'"));
        QCOMPARE(shellWord(""), std::string("''"));
    }

    void paragraphsAreWrapped()
    {
        QCOMPARE(wrapped("one two three four", 9, 2), std::string("  one two\n  three\n  four\n"));
        QCOMPARE(wrapped("a\n b  c", 40, 0), std::string("a\n b  c\n"));
    }
};

QTEST_GUILESS_MAIN(TextTest)
#include "text_test.moc"
