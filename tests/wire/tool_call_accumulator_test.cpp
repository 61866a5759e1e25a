#include "daemon/providers/wire/core/tool_call_accumulator.h"

#include "common/base/limits.h"

#include "tests/common/test_strings.h"

#include <QtTest>

#include <set>

using namespace cortexfs;
using wire::ToolCallAccumulator;
using wire::ToolCallFragment;

namespace {

struct Piece {
    std::string id;
    std::optional<std::int64_t> index;
    std::string name;
    std::string arguments;
};

// "id name arguments" a line; generated ids as "?", broken arguments as "!text".
std::string collect(const std::vector<Piece> &pieces, bool dropBroken = false)
{
    ToolCallAccumulator calls;
    for (const Piece &piece : pieces) {
        const auto added = calls.add({piece.id, piece.index, piece.name, piece.arguments});
        if (!added)
            return std::string(added.error().name());
    }
    const auto collected = calls.collect(7, dropBroken);
    if (!collected)
        return std::string(collected.error().name());
    std::string out;
    for (const wire::CollectedCall &call : *collected) {
        out += call.isGeneratedId ? "?" : call.callId;
        out += " " + call.name + " ";
        out += call.rawArguments.empty() ? call.arguments : "!" + call.rawArguments;
        out += "\n";
    }
    return out;
}

} // namespace

Q_DECLARE_METATYPE(std::vector<Piece>)

class ToolCallAccumulatorTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void putsFragmentsTogether_data();
    void putsFragmentsTogether();
    void leavesOutWhatALengthLimitCut();
    void makesIdsThatDiffer();
    void refusesTooMuch();
    void refusesACallWithoutAName();
};

void ToolCallAccumulatorTest::putsFragmentsTogether_data()
{
    QTest::addColumn<std::vector<Piece>>("pieces");
    QTest::addColumn<QByteArray>("expected");
    const auto row = [](const char *name, std::vector<Piece> pieces, const char *expected) {
        QTest::newRow(name) << std::move(pieces) << QByteArray(expected);
    };
    row("fragments of two calls interleave by index",
        {{"a", 0, "f", ""}, {"", 0, "", "{\"x\":"}, {"b", 1, "g", "{"}, {"", 0, "", "1}"}, {"", 1, "", "}"}},
        "a f {\"x\":1}\nb g {}\n");
    row("new ids on one index are new calls", {{"a", 0, "f", "{}"}, {"b", 0, "g", "{}"}}, "a f {}\nb g {}\n");
    row("a fragment without id goes to the latest call of its index",
        {{"a", 0, "f", ""}, {"b", 0, "g", ""}, {"", 0, "", "{\"y\":2}"}}, "a f {}\nb g {\"y\":2}\n");
    row("an id that comes late is adopted", {{"", 0, "f", "{"}, {"a", 0, "", "}"}}, "a f {}\n");
    row("no ids, no indexes: a name begins a call", {{"", {}, "f", "{}"}, {"", {}, "g", "{\"a\""}, {"", {}, "", ":1}"}},
        "? f {}\n? g {\"a\":1}\n");
    row("whole calls on one index without ids", {{"", 0, "f", "{}"}, {"", 0, "g", "{\"a\":1}"}},
        "? f {}\n? g {\"a\":1}\n");
    row("whole calls that share an id are two calls", {{"x", 0, "f", "{\"a\":1}"}, {"x", 0, "f", "{\"a\":2}"}},
        "x f {\"a\":1}\n? f {\"a\":2}\n");
    row("the same whole call sent again is one call", {{"x", 0, "f", "{\"a\":1}"}, {"x", 0, "f", "{\"a\":1}"}},
        "x f {\"a\":1}\n");
    row("empty names and ids on continuations", {{"a", 0, "f", ""}, {"", 0, "", "{\"e\": \"1"}, {"", 0, "", "+1\"}"}},
        "a f {\"e\":\"1+1\"}\n");
    row("a repeated name neither overwrites nor appends", {{"a", 0, "f", "{\"x\""}, {"a", 0, "f", ":1}"}},
        "a f {\"x\":1}\n");
    row("no arguments at all are an empty object", {{"a", 0, "f", ""}}, "a f {}\n");
    row("blank arguments and null are an empty object", {{"a", 0, "f", " \n"}, {"b", 1, "g", "null"}},
        "a f {}\nb g {}\n");
    row("an object inside a string is taken out", {{"a", 0, "f", "\"{\\\"x\\\": 1}\""}}, "a f {\"x\":1}\n");
    row("key order, numbers and inner blanks stay as written", {{"a", 0, "f", "{ \"z\" : 1.50,\n\"a\" : \"x  y\" }"}},
        "a f {\"z\":1.50,\"a\":\"x  y\"}\n");
    row("broken arguments are kept apart", {{"a", 0, "f", "{\"x\":"}}, "a f !{\"x\":\n");
    row("an array is no object", {{"a", 0, "f", "[1]"}}, "a f ![1]\n");
    row("two objects in one call are broken, not merged", {{"a", 0, "f", "{\"a\":1}"}, {"", 0, "", "{\"b\":2}"}},
        "a f !{\"a\":1}{\"b\":2}\n");
    row("braces inside strings do not close", {{"a", 0, "f", "{\"x\":\"}\""}, {"", 0, "f", "}"}},
        "a f {\"x\":\"}\"}\n");
    row("surrogate halves that were split are joined",
        {{"a", 0, "f", "{\"x\":\"\xed\xa0\xbd"}, {"", 0, "", "\xed\xb8\x80\"}"}}, "a f {\"x\":\"\xf0\x9f\x98\x80\"}\n");
    row("negative and huge indexes are numbers like others",
        {{"a", -1, "f", ""}, {"", -1, "", "{}"}, {"b", 1LL << 60, "g", ""}}, "a f {}\nb g {}\n");
}

