#include "common/json/json.h"

#include "common/base/limits.h"
#include "tests/common/test_strings.h"

#include <QtTest>

using namespace cortexfs;

namespace {

QByteArray bytes(std::string_view text) { return {text.data(), static_cast<qsizetype>(text.size())}; }

std::string nested(int depth)
{
    return std::string(static_cast<std::size_t>(depth), '[') + std::string(static_cast<std::size_t>(depth), ']');
}

} // namespace

class JsonTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void acceptsWhatRfc8259Accepts_data();
    void acceptsWhatRfc8259Accepts();
    void refusesWhatRfc8259Refuses_data();
    void refusesWhatRfc8259Refuses();
    void boundsTheDepth();
    void readsLeniently_data();
    void readsLeniently();
    void joinsSurrogateHalves_data();
    void joinsSurrogateHalves();
    void mendsUtf8_data();
    void mendsUtf8();
    void hasTotalAccessors();
    void tellsIntegersFromNumbers_data();
    void tellsIntegersFromNumbers();
    void keepsTheOrderOfMembers();
    void keepsValuesAcrossAMove();
    void quotes_data();
    void quotes();
    void writesWithoutSpaceInTheOrderOfTheCalls();
    void readsObjectsAndCollectsEveryFault();
    void escapesPointers();
};

void JsonTest::acceptsWhatRfc8259Accepts_data()
{
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QByteArray>("written");
    const auto row = [](const char *name, const QByteArray &text, const QByteArray &written = {}) {
        QTest::newRow(name) << text << (written.isNull() ? text : written);
    };
    row("an empty object", "{}");
    row("an empty array", "[]");
    row("a string at the top", "\"x\"");
    row("a number at the top", "7");
    row("null at the top", "null");
    row("false at the top", "false");
    row("blanks of all four kinds", " \t\r\n[ 1 ,\n2 ]\r\n ", "[1,2]");
    row("an empty key", "{\"\":1}");
    row("a key twice", "{\"a\":1,\"a\":2}");
    row("zero, negative, negative zero", "[0,-1,-0]", "[0,-1,0]");
    row("the ends of 64 bits", "[-9223372036854775808,9223372036854775807,18446744073709551615]");
    row("fractions and exponents", "[1.5,-0.25,1E2,1e+2,12e-1,0.0]", "[1.5,-0.25,100.0,100.0,1.2,0.0]");
    row("more digits than a double holds", "[0.1000000000000000055511151231257827]", "[0.1]");
    row("a number that rounds to zero", "[1e-400]", "[0.0]");
    row("every short escape", R"(["\"\\\/\b\f\n\r\t"])", R"(["\"\\/\b\f\n\r\t"])");
    row("a NUL as an escape", R"(["\u0000"])");
    row("an escaped pair of surrogates", R"(["\uD83D\ude00"])", "[\"\xf0\x9f\x98\x80\"]");
    row("the last code point", "[\"\xf4\x8f\xbf\xbf\"]");
    row("non-characters", "[\"\xef\xbf\xbf\"]");
    row("U+2028 and U+007F unescaped", "[\"\xe2\x80\xa8\x7f\"]", "[\"\xe2\x80\xa8\x7f\"]");
    row("an escaped backslash before u", R"(["\\ud83d"])");
    row("brackets inside strings", R"(["[{]}\"["])");
}

void JsonTest::acceptsWhatRfc8259Accepts()
{
    QFETCH(QByteArray, text);
    QFETCH(QByteArray, written);
    const auto document = json::parse(text.toStdString());
    QVERIFY2(document, document ? "" : document.error().text().c_str());
    QCOMPARE(bytes(document->root().toJson()), written);
    const auto lenient = json::parseLenient(text.toStdString());
    QVERIFY(lenient);
    QCOMPARE(bytes(lenient->root().toJson()), written);
}

