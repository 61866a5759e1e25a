#include "tests/wire/fixture.h"
#include "tests/wire/formats/conversations.h"
#include "tests/wire/json_compare.h"

#include <QtTest>

using namespace cortexfs;
using namespace cortexfs::test;
using models::Conversation;
using wire::EncodeContext;

namespace {

const char *const kFormat = "openai.responses";

std::string member(const Conversation &conversation, const EncodeContext &context, std::string_view key)
{
    return memberOf(kFormat, conversation, context, key);
}

} // namespace

class ResponsesEncoderTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void writesTheBodyOfTheFixture();
    void writesTheHead();
    void mapsEffort_data();
    void mapsEffort();
    void followsTheEffortTable();
    void sendsATemperatureOnlyWhereItIsTaken_data();
    void sendsATemperatureOnlyWhereItIsTaken();
    void takesDefaults_data();
    void takesDefaults();
    void keepsTheOrderOfKeys();
    void keepsStateOnTheServerNever();
    void carriesImagesOfATool();
    void putsSystemMessagesWhereTheyStand();
    void refusesWhatItCannotCarry_data();
    void refusesWhatItCannotCarry();
};

void ResponsesEncoderTest::writesTheBodyOfTheFixture()
{
    const auto fixture = json::parse(readFixtureFile(fixturePath("requests/02-openai.responses.json")));
    QVERIFY(fixture);
    const json::Value expected = fixture->root()["body"];
    Conversation conversation = canonicalConversation();
    conversation.messages[1].opaque =
        R"({"format":"openai.responses","turn":[{"raw":{"id":"rs_01","type":"reasoning","summary":[],"encrypted_content":"gAAAAAB="}}]})";
    conversation.messages[1].opaqueProvider = "openai";
    const json::Document body = bodyOf(
        kFormat, conversation, {.nativeModel = std::string(expected["model"].stringOr("")), .provider = "openai"});
    const std::string found = difference(expected, body.root());
    QVERIFY2(found.empty(), found.c_str());
}

void ResponsesEncoderTest::writesTheHead()
{
    const auto streamed = wire::findByFormat(kFormat)->encode(asked("x"), {.nativeModel = "m"});
    QVERIFY(streamed);
    QCOMPARE(streamed->path, std::string("/responses"));
    QCOMPARE(streamed->auth.headerName, std::string("Authorization"));
    QCOMPARE(streamed->auth.prefix, std::string("Bearer "));
    QVERIFY(streamed->headers
            == std::vector<wire::Header>({{"Content-Type", "application/json"}, {"Accept", "text/event-stream"}}));
    const auto whole = wire::findByFormat(kFormat)->encode(asked("x"), {.nativeModel = "m", .stream = false});
    QVERIFY(whole->headers
            == std::vector<wire::Header>({{"Content-Type", "application/json"}, {"Accept", "application/json"}}));
}

void ResponsesEncoderTest::mapsEffort_data()
{
    QTest::addColumn<QByteArray>("model");
    QTest::addColumn<QByteArray>("effort");
    QTest::addColumn<QByteArray>("expected");
    const auto row = [](const char *model, const char *effort, const char *expected) {
        QTest::newRow((std::string(model) + " " + effort).c_str())
            << QByteArray(model) << QByteArray(effort) << QByteArray(expected);
    };
    row("gpt-5.1", "none", "none");
    row("openai/GPT-5.6", "max", "max");
    row("gpt-5.6-codex", "xhigh", "xhigh");
    row("gpt-10", "low", "low");
    row("gpt-5", "none", "minimal");
    row("gpt-5-mini", "max", "high");
    row("o3", "none", "low");
    row("o4-mini", "xhigh", "high");
    row("o3", "medium", "medium");
    row("gpt-4o", "high", "");
    row("gpt-4.1-mini", "none", "");
    row("chatgpt-4o-latest", "low", "");
    row("gpt-5-chat-latest", "low", "");
    row("gpt-oss-120b", "high", "high");
    row("olmo-3", "none", "none");
    row("gpt-5.1", "auto", "");
}

void ResponsesEncoderTest::mapsEffort()
{
    QFETCH(QByteArray, model);
    QFETCH(QByteArray, effort);
    QFETCH(QByteArray, expected);
    const EncodeContext context{.nativeModel = model.toStdString(),
                                .effort = *abi::effortFromWord(effort.toStdString())};
    const std::string wanted = expected.isEmpty()
                                   ? std::string()
                                   : R"({"effort":")" + expected.toStdString() + R"(","summary":"auto"})";
    QCOMPARE(member(asked("x"), context, "reasoning"), wanted);
    // The request's own word wins over the model's control.
    Conversation conversation = asked("x");
    conversation.effort = context.effort;
    EncodeContext other = context;
    other.effort = abi::Effort::Low;
    QCOMPARE(member(conversation, other, "reasoning"), wanted);
}