void ToolCallAccumulatorTest::putsFragmentsTogether()
{
    QFETCH(std::vector<Piece>, pieces);
    QFETCH(QByteArray, expected);
    QCOMPARE(QByteArray::fromStdString(collect(pieces)), expected);
}

void ToolCallAccumulatorTest::leavesOutWhatALengthLimitCut()
{
    const std::vector<Piece> pieces = {{"a", 0, "f", "{\"x\":1}"}, {"b", 1, "g", "{\"half\":\"of"}, {"c", 2, "", ""}};
    QCOMPARE(collect(pieces, true), std::string("a f {\"x\":1}\n"));
}

void ToolCallAccumulatorTest::makesIdsThatDiffer()
{
    ToolCallAccumulator calls;
    for (int i = 0; i < 100; ++i)
        QVERIFY(calls.add({"", i, "f", "{}"}));
    std::set<std::string> ids;
    for (const std::uint64_t seed : {1u, 2u}) {
        const auto collected = calls.collect(seed, false);
        QVERIFY(collected);
        for (const auto &call : *collected)
            ids.insert(call.callId);
    }
    QCOMPARE(ids.size(), std::size_t(200));
    QCOMPARE(calls.collect(1, false)->at(5).callId, calls.collect(1, false)->at(5).callId);
}

void ToolCallAccumulatorTest::refusesTooMuch()
{
    QCOMPARE(collect({{"a", 0, "f", std::string(limits::kToolArguments + 1, ' ')}}), std::string("EMSGSIZE"));
    const std::string most = "{\"x\":\"" + std::string(limits::kToolArguments - 8, 'y') + "\"}";
    QCOMPARE(collect({{"a", 0, "f", most}}), "a f " + most + "\n");
    std::vector<Piece> many;
    for (int i = 0; i < 1025; ++i)
        many.push_back({"", i, "f", "{}"});
    QCOMPARE(collect(many), std::string("EMSGSIZE"));
    const std::string deep = "{\"a\":" + std::string(120, '[') + std::string(120, ']') + "}";
    QCOMPARE(collect({{"a", 0, "f", deep}}), "a f !" + deep + "\n");
}

void ToolCallAccumulatorTest::refusesACallWithoutAName()
{
    QCOMPARE(collect({{"a", 0, "", "{}"}}), std::string("EBADMSG"));
}

QTEST_GUILESS_MAIN(ToolCallAccumulatorTest)
#include "tool_call_accumulator_test.moc"