void JsonTest::refusesWhatRfc8259Refuses_data()
{
    QTest::addColumn<QByteArray>("text");
    const auto row = [](const char *name, const QByteArray &text) { QTest::newRow(name) << text; };
    row("nothing", "");
    row("blanks", " \n");
    row("a form feed as a blank", "[1\f]");
    row("a no-break space as a blank", "\xc2\xa0[]");
    row("the first byte of a byte order mark", "\xef{}");
    row("the middle byte of a byte order mark", "\xbb{}");
    row("the last byte of a byte order mark", "\xbf{}");
    row("a byte order mark", "\xef\xbb\xbf{}");
    row("UTF-16", QByteArray("[\0]\0", 4));
    row("two values", "1 2");
    row("an object and a comma", "{},");
    row("a trailing comma in an array", "[1,]");
    row("a trailing comma in an object", "{\"a\":1,}");
    row("two commas", "[1,,2]");
    row("a leading comma", "[,1]");
    row("no comma", "[1 2]");
    row("no colon", "{\"a\" 1}");
    row("a colon for a comma", "[\"a\":1]");
    row("a bare key", "{a:1}");
    row("a key in single quotes", "{'a':1}");
    row("a number for a key", "{1:1}");
    row("a missing value", "{\"a\":}");
    row("an array that stays open", "[1");
    row("an object that stays open", "{\"a\":1");
    row("a string that stays open", "\"a");
    row("a closing bracket of the other kind", "[1}");
    row("one bracket too many", "[1]]");
    row("a line comment", "[1]//x");
    row("a block comment", "/**/[1]");
    row("a plus sign", "[+1]");
    row("a leading zero", "[01]");
    row("minus and a leading zero", "[-01]");
    row("minus alone", "[-]");
    row("a point without a digit before it", "[.5]");
    row("a point without a digit after it", "[5.]");
    row("an exponent without digits", "[1e]");
    row("an exponent of a sign", "[1e+]");
    row("hexadecimal", "[0x1]");
    row("NaN", "[NaN]");
    row("Infinity", "[-Infinity]");
    row("a number beyond a double", "[1e999]");
    row("True", "[True]");
    row("nul", "[nul]");
    row("nullx", "[nullx]");
    row("a tab inside a string", "[\"\t\"]");
    row("a line end inside a string", "[\"a\nb\"]");
    row("an unknown escape", R"(["\x41"])");
    row("an escape at the end", R"(["\)");
    row("a short unicode escape", R"(["\u12"])");
    row("a unicode escape of other letters", R"(["\u00zz"])");
    row("a high half alone", R"(["\ud83d"])");
    row("a low half alone", R"(["\ude00"])");
    row("two high halves", R"(["\ud83d\ud83d"])");
    row("a NUL byte at the end", QByteArray("[1]\0", 4));
    row("a NUL byte inside a string", QByteArray("[\"a\0b\"]", 7));
    row("a lone continuation byte", "[\"\x80\"]");
    row("an overlong slash", "[\"\xc0\xaf\"]");
    row("an overlong NUL", "[\"\xe0\x80\x80\"]");
    row("a surrogate in UTF-8", "[\"\xed\xa0\x80\"]");
    row("beyond the last code point", "[\"\xf4\x90\x80\x80\"]");
    row("a sequence that is cut", "[\"\xe2\x82\"]");
    row("0xff in a key", "{\"\xff\":1}");
}

void JsonTest::refusesWhatRfc8259Refuses()
{
    QFETCH(QByteArray, text);
    const auto document = json::parse(text.toStdString());
    QVERIFY2(!document, document ? document->root().toJson().c_str() : "");
    QCOMPARE(document.error().number(), EINVAL);
    QVERIFY(!document.error().text().empty());
}

void JsonTest::boundsTheDepth()
{
    QVERIFY(json::parse(nested(limits::kJsonDepth)));
    QVERIFY(!json::parse(nested(limits::kJsonDepth + 1)));
    QVERIFY(!json::parse(std::string(5'000'000, '[')));
    QVERIFY(!json::parseLenient(std::string(5'000'000, '[')));
    std::string objects;
    for (int i = 0; i <= limits::kJsonDepth; ++i)
        objects += "{\"a\":";
    QVERIFY(!json::parse(objects));
    QVERIFY(json::parse("\"" + std::string(1000, '[') + "\""));
    QVERIFY(json::parse("\"\\\"" + std::string(1000, '[') + "\""));
}