void ResponsesEncoderTest::followsTheEffortTable()
{
    const auto table = json::parse(readFixtureFile(fixturePath("requests/08-effort-table.json")));
    QVERIFY(table);
    const std::vector<json::Member> words = table->root()["openai.chat"]["map"].members(); // the same for this format
    QVERIFY(words.size() == 6);
    for (const json::Member &word : words) {
        const EncodeContext context{.nativeModel = "gpt-5.6", .effort = *abi::effortFromWord(word.key)};
        const json::Document body = bodyOf(kFormat, asked("x"), context);
        QCOMPARE(body.root()["reasoning"]["effort"].stringOr(""), word.value.stringOr("?"));
        QCOMPARE(body.root()["reasoning"]["summary"].stringOr(""), std::string_view("auto"));
    }
}

void ResponsesEncoderTest::sendsATemperatureOnlyWhereItIsTaken_data()
{
    QTest::addColumn<QByteArray>("model");
    QTest::addColumn<QByteArray>("effort");
    QTest::addColumn<QByteArray>("expected");
    const auto row = [](const char *model, const char *effort, const char *expected) {
        QTest::newRow((std::string(model) + " " + effort).c_str())
            << QByteArray(model) << QByteArray(effort) << QByteArray(expected);
    };
    row("gpt-4o", "auto", "0.5");
    row("local", "high", "0.5");
    row("gpt-5.6", "auto", "");
    row("gpt-5.6", "high", "");
    row("gpt-5.6", "none", "0.5");
    row("gpt-5", "none", "");
    row("o3", "none", "");
}

void ResponsesEncoderTest::sendsATemperatureOnlyWhereItIsTaken()
{
    QFETCH(QByteArray, model);
    QFETCH(QByteArray, effort);
    QFETCH(QByteArray, expected);
    Conversation conversation = asked("x");
    conversation.temperature = 0.5;
    EncodeContext context{.nativeModel = model.toStdString(), .effort = *abi::effortFromWord(effort.toStdString())};
    QCOMPARE(member(conversation, context, "temperature"), expected.toStdString());
    context.defaults = {{"temperature", "0.5"}};
    QCOMPARE(member(asked("x"), context, "temperature"), expected.toStdString());
}

void ResponsesEncoderTest::takesDefaults_data()
{
    QTest::addColumn<QByteArray>("key");
    QTest::addColumn<QByteArray>("value");
    QTest::addColumn<QByteArray>("member");
    QTest::addColumn<QByteArray>("expected");
    const auto row = [](const char *name, const char *key, const char *value, const char *member,
                        const char *expected) {
        QTest::newRow(name) << QByteArray(key) << QByteArray(value) << QByteArray(member) << QByteArray(expected);
    };
    row("a number", "top_p", "0.5", "top_p", "0.5");
    row("a word", "service_tier", "flex", "service_tier", "\"flex\"");
    row("an object", "text", R"({"verbosity":"low"})", "text", R"({"verbosity":"low"})");
    row("a limit by another name", "max_tokens", "99", "max_output_tokens", "99");
    row("a choice without tools", "tool_choice", "required", "tool_choice", "");
    row("reasoning of one's own", "reasoning", R"({"summary":"detailed"})", "reasoning", R"({"summary":"detailed"})");
}

void ResponsesEncoderTest::takesDefaults()
{
    QFETCH(QByteArray, key);
    QFETCH(QByteArray, value);
    QFETCH(QByteArray, member);
    QFETCH(QByteArray, expected);
    const EncodeContext context{.nativeModel = "gpt-5.6", .defaults = {{key.toStdString(), value.toStdString()}}};
    QCOMPARE(memberOf(kFormat, asked("x"), context, member.toStdString()), expected.toStdString());
    // What the request says wins.
    Conversation conversation = asked("x");
    conversation.maxTokens = 3;
    QCOMPARE(memberOf(kFormat, conversation, context, "max_output_tokens"), std::string("16"));
}

