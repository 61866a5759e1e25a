#include "common/jsonl/frame_reader.h"
#include "tests/common/test_strings.h"

#include <QElapsedTimer>
#include <QTest>

#include <random>

using namespace cortexfs;
using jsonl::FrameReader;

namespace {

using Frames = std::vector<std::string>;

Frames take(FrameReader &reader)
{
    Frames out;
    while (const auto frame = reader.next())
        out.emplace_back(*frame);
    return out;
}

// Feeds `bytes` in pieces of `size`, taking what comes after each.
Frames feed(FrameReader &reader, std::string_view bytes, std::size_t size)
{
    Frames out;
    while (!bytes.empty()) {
        reader.append(bytes.substr(0, size));
        for (std::string &frame : take(reader))
            out.push_back(std::move(frame));
        bytes.remove_prefix(std::min(size, bytes.size()));
    }
    return out;
}

} // namespace

class FrameReaderTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void splits_data();
    void splits();
    void limits_data();
    void limits();
    void framesBeforeTheTooLongOneComeOut();
    void anOverflowIsForGood();
    void aLongStreamThroughASmallReader();
    void bytewiseFeedingIsLinear();
    void manySmallFramesAtOnceAreLinear();
    void aLargeFrameDoesNotKeepItsMemory();
    void randomSplitsGiveTheSame();
};

void FrameReaderTest::splits_data()
{
    QTest::addColumn<std::string>("bytes");
    QTest::addColumn<Frames>("frames");
    QTest::addColumn<std::string>("rest");
    const auto row = [](const char *title, std::string bytes, Frames frames, const char *rest = "") {
        QTest::newRow(title) << std::move(bytes) << std::move(frames) << std::string(rest);
    };
    row("nothing", "", {});
    row("one frame", "{}\n", {"{}"});
    row("two frames", "{\"a\":1}\n{\"b\":2}\n", {"{\"a\":1}", "{\"b\":2}"});
    row("a frame without its line feed is not one yet", "{}\n{\"op\"", {"{}"}, "{\"op\"");
    row("CRLF", "{}\r\n[]\r\n", {"{}", "[]"});
    row("a lone CR is content", "a\rb\n", {"a\rb"});
    row("only the last CR goes", "a\r\r\n", {"a\r"});
    row("empty lines are skipped", "\n\n{}\n\r\n\n[]\n\n", {"{}", "[]"});
    row("nothing but line feeds", "\n\n\r\n\n", {});
    row("blanks are a frame", " \n", {" "});
    row("NULs pass through", std::string("a\0b\n", 4), {std::string("a\0b", 3)});
    row("bytes that are no text pass through", "\xff\xfe\n", {"\xff\xfe"});
    row("the line separator of JavaScript is content", "\xe2\x80\xa8\n", {"\xe2\x80\xa8"});
}

void FrameReaderTest::splits()
{
    QFETCH(std::string, bytes);
    QFETCH(Frames, frames);
    QFETCH(std::string, rest);
    for (std::size_t size = 1; size <= std::max<std::size_t>(bytes.size(), 1); ++size) {
        FrameReader reader;
        QCOMPARE(feed(reader, bytes, size), frames);
        QCOMPARE(std::string(reader.rest()), rest);
        QVERIFY(!reader.isOverflowed());
    }
    for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
        FrameReader reader;
        reader.append(std::string_view(bytes).substr(0, cut));
        Frames out = take(reader);
        reader.append(std::string_view(bytes).substr(cut));
        for (std::string &frame : take(reader))
            out.push_back(std::move(frame));
        QCOMPARE(out, frames);
    }
}

void FrameReaderTest::limits_data()
{
    QTest::addColumn<int>("size"); // without LF
    QTest::addColumn<std::string>("ending");
    QTest::addColumn<bool>("ok");
    const int frame = static_cast<int>(cortexfs::limits::kFrame);
    QTest::newRow("1 MiB with its line feed") << frame - 1 << std::string("\n") << true;
    QTest::newRow("one byte more") << frame << std::string("\n") << false;
    QTest::newRow("1 MiB with CRLF") << frame - 2 << std::string("\r\n") << true;
    QTest::newRow("one byte more with CRLF") << frame - 1 << std::string("\r\n") << false;
    QTest::newRow("1 MiB and no line feed yet") << frame << std::string() << false;
    QTest::newRow("one byte less and no line feed yet waits") << frame - 1 << std::string() << true;
}