void JsonTest::readsLeniently_data()
{
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QByteArray>("value"); // of the string in the array
    const auto row = [](const char *name, const QByteArray &text, const QByteArray &value) {
        QTest::newRow(name) << text << value;
    };
    row("a high half alone", R"(["a\ud83d"])", "a\xed\xa0\xbd");
    row("a low half alone", R"(["\ude00z"])", "\xed\xb8\x80z");
    row("a pair in capitals", R"(["\uD83D\uDE00"])", "\xf0\x9f\x98\x80");
    row("two high halves and a low one", R"(["\ud83d\ud83d\ude00"])", "\xed\xa0\xbd\xf0\x9f\x98\x80");
    row("an escaped backslash before ud83d", R"(["\\ud83d"])", "\\ud83d");
    row("three backslashes before ud83d", R"(["\\\ud83d"])", "\\\xed\xa0\xbd");
    row("a broken byte",
        "[\"a\xff"
        "b\"]",
        "a\xef\xbf\xbd"
        "b");
    row("a sequence that is cut", "[\"\xe2\x82\"]", "\xef\xbf\xbd");
}

void JsonTest::readsLeniently()
{
    QFETCH(QByteArray, text);
    QFETCH(QByteArray, value);
    const auto document = json::parseLenient(text.toStdString());
    QVERIFY2(document, document ? "" : document.error().text().c_str());
    QCOMPARE(bytes(document->root().at(0).stringOr("")), value);
    QVERIFY(!json::parseLenient("[1,]"));
    QVERIFY(!json::parseLenient("[\"\\ud83\"]"));
}

void JsonTest::joinsSurrogateHalves_data()
{
    QTest::addColumn<QList<QByteArray>>("pieces");
    QTest::addColumn<QList<QByteArray>>("expected"); // after each piece, then what is left
    const auto row = [](const char *name, const QList<QByteArray> &pieces, const QList<QByteArray> &expected) {
        QTest::newRow(name) << pieces << expected;
    };
    row("plain text", {"a", "\xc3\xa4"}, {"a", "\xc3\xa4", ""});
    row("a pair in two pieces", {"a\xed\xa0\xbd", "\xed\xb8\x80z"}, {"a", "\xf0\x9f\x98\x80z", ""});
    row("a pair in one piece", {"\xed\xa0\xbd\xed\xb8\x80"}, {"\xf0\x9f\x98\x80", ""});
    row("a high half and other text", {"\xed\xa0\xbd", "a"},
        {"",
         "\xef\xbf\xbd"
         "a",
         ""});
    row("a high half at the end", {"a\xed\xa0\xbd"}, {"a", "\xef\xbf\xbd"});
    row("a low half alone", {"\xed\xb8\x80"}, {"\xef\xbf\xbd", ""});
    row("an empty piece between the halves", {"\xed\xa0\xbd", "", "\xed\xb8\x80"}, {"", "", "\xf0\x9f\x98\x80", ""});
    row("Hangul that shares the first byte", {"\xed\x95\x9c"}, {"\xed\x95\x9c", ""});
}

void JsonTest::joinsSurrogateHalves()
{
    QFETCH(QList<QByteArray>, pieces);
    QFETCH(QList<QByteArray>, expected);
    json::Wtf8Joiner joiner;
    QList<QByteArray> seen;
    for (const QByteArray &piece : pieces)
        seen << bytes(joiner.push(piece.toStdString()));
    seen << bytes(joiner.flush());
    QCOMPARE(seen, expected);
    QCOMPARE(joiner.flush(), std::string());
}

void JsonTest::mendsUtf8_data()
{
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QByteArray>("expected");
    const QByteArray bad = "\xef\xbf\xbd";
    QTest::newRow("valid text") << QByteArray("a\xc3\xa4\xf0\x9f\x98\x80") << QByteArray("a\xc3\xa4\xf0\x9f\x98\x80");
    QTest::newRow("nothing") << QByteArray() << QByteArray();
    QTest::newRow("one for a maximal subpart") << QByteArray("\xf0\x9f\x98x") << bad + "x";
    QTest::newRow("one for each byte that begins nothing") << QByteArray("\xc0\xaf") << bad + bad;
    QTest::newRow("a surrogate is three") << QByteArray("\xed\xa0\x80") << bad + bad + bad;
    QTest::newRow("beyond the last code point") << QByteArray("\xf4\x90\x80\x80") << bad + bad + bad + bad;
    QTest::newRow("a cut at the end") << QByteArray("a\xe2\x82") << "a" + bad;
}