void ResponsesEncoderTest::keepsTheOrderOfKeys()
{
    Conversation conversation = asked("x");
    conversation.tools.push_back({"f", "", "{\n  \"type\": \"object\", \"properties\": {\"z\": {}, \"a\": {}}}"});
    conversation.responseFormat = models::ResponseFormat{"my answer", "{ \"type\": \"object\", \"z\": 1, \"a\": 2 }",
                                                         false};
    QCOMPARE(
        member(conversation, {.nativeModel = "m"}, "tools"),
        std::string(
            R"([{"type":"function","name":"f","parameters":{"type":"object","properties":{"z":{},"a":{}}},"strict":false}])"));
    QCOMPARE(
        member(conversation, {.nativeModel = "m"}, "text"),
        std::string(
            R"({"format":{"type":"json_schema","name":"my_answer","schema":{"type":"object","z":1,"a":2},"strict":false}})"));
}

void ResponsesEncoderTest::keepsStateOnTheServerNever()
{
    QCOMPARE(member(asked("x"), {.nativeModel = "gpt-5.6"}, "store"), std::string("false"));
    QCOMPARE(member(asked("x"), {.nativeModel = "gpt-5.6"}, "include"),
             std::string(R"(["reasoning.encrypted_content"])"));
    // A model that does not reason refuses it.
    QCOMPARE(member(asked("x"), {.nativeModel = "gpt-4o"}, "include"), std::string());
}

void ResponsesEncoderTest::carriesImagesOfATool()
{
    Conversation conversation = asked("x");
    conversation.messages.push_back(assistantSays("", {{"c", "shot", ""}}));
    models::Message result = toolSays("c", "here");
    result.parts.push_back({.type = models::Part::Type::Image, .url = "data:image/png;base64,AA==", .detail = "low"});
    conversation.messages.push_back(result);
    conversation.messages.push_back(assistantSays("", {{"d", "shot", "{}"}}));
    conversation.messages.push_back(toolSays("d", "", true));
    const std::string input = member(conversation, {.nativeModel = "m"}, "input");
    QVERIFY2(
        input.find(
            R"({"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"here"},{"type":"input_image","detail":"low","image_url":"data:image/png;base64,AA=="}]})")
            != std::string::npos,
        input.c_str());
    QVERIFY(input.find(R"("name":"shot","arguments":"{}")") != std::string::npos);
    QVERIFY(input.find(R"({"type":"function_call_output","call_id":"d","output":"error"})") != std::string::npos);
}

void ResponsesEncoderTest::putsSystemMessagesWhereTheyStand()
{
    Conversation conversation = asked("x");
    models::Message system = userSays("From now on: rhymes.");
    system.role = models::Message::Role::System;
    conversation.messages.push_back(system);
    conversation.messages.push_back(userSays("y"));
    const json::Document body = bodyOf(kFormat, conversation, {.nativeModel = "m"});
    QCOMPARE(body.root()["input"].at(1)["role"].stringOr(""), std::string_view("system"));
    QVERIFY(body.root()["instructions"].isMissing());
}

void ResponsesEncoderTest::refusesWhatItCannotCarry_data()
{
    QTest::addColumn<int>("kind");
    QTest::newRow("a schema that is no object") << 0;
    QTest::newRow("a tool whose schema is no JSON") << 1;
    QTest::newRow("an image that the assistant showed") << 2;
    QTest::newRow("nothing to answer") << 3;
    QTest::newRow("a default that belongs to the request") << 4;
}

void ResponsesEncoderTest::refusesWhatItCannotCarry()
{
    QFETCH(int, kind);
    Conversation conversation = asked("x");
    EncodeContext context{.nativeModel = "m"};
    if (kind == 0)
        conversation.responseFormat = models::ResponseFormat{"n", "[]", false};
    if (kind == 1)
        conversation.tools.push_back({"f", "", "{oops"});
    if (kind == 2) {
        conversation.messages.push_back(assistantSays("y"));
        conversation.messages[1].parts.push_back({.type = models::Part::Type::Image, .url = "https://x/y"});
    }
    if (kind == 3)
        conversation.messages.clear();
    if (kind == 4)
        context.defaults = {{"store", "true"}};
    for (const char *format : {"openai.responses", "anthropic.messages"}) {
        if (kind == 4 && std::string(format) != kFormat)
            context.defaults = {{"system", "x"}};
        const auto request = wire::findByFormat(format)->encode(conversation, context);
        QVERIFY(!request);
        QCOMPARE(request.error().number(), EINVAL);
    }
}

QTEST_GUILESS_MAIN(ResponsesEncoderTest)
#include "responses_encoder_test.moc"
