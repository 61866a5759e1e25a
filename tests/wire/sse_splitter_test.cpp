#include "daemon/providers/wire/core/sse_splitter.h"
#include "tests/wire/fixture.h"

#include <QtTest>

#include <chrono>

using namespace cortexfs;
using namespace cortexfs::test;
using wire::SseSplitter;

namespace {

// "name=data" for each event, one a line; LF inside data as "\n".
std::string split(std::string_view bytes, const std::vector<std::size_t> &cuts, std::size_t maxEvent = 1 << 20)
{
    SseSplitter splitter(maxEvent);
    std::string out;
    const auto drain = [&] {
        while (const auto event = splitter.next()) {
            out += std::string(event->name) + "=";
            for (const char c : event->data)
                out += c == '\n' ? std::string("\\n") : std::string(1, c);
            out += '\n';
        }
    };
    std::size_t begin = 0;
    for (const std::size_t cut : cuts) {
        splitter.append(bytes.substr(begin, cut - begin));
        begin = cut;
        drain();
    }
    splitter.append(bytes.substr(begin));
    drain();
    splitter.finish();
    drain();
    return out + (splitter.isOverflowed() ? "overflow\n" : "");
}

std::vector<std::size_t> everyByte(std::size_t size)
{
    std::vector<std::size_t> cuts;
    for (std::size_t i = 1; i < size; ++i)
        cuts.push_back(i);
    return cuts;
}

} // namespace

class SseSplitterTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void framesAsTheVectorsSay_data();
    void framesAsTheVectorsSay();
    void frames_data();
    void frames();
    void refusesAnEventThatIsTooLong_data();
    void refusesAnEventThatIsTooLong();
    void looksAtEachByteOnce();
};

void SseSplitterTest::framesAsTheVectorsSay_data()
{
    QTest::addColumn<QByteArray>("name");
    const auto names = fixtureNames("sse", ".bin");
    QVERIFY(names.size() >= 10);
    for (const std::string &name : names)
        QTest::newRow(name.c_str()) << QByteArray::fromStdString(name);
}

void SseSplitterTest::framesAsTheVectorsSay()
{
    QFETCH(QByteArray, name);
    const std::string base = fixturePath("sse/" + name.toStdString());
    const std::string bytes = readFixtureFile(base + ".bin");
    const auto expectation = json::parse(readFixtureFile(base + ".expect.json"));
    const auto meta = json::parse(readFixtureFile(base + ".meta.json"));
    QVERIFY(expectation && meta);
    std::string expected;
    for (const json::Value &event : expectation->root()["events"].elements()) {
        expected += std::string(event["event"].stringOr("")) + "=";
        for (const char c : event["data"].stringOr(""))
            expected += c == '\n' ? std::string("\\n") : std::string(1, c);
        expected += '\n';
    }
    std::vector<std::size_t> cuts;
    for (const json::Value &cut : meta->root()["split"].elements())
        cuts.push_back(static_cast<std::size_t>(cut.asInt().value_or(0)));
    QCOMPARE(split(bytes, {}), expected);
    QCOMPARE(split(bytes, cuts), expected);
    QCOMPARE(split(bytes, everyByte(bytes.size())), expected);
    for (std::size_t cut = 1; cut < bytes.size(); ++cut)
        QCOMPARE(split(bytes, {cut}), expected);
}

void SseSplitterTest::frames_data()
{
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QByteArray>("expected");
    const auto row = [](const char *name, const QByteArray &bytes, const QByteArray &expected) {
        QTest::newRow(name) << bytes << expected;
    };
    row("CR alone ends lines, also at the very end", "data: 1\r\rdata: 2\r\r", "message=1\nmessage=2\n");
    row("CRLF is one line end", "data: 1\r\n\r\ndata: 2\r\n\r\n", "message=1\nmessage=2\n");
    row("a byte order mark alone is nothing", "\xef\xbb\xbf", "");
    row("half a byte order mark is a field name", "\xef\xbb", "");
    row("nothing at all", "", "");
    row("blank lines alone", "\n\r\n\r\n\n", "");
    row("comments alone", ": ping\n\n: ping\n\n", "");
    row("an event without data leaves no name behind", "event: a\n\ndata: 1\n\n", "message=1\n");
    row("the last name counts", "event: a\nevent: b\ndata: 1\n\n", "b=1\n");
    row("an empty name is the default one", "event:\ndata: 1\n\n", "message=1\n");
    row("an event of empty data is one", "data:\n\ndata\n\n", "message=\nmessage=\n");
    row("the end of the stream ends a line and an event", "event: x\ndata: {\"a\":1}", "x={\"a\":1}\n");
    row("the end of the stream after a name alone", "event: x", "");
    row("id and retry are passed over", "id: 7\nretry: 5\ndata: 1\n\n", "message=1\n");
    row("a line `error: {...}` is an error event", "error: {\"code\":400}\n\n", "error={\"code\":400}\n");
    row("a line `error: text` is an unknown field", "error: text\n\n", "");
    row("a NUL is data", QByteArray("data: a\0b\n\n", 11), QByteArray("message=a\0b\n", 12));
}

void SseSplitterTest::frames()
{
    QFETCH(QByteArray, bytes);
    QFETCH(QByteArray, expected);
    const std::string text = bytes.toStdString();
    QCOMPARE(split(text, {}), expected.toStdString());
    QCOMPARE(split(text, everyByte(text.size())), expected.toStdString());
}

void SseSplitterTest::refusesAnEventThatIsTooLong_data()
{
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QByteArray>("expected");
    const QByteArray ok = "data: 1\n\n";
    QTest::newRow("a line without an end") << ok + QByteArray(200, 'x') << QByteArray("message=1\noverflow\n");
    QTest::newRow("a line with an end") << ok + "data: " + QByteArray(200, 'x') + "\n\n" + ok
                                        << QByteArray("message=1\noverflow\n");
    QTest::newRow("many lines of one event")
        << ok + QByteArray("data: 0123456789\n").repeated(20) + "\n" + ok << QByteArray("message=1\noverflow\n");
    QTest::newRow("a comment") << ok + ":" + QByteArray(200, 'x') + "\n" + ok << QByteArray("message=1\noverflow\n");
    QTest::newRow("just within") << "data: " + QByteArray(94, 'x') + "\n\n"
                                 << "message=" + QByteArray(94, 'x') + "\n";
}

void SseSplitterTest::refusesAnEventThatIsTooLong()
{
    QFETCH(QByteArray, bytes);
    QFETCH(QByteArray, expected);
    const std::string text = bytes.toStdString();
    QCOMPARE(split(text, {}, 100), expected.toStdString());
    QCOMPARE(split(text, everyByte(text.size()), 100), expected.toStdString());
}

void SseSplitterTest::looksAtEachByteOnce()
{
    // One event of 4 MiB in pieces of 64 bytes: quadratic scanning would look at 137 GB.
    SseSplitter splitter;
    splitter.append("data: ");
    const std::string piece(64, 'x');
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 65536; ++i) {
        splitter.append(piece);
        QVERIFY(!splitter.next());
    }
    splitter.append("\n\n");
    const auto event = splitter.next();
    QVERIFY(event);
    QCOMPARE(event->data.size(), std::size_t(65536) * 64);
    QVERIFY(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
}

QTEST_GUILESS_MAIN(SseSplitterTest)
#include "sse_splitter_test.moc"