void FrameReaderTest::limits()
{
    QFETCH(int, size);
    QFETCH(std::string, ending);
    QFETCH(bool, ok);
    const std::string bytes = std::string(static_cast<std::size_t>(size), 'x') + ending;
    for (const std::size_t piece : {bytes.size(), std::size_t(65536), std::size_t(65537), std::size_t(4093)}) {
        FrameReader reader;
        const Frames frames = feed(reader, bytes, piece);
        QCOMPARE(reader.isOverflowed(), !ok);
        QCOMPARE(frames.size(), std::size_t(ok && !ending.empty() ? 1 : 0));
        if (!frames.empty())
            QCOMPARE(frames.front().size(), std::size_t(size));
    }
}

void FrameReaderTest::framesBeforeTheTooLongOneComeOut()
{
    FrameReader reader(10);
    reader.append("{\"a\":1}\n{}\n0123456789\n{}\n");
    QCOMPARE(take(reader), (Frames{"{\"a\":1}", "{}"}));
    QVERIFY(reader.isOverflowed());
}

void FrameReaderTest::anOverflowIsForGood()
{
    FrameReader reader(4);
    reader.append("12345");
    QVERIFY(!reader.next());
    QVERIFY(reader.isOverflowed());
    reader.append("\n{}\n");
    QVERIFY(!reader.next());
    QVERIFY(reader.isOverflowed());
    QVERIFY(reader.rest().size() <= 5); // what comes after is not kept
}

void FrameReaderTest::aLongStreamThroughASmallReader()
{
    FrameReader reader(64);
    std::size_t count = 0;
    for (int i = 0; i < 100'000; ++i) {
        reader.append("{\"op\":\"ping\"}\n{\"op\"");
        count += take(reader).size();
        reader.append(":\"x\"}\n");
        count += take(reader).size();
    }
    QCOMPARE(count, std::size_t(200'000));
    QVERIFY(reader.rest().empty());
}

void FrameReaderTest::bytewiseFeedingIsLinear()
{
    // 1 MiB byte by byte: scanned again from its start each time it would be half a million million steps.
    FrameReader reader;
    const std::string frame(cortexfs::limits::kFrame - 1, 'x');
    QElapsedTimer timer;
    timer.start();
    for (const char &c : frame) {
        reader.append(std::string_view(&c, 1));
        QVERIFY(!reader.next());
    }
    reader.append("\n");
    QVERIFY(reader.next().has_value());
    QVERIFY2(timer.elapsed() < 5000, std::to_string(timer.elapsed()).c_str());
}

void FrameReaderTest::manySmallFramesAtOnceAreLinear()
{
    FrameReader reader;
    std::string bytes;
    for (int i = 0; i < 1'000'000; ++i)
        bytes += "{}\n";
    bytes += std::string(500'000, 'x');
    QElapsedTimer timer;
    timer.start();
    reader.append(bytes);
    std::size_t count = 0;
    while (reader.next())
        ++count;
    QCOMPARE(count, std::size_t(1'000'000));
    QCOMPARE(reader.rest().size(), std::size_t(500'000));
    QVERIFY2(timer.elapsed() < 5000, std::to_string(timer.elapsed()).c_str());
}

void FrameReaderTest::aLargeFrameDoesNotKeepItsMemory()
{
    FrameReader reader;
    reader.append(std::string(cortexfs::limits::kFrame - 1, 'x') + "\n");
    QVERIFY(reader.next());
    QVERIFY(!reader.next());
    QVERIFY2(reader.capacity() < 256 * 1024, std::to_string(reader.capacity()).c_str());
    reader.append("{}\n[");
    QCOMPARE(take(reader), Frames{"{}"});
    QCOMPARE(std::string(reader.rest()), std::string("["));
}

void FrameReaderTest::randomSplitsGiveTheSame()
{
    std::mt19937 random(20260729);
    const std::string alphabet = "ab\n\r{}\n";
    for (int round = 0; round < 300; ++round) {
        std::string bytes;
        for (std::size_t i = 0; i < 400; ++i)
            bytes += alphabet[random() % alphabet.size()];
        FrameReader whole(30);
        whole.append(bytes);
        const Frames expected = take(whole);
        FrameReader pieces(30);
        Frames out;
        for (std::string_view left = bytes; !left.empty();) {
            const std::size_t size = std::min<std::size_t>(1 + random() % 17, left.size());
            pieces.append(left.substr(0, size));
            for (std::string &frame : take(pieces))
                out.push_back(std::move(frame));
            left.remove_prefix(size);
        }
        QCOMPARE(out, expected);
        QCOMPARE(pieces.isOverflowed(), whole.isOverflowed());
    }
}

QTEST_GUILESS_MAIN(FrameReaderTest)
#include "frame_reader_test.moc"