void JsonTest::mendsUtf8()
{
    QFETCH(QByteArray, text);
    QFETCH(QByteArray, expected);
    QCOMPARE(bytes(json::toValidUtf8(text.toStdString())), expected);
    QCOMPARE(json::isValidUtf8(text.toStdString()), text == expected);
    QVERIFY(json::isValidUtf8(expected.toStdString()));
}

void JsonTest::hasTotalAccessors()
{
    const auto document = json::parse(R"({"s":"x","n":null,"a":[1],"o":{"k":true}})");
    QVERIFY(document);
    const json::Value root = document->root();
    QVERIFY(root["nothing"].isMissing());
    QVERIFY(root["nothing"]["deeper"].at(3)["still"].isMissing());
    QVERIFY(!root["nothing"].isNull() && root["n"].isNull());
    QCOMPARE(root["nothing"].size(), std::size_t(0));
    QVERIFY(root["s"]["x"].isMissing() && root["s"].at(0).isMissing() && root["a"]["0"].isMissing());
    QVERIFY(root["a"].at(1).isMissing());
    QVERIFY(root["s"].members().empty() && root["o"].elements().empty());
    QVERIFY(!root["n"].asString() && !root["n"].asInt() && !root["n"].asBool() && !root["n"].asDouble());
    QCOMPARE(bytes(root["n"].stringOr("other")), QByteArray("other"));
    QCOMPARE(root["o"]["k"].asBool().value_or(false), true);
    QCOMPARE(bytes(json::Value().toJson()), QByteArray("null"));
}

void JsonTest::tellsIntegersFromNumbers_data()
{
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<bool>("isInteger");
    QTest::addColumn<double>("number");
    QTest::newRow("7") << QByteArray("7") << true << 7.0;
    QTest::newRow("-7") << QByteArray("-7") << true << -7.0;
    QTest::newRow("7.0") << QByteArray("7.0") << false << 7.0;
    QTest::newRow("7e0") << QByteArray("7e0") << false << 7.0;
    QTest::newRow("2^63") << QByteArray("9223372036854775808") << false << 9223372036854775808.0;
    QTest::newRow("a long one") << QByteArray("123456789012345678901234567890") << false
                                << 123456789012345678901234567890.0;
}

void JsonTest::tellsIntegersFromNumbers()
{
    QFETCH(QByteArray, text);
    QFETCH(bool, isInteger);
    QFETCH(double, number);
    const auto document = json::parse(text.toStdString());
    QVERIFY(document);
    QCOMPARE(document->root().asInt().has_value(), isInteger);
    QCOMPARE(document->root().asDouble().value_or(0), number);
}

void JsonTest::keepsTheOrderOfMembers()
{
    const auto document = json::parse(R"({"z":1,"a":{"y":1,"b":2},"m":[],"a":3})");
    QVERIFY(document);
    QByteArray keys;
    for (const json::Member &member : document->root().members())
        keys += bytes(member.key);
    QCOMPARE(keys, QByteArray("zama"));
    QVERIFY(document->root()["a"].isObject()); // the first of a name
    QCOMPARE(bytes(document->root().toJson()), QByteArray("{\"z\":1,\"a\":{\"y\":1,\"b\":2},\"m\":[],\"a\":3}"));
}

void JsonTest::keepsValuesAcrossAMove()
{
    auto document = json::parse(R"({"a":"text that is long enough to be stored outside of a value"})");
    QVERIFY(document);
    const json::Value value = document->root()["a"];
    const json::Document moved = std::move(*document);
    QVERIFY(value.stringOr("").starts_with("text that"));
    QVERIFY(moved.root()["a"].stringOr("") == value.stringOr(""));
}

void JsonTest::quotes_data()
{
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QByteArray>("quoted");
    QTest::newRow("plain") << QByteArray("abc") << QByteArray("\"abc\"");
    QTest::newRow("nothing") << QByteArray() << QByteArray("\"\"");
    QTest::newRow("quotes and backslashes") << QByteArray("a\"b\\") << QByteArray(R"("a\"b\\")");
    QTest::newRow("line ends and tabs") << QByteArray("\n\r\t\b\f") << QByteArray(R"("\n\r\t\b\f")");
    QTest::newRow("control characters") << QByteArray("\x01\x1b\x1f", 3) << QByteArray(R"("\u0001\u001b\u001f")");
    QTest::newRow("a NUL") << QByteArray("a\0b", 3) << QByteArray(R"("a\u0000b")");
    QTest::newRow("letters of other scripts stay")
        << QByteArray("\xe6\x97\xa5\xf0\x9f\x98\x80") << QByteArray("\"\xe6\x97\xa5\xf0\x9f\x98\x80\"");
}

