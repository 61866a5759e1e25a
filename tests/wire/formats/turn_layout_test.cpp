#include "daemon/providers/wire/core/turn_layout.h"

#include "daemon/providers/wire/core/call_ids.h"
#include "tests/wire/formats/conversations.h"

#include <QtTest>

using namespace cortexfs;
using namespace cortexfs::test;
using wire::CallIds;
using wire::TurnLayout;

namespace {

std::string arranged(const TurnLayout &layout, const models::Message &message)
{
    std::string out;
    const std::string text = models::textOf(message);
    for (const TurnLayout::Piece &piece : layout.arrange(message, text)) {
        switch (piece.kind) {
        case TurnLayout::Piece::Kind::Raw: out += piece.raw; break;
        case TurnLayout::Piece::Kind::Text: out += "<" + std::string(piece.text) + piece.tag + ">"; break;
        case TurnLayout::Piece::Kind::Call: out += piece.call->callId; break;
        }
    }
    return out;
}

} // namespace

class TurnLayoutTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void arranges_data();
    void arranges();
    void isOfItsProviderAndFormatOnly_data();
    void isOfItsProviderAndFormatOnly();
    void dropsWhatNestsTooDeep();
    void mapsCallIds();
};

void TurnLayoutTest::arranges_data()
{
    QTest::addColumn<QByteArray>("turn");
    QTest::addColumn<QByteArray>("expected");
    const auto row = [](const char *name, const char *turn, const char *expected) {
        QTest::newRow(name) << QByteArray(turn) << QByteArray(expected);
    };
    row("nothing known", "", "<abcdef>c1c2");
    row("everything in its place",
        R"({"raw":{"r":1}},{"text":2},{"call":"c2"},{"raw":{"r":2}},{"text":4,"tag":"!"},{"call":"c1"})",
        R"({"r":1}<ab>c2{"r":2}<cdef!>c1)");
    row("a text that was changed", R"({"raw":{"r":1}},{"text":3},{"call":"c1"},{"text":9})", R"({"r":1}<abcdef>c1c2)");
    row("a text that nobody measured", R"({"raw":{"r":1}},{"call":"c1"})", R"({"r":1}c1<abcdef>c2)");
    row("calls that are gone", R"({"call":"c9"},{"call":"c1"},{"call":"c1"},{"text":6})", "c1<abcdef>c2");
    row("numbers that mean nothing",
        R"({"text":9223372036854775807},{"text":9223372036854775807},{"text":-1},{"text":"x"},{"raw":1},{},7)",
        "<abcdef>c1c2");
}

void TurnLayoutTest::arranges()
{
    QFETCH(QByteArray, turn);
    QFETCH(QByteArray, expected);
    models::Message message = assistantSays("abcdef", {{"c1", "f", "{}"}, {"c2", "f", "{}"}});
    message.opaque = R"({"format":"f","turn":[)" + turn.toStdString() + "]}";
    message.opaqueProvider = "p";
    QCOMPARE(arranged(TurnLayout::of(message, "p", "f"), message), expected.toStdString());
}

void TurnLayoutTest::isOfItsProviderAndFormatOnly_data()
{
    QTest::addColumn<QByteArray>("provider");
    QTest::addColumn<QByteArray>("format");
    QTest::addColumn<QByteArray>("opaque");
    const QByteArray good = R"({"format":"f","turn":[{"raw":{}}]})";
    QTest::newRow("another provider") << QByteArray("q") << QByteArray("f") << good;
    QTest::newRow("no provider") << QByteArray() << QByteArray("f") << good;
    QTest::newRow("another format") << QByteArray("p") << QByteArray("g") << good;
    QTest::newRow("not JSON") << QByteArray("p") << QByteArray("f") << QByteArray("{\"format\":");
    QTest::newRow("not an object") << QByteArray("p") << QByteArray("f") << QByteArray("[]");
}

void TurnLayoutTest::isOfItsProviderAndFormatOnly()
{
    QFETCH(QByteArray, provider);
    QFETCH(QByteArray, format);
    QFETCH(QByteArray, opaque);
    models::Message message = assistantSays("a");
    message.opaque = opaque.toStdString();
    message.opaqueProvider = "p";
    const TurnLayout layout = TurnLayout::of(message, provider.toStdString(), format.toStdString());
    QVERIFY(!layout.isNeeded());
    QCOMPARE(arranged(layout, message), std::string("<a>"));
}

void TurnLayoutTest::dropsWhatNestsTooDeep()
{
    TurnLayout layout;
    layout.addText(1);
    layout.addCall("c");
    QVERIFY(!layout.isNeeded());
    layout.addRaw("{\"a\":" + std::string(120, '[') + std::string(120, ']') + "}");
    QVERIFY(!layout.isNeeded());
    layout.addRaw("{}");
    QVERIFY(layout.isNeeded());
    QCOMPARE(layout.toJson("f"), std::string(R"({"format":"f","turn":[{"text":1},{"call":"c"},{"raw":{}}]})"));
}

void TurnLayoutTest::mapsCallIds()
{
    models::Conversation conversation = asked("x");
    conversation.messages.push_back(assistantSays("", {{"a.b", "f", ""},
                                                       {"a_b", "f", ""},
                                                       {"a:b", "f", ""},
                                                       {"", "f", ""},
                                                       {"abcdefghij", "f", ""},
                                                       {"abcdefghijk", "f", ""}}));
    conversation.messages.push_back(toolSays("lost!", "x"));
    const CallIds ids(
        conversation, [](char c) { return c == '_' || (c >= 'a' && c <= 'z'); }, 8);
    QCOMPARE(ids.wireId("a_b"), std::string_view("a_b"));
    QCOMPARE(ids.wireId("a.b"), std::string_view("a_b_2"));
    QCOMPARE(ids.wireId("a:b"), std::string_view("a_b_3"));
    QCOMPARE(ids.wireId(""), std::string_view("call"));
    QCOMPARE(ids.wireId("abcdefghij"), std::string_view("abcdefgh"));
    QCOMPARE(ids.wireId("abcdefghijk"), std::string_view("abcdef_2"));
    QCOMPARE(ids.wireId("lost!"), std::string_view("lost_"));
}

QTEST_GUILESS_MAIN(TurnLayoutTest)
#include "turn_layout_test.moc"
