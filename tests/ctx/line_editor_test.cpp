// Typing: keys, words, pastes, history, and what the terminal then shows.
#include "app/ctx/core/input_history.h"
#include "app/ctx/core/line_editor.h"
#include "tests/ctx/ctx_run.h"

#include <QTemporaryDir>
#include <QTest>

#include <sys/stat.h>

using namespace cortexfs;
using namespace cortexfs::ctx;

namespace {

using Outcome = LineEditor::Outcome;

const std::vector<std::string> kNoHistory;

// A terminal as far as the editor uses one: characters of one column, CR LF, cursor movement, clearing.
class Screen {
public:
    explicit Screen(std::size_t width) : m_width(width) {}

    void show(std::string_view text)
    {
        while (!text.empty()) {
            if (text.starts_with("\x1b[")) {
                const std::size_t end = text.find_first_not_of("0123456789;", 2);
                control(text[end], text.substr(2, end - 2));
                text.remove_prefix(end + 1);
            } else if (text.front() == '\r') {
                m_column = 0;
                text.remove_prefix(1);
            } else if (text.front() == '\n') {
                ++m_row;
                text.remove_prefix(1);
            } else {
                put(text.front());
                text.remove_prefix(1);
            }
        }
    }
    // Rows joined by '/', the cursor as '^' before its character.
    std::string picture() const
    {
        std::string out;
        for (std::size_t row = 0; row < std::max(m_rows.size(), m_row + 1); ++row) {
            std::string text = row < m_rows.size() ? m_rows[row] : std::string();
            if (row == m_row) {
                text.resize(std::max(text.size(), m_column), ' ');
                text.insert(m_column, "^");
            }
            out += (row == 0 ? "" : "/") + text;
        }
        return out;
    }

private:
    void put(char c)
    {
        m_rows.resize(std::max(m_rows.size(), m_row + 1));
        std::string &row = m_rows[m_row];
        row.resize(std::max(row.size(), m_column + 1), ' ');
        row[m_column] = m_column < m_width ? c : '!'; // the terminal would have wrapped
        ++m_column;
    }
    void control(char final, std::string_view number)
    {
        const std::size_t count = number.empty() ? 1 : std::stoul(std::string(number));
        if (final == 'A')
            m_row -= std::min(m_row, count);
        else if (final == 'C')
            m_column += count;
        else if (final == 'H')
            m_row = m_column = 0;
        else if (final == 'J' && number == "2")
            m_rows.clear();
        else if (final == 'J')
            clearFromHere();
    }
    void clearFromHere()
    {
        if (m_row >= m_rows.size())
            return;
        m_rows.resize(m_row + 1);
        m_rows[m_row].resize(std::min(m_rows[m_row].size(), m_column));
    }

    std::size_t m_width;
    std::size_t m_row = 0;
    std::size_t m_column = 0;
    std::vector<std::string> m_rows;
};

} // namespace

class LineEditorTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void keysEditTheLine_data()
    {
        QTest::addColumn<QByteArray>("keys");
        QTest::addColumn<QByteArray>("text"); // '^': the cursor
        const auto row = [](const char *name, const char *keys, const char *text) {
            QTest::newRow(name) << QByteArray(keys) << QByteArray(text);
        };
        row("letters", "hello", "hello^");
        row("letters of more than one byte", "h\u00e9\u6a21\U0001F600", "h\u00e9\u6a21\U0001F600^");
        row("half a character that is never finished is left out", "a\xe6\xa8z", "az^");
        row("bytes that are no UTF-8 are left out", "a\xc0\x80z", "az^");
        row("backspace", "abc\x7f\b", "a^");
        row("backspace takes a whole character", "a\u6a21\x7f", "a^");
        row("backspace at the beginning", "\x7f", "^");
        row("left and right", "abc\x1b[D\x1b[D\x1b[C", "ab^c");
        row("arrows of application mode", "abc\x1bOD\x1bOD\x1bOC", "ab^c");
        row("left over a wide character", "a\u6a21\x1b[D", "a^\u6a21");
        row("right at the end", "a\x1b[C\x1b[C", "a^");
        row("home and end", "abc\x1b[Hx\x1b[Fy", "xabcy^");
        row("home and end of other terminals", "abc\x1b[1~x\x1b[4~y\x1b[7~z\x1b[8~", "zxabcy^");
        row("ctrl-a and ctrl-e", "abc\x01x\x05y", "xabcy^");
        row("ctrl-b and ctrl-f", "abc\x02\x02\x06x", "abx^c");
        row("delete", "abc\x01\x1b[3~", "^bc");
        row("ctrl-d deletes where there is text", "abc\x01\x04", "^bc");
        row("ctrl-k and ctrl-y", "abc def\x1b[1;5D\x0b\x01\x19", "def^abc ");
        row("ctrl-u", "abc def\x1b[1;5D\x15", "^def");
        row("ctrl-w", "one two  \x17", "one ^");
        row("ctrl-w takes a word of any script", "one \u6a21\u578b\x17", "one ^");
        row("alt-backspace", "one two\x1b\x7f", "one ^");
        row("words back and forth",
            "one two three\x1b"
            "b\x1b"
            "b\x1b"
            "f",
            "one two^ three");
        row("control and arrows", "one two\x1b[1;5D\x1b[1;5D\x1b[1;5C", "one^ two");
        row("alt-d",
            "one two\x01\x1b"
            "d",
            "^ two");
        row("alt-enter begins a line", "a\x1b\rb", "a\nb^");
        row("home and end of one line among several", "ab\x1b\rcd\x01x\x05y", "ab\nxcdy^");
        row("an unknown sequence is left out", "a\x1b[99;99Zb", "ab^");
        row("a sequence without an end is given up", "a\x1b[1111111111111111b", "a11b^");
        row("escape twice", "a\x1b\x1b[Db", "b^a");
        row("other control characters are left out", "a\x1a\x1c\x02", "^a");
        row("a paste", "\x1b[200~two words\x1b[201~!", "two words!^");
        row("a paste of several lines is text", "\x1b[200~a\rb\r\nc\n\x1b[201~", "a\nb\nc\n^");
        row("control characters of a paste do nothing", "\x1b[200~a\x03\x1b[Db\x1b[201~", "a\x03\x1b[Db^");
        row("a paste with bytes that are no UTF-8", "\x1b[200~a\xff\x1b[201~", "a\ufffd^");
        row("a tab is one", "a\tb", "a\tb^");
    }
    void keysEditTheLine()
    {
        QFETCH(QByteArray, keys);
        QFETCH(QByteArray, text);
        const auto marked = [](const LineEditor &editor) {
            QByteArray out = QByteArray::fromStdString(editor.text());
            return out.insert(static_cast<qsizetype>(editor.cursor()), '^');
        };
        LineEditor whole("> ", kNoHistory);
        std::string input = keys.toStdString();
        QVERIFY(whole.feed(input) == Outcome::More);
        QCOMPARE(marked(whole), text);
        // The same when every byte comes alone.
        LineEditor slow("> ", kNoHistory);
        for (const char key : keys) {
            std::string one(1, key);
            QVERIFY(slow.feed(one) == Outcome::More);
        }
        QCOMPARE(marked(slow), text);
    }

    void whatEndsALine_data()
    {
        QTest::addColumn<QByteArray>("keys");
        QTest::addColumn<int>("outcome");
        QTest::addColumn<QByteArray>("rest");
        QTest::newRow("enter") << QByteArray("a\rbc") << int(Outcome::Line) << QByteArray("bc");
        QTest::newRow("a line feed") << QByteArray("a\nbc") << int(Outcome::Line) << QByteArray("bc");
        QTest::newRow("ctrl-d on an empty line") << QByteArray("\x04x") << int(Outcome::EndOfInput) << QByteArray("x");
        QTest::newRow("ctrl-c") << QByteArray("abc\x03") << int(Outcome::Interrupted) << QByteArray();
    }
    void whatEndsALine()
    {
        QFETCH(QByteArray, keys);
        QFETCH(int, outcome);
        QFETCH(QByteArray, rest);
        LineEditor editor("> ", kNoHistory);
        std::string input = keys.toStdString();
        QCOMPARE(int(editor.feed(input)), outcome);
        QCOMPARE(QByteArray::fromStdString(input), rest);
    }

    void earlierLinesComeBack_data()
    {
        QTest::addColumn<QByteArray>("keys");
        QTest::addColumn<QByteArray>("text");
        QTest::newRow("the last") << QByteArray("\x1b[A") << QByteArray("second");
        QTest::newRow("the one before") << QByteArray("\x1b[A\x10") << QByteArray("first");
        QTest::newRow("nothing before the first") << QByteArray("\x1b[A\x1b[A\x1b[A\x1b[A") << QByteArray("first");
        QTest::newRow("the own line again") << QByteArray("mine\x1b[A\x1b[A\x1b[B\x0e") << QByteArray("mine");
        QTest::newRow("nothing after the own line") << QByteArray("mine\x1b[B") << QByteArray("mine");
        QTest::newRow("edited") << QByteArray("\x1b[A!") << QByteArray("second!");
    }
    void earlierLinesComeBack()
    {
        QFETCH(QByteArray, keys);
        QFETCH(QByteArray, text);
        const std::vector<std::string> history = {"first", "second"};
        LineEditor editor("> ", history);
        std::string input = keys.toStdString();
        editor.feed(input);
        QCOMPARE(QByteArray::fromStdString(editor.text()), text);
    }

    void theScreenShowsIt_data()
    {
        QTest::addColumn<QByteArrayList>("steps"); // drawn after each
        QTest::addColumn<QByteArray>("picture");   // of 10 columns
        const auto row = [](const char *name, const QByteArrayList &steps, const char *picture) {
            QTest::newRow(name) << steps << QByteArray(picture);
        };
        row("an empty line", {""}, "> ^");
        row("a short line", {"abc"}, "> abc^");
        row("the cursor inside", {"abc", "\x1b[D\x1b[D"}, "> a^bc");
        row("a line that wraps", {"abcdefghijk"}, "> abcdefgh/ijk^");
        row("one that just fits", {"abcdefgh"}, "> abcdefgh/^");
        row("back into the first row", {"abcdefghij", "\x01"}, "> ^abcdefgh/ij");
        row("shorter again", {"abcdefghijklmnopqrstuv", "\x15", "z"}, "> z^");
        row("typed one by one over the edge", {"abcdefgh", "i", "j", "\x7f", "\x7f", "\x7f"}, "> abcdefg^");
        row("several lines", {"ab\x1b\rcd", "\x1b[D"}, "> ab/c^d");
        row("a tab is four blanks", {"a\tb"}, "> a    b^");
        row("a control character is spelled",
            {"\x1b[200~\x1b"
             "x\x1b[201~"},
            "> \\x1bx^");
        row("cleared by ctrl-l", {"abcdefghijk", "\x0c"}, "> abcdefgh/ijk^");
    }
    void theScreenShowsIt()
    {
        QFETCH(QByteArrayList, steps);
        QFETCH(QByteArray, picture);
        LineEditor editor("> ", kNoHistory);
        Screen screen(10);
        for (const QByteArray &step : steps) {
            std::string input = step.toStdString();
            editor.feed(input);
            screen.show(editor.draw(10));
        }
        QCOMPARE(QByteArray::fromStdString(screen.picture()), picture);
        // Afterwards the cursor stands below all of it.
        screen.show(editor.finish(10));
        QVERIFY2(screen.picture().ends_with("/^"), screen.picture().c_str());
    }

    void wideCharactersDoNotStraddleTheEdge()
    {
        LineEditor editor("> ", kNoHistory);
        std::string input = "abcdefg\u6a21";
        editor.feed(input);
        QVERIFY(editor.draw(10).find("abcdefg\r\n\u6a21") != std::string::npos);
    }

    void whatWasTypedIsKept()
    {
        const QTemporaryDir directory;
        const std::string file = directory.path().toStdString() + "/state/cortexfs/chat_history";
        {
            InputHistory history(file);
            QVERIFY(history.lines().empty());
            for (const char *line : {"one", "two\nlines \"quoted\"", "two\nlines \"quoted\"", ""})
                history.add(line);
        }
        struct stat info = {};
        QCOMPARE(::stat(file.c_str(), &info), 0);
        QCOMPARE(info.st_mode & 07777U, 0600U);
        const InputHistory again(file);
        QCOMPARE(again.lines(), (std::vector<std::string>{"one", "two\nlines \"quoted\""}));
    }

    void theFileDoesNotGrowForEver()
    {
        const QTemporaryDir directory;
        const std::string file = directory.path().toStdString() + "/h";
        {
            InputHistory history(file);
            for (std::size_t i = 0; i <= 2 * InputHistory::kKept; ++i)
                history.add("line " + std::to_string(i));
        }
        QCOMPARE(InputHistory(file).lines().size(), InputHistory::kKept);
        const InputHistory again(file);
        QCOMPARE(again.lines().size(), InputHistory::kKept);
        QCOMPARE(again.lines().back(), "line " + std::to_string(2 * InputHistory::kKept));
    }

    void aDamagedLineIsSkipped()
    {
        const QTemporaryDir directory;
        const std::string file = directory.path().toStdString() + "/h";
        QFile raw(QString::fromStdString(file));
        QVERIFY(raw.open(QIODevice::WriteOnly));
        raw.write("\"good\"\n\"torn\n5\n\"better\"\n");
        raw.close();
        ::chmod(file.c_str(), 0600);
        QCOMPARE(InputHistory(file).lines(), (std::vector<std::string>{"good", "better"}));
    }

    void theFileIsTheUsers_data()
    {
        QTest::addColumn<QByteArray>("state");
        QTest::addColumn<QByteArray>("home");
        QTest::addColumn<QByteArray>("file");
        QTest::newRow("below the home directory")
            << QByteArray() << QByteArray("/home/u") << QByteArray("/home/u/.local/state/cortexfs/chat_history");
        QTest::newRow("where XDG_STATE_HOME says")
            << QByteArray("/s") << QByteArray("/home/u") << QByteArray("/s/cortexfs/chat_history");
        QTest::newRow("a relative one does not count")
            << QByteArray("s") << QByteArray("/home/u") << QByteArray("/home/u/.local/state/cortexfs/chat_history");
        QTest::newRow("nowhere") << QByteArray() << QByteArray() << QByteArray();
    }
    void theFileIsTheUsers()
    {
        QFETCH(QByteArray, state);
        QFETCH(QByteArray, home);
        QFETCH(QByteArray, file);
        const auto environment = [&](const char *name) -> std::optional<std::string> {
            const QByteArray &value = std::string_view(name) == "HOME" ? home : state;
            return value.isEmpty() ? std::nullopt : std::optional(value.toStdString());
        };
        QCOMPARE(QByteArray::fromStdString(inputHistoryFile(environment)), file);
    }
};

QTEST_GUILESS_MAIN(LineEditorTest)
#include "line_editor_test.moc"