void JsonTest::quotes()
{
    QFETCH(QByteArray, text);
    QFETCH(QByteArray, quoted);
    std::string out = "x";
    json::appendQuoted(out, text.toStdString());
    QCOMPARE(bytes(out), "x" + quoted);
    const auto document = json::parse(quoted.toStdString());
    QVERIFY(document);
    QCOMPARE(bytes(document->root().stringOr("")), text);
}

void JsonTest::writesWithoutSpaceInTheOrderOfTheCalls()
{
    json::Writer writer;
    writer.beginObject().field("z", "a\"b").field("i", -7).field("b", true).key("n").null();
    writer.key("list")
        .beginArray()
        .integer(1)
        .real(0.5)
        .real(1.0 / 0.0)
        .string("x")
        .beginObject()
        .endObject()
        .endArray();
    writer.key("raw").raw(R"({"k": 1})").endObject();
    const QByteArray expected = R"({"z":"a\"b","i":-7,"b":true,"n":null,"list":[1,0.5,null,"x",{}],"raw":{"k": 1}})";
    QCOMPARE(bytes(writer.text()), expected);
    json::Writer numbers;
    numbers.beginArray().integer(INT64_MIN).integer(INT64_MAX).real(1e300).real(-0.0).real(0.1).endArray();
    const auto document = json::parse(numbers.text());
    QVERIFY2(document, numbers.text().c_str());
    QCOMPARE(document->root().at(0).asInt().value_or(0), INT64_MIN);
    QCOMPARE(document->root().at(1).asInt().value_or(0), INT64_MAX);
    QCOMPARE(document->root().at(2).asDouble().value_or(0), 1e300);
    QCOMPARE(document->root().at(4).asDouble().value_or(0), 0.1);
}

void JsonTest::readsObjectsAndCollectsEveryFault()
{
    const auto document = json::parse(
        R"({"name":"x","count":5,"on":true,"list":["a","b"],"inner":{"k":"v"},"bad":[1,"c"],"big":99,"text":7,"other":1})");
    QVERIFY(document);
    std::vector<std::string> faults;
    json::ObjectReader reader(document->root(), "/top", faults);
    QCOMPARE(reader.requiredString("name"), std::string("x"));
    QCOMPARE(reader.integer("count", 1, 10).value_or(0), 5);
    QCOMPARE(reader.boolean("on").value_or(false), true);
    QCOMPARE(reader.stringList("list").size(), std::size_t(2));
    QCOMPARE(bytes(reader.object("inner")["k"].stringOr("")), QByteArray("v"));
    QVERIFY(!reader.string("absent") && !reader.has("absent"));
    QVERIFY(faults.empty());

    QCOMPARE(reader.requiredString("gone"), std::string());
    QVERIFY(!reader.integer("big", 1, 10) && !reader.integer("name", 1, 10));
    QVERIFY(!reader.string("text") && !reader.boolean("text"));
    QCOMPARE(reader.stringList("bad").size(), std::size_t(1));
    reader.stringList("name");
    QVERIFY(reader.object("list").isMissing());
    const std::vector<std::string> expected = {"/top/gone: missing",           "/top/big: not in 1..10",
                                               "/top/name: not an integer",    "/top/text: not a string",
                                               "/top/text: not true or false", "/top/bad/0: not a string",
                                               "/top/name: not an array",      "/top/list: not an object"};
    QCOMPARE(faults, expected);
    QCOMPARE(reader.unknownKeys(), std::vector<std::string>{"other"});

    faults.clear();
    json::ObjectReader none(document->root()["count"], "", faults);
    QCOMPARE(faults, std::vector<std::string>{"/: not an object"});
    QVERIFY(none.unknownKeys().empty());
}

void JsonTest::escapesPointers()
{
    QCOMPARE(json::pointerToken("a/b~c"), std::string("a~1b~0c"));
    QCOMPARE(json::pointerToken("plain"), std::string("plain"));
}

QTEST_GUILESS_MAIN(JsonTest)
#include "json_test.moc"
