#include "tests/wire/fixture.h"
#include "tests/wire/formats/conversations.h"
#include "tests/wire/json_compare.h"

#include <QtTest>

using namespace cortexfs;
using namespace cortexfs::test;
using models::Conversation;
using wire::EncodeContext;

namespace {

const char *const kFormat = "anthropic.messages";
const char *const kThinking =
    R"({"format":"anthropic.messages","turn":[{"raw":{"type":"thinking","thinking":"Need a lookup.","signature":"SIG=="}}]})";

std::string member(const Conversation &conversation, const EncodeContext &context, std::string_view key)
{
    return memberOf(kFormat, conversation, context, key);
}

Conversation canonicalWithThinking()
{
    Conversation conversation = canonicalConversation();
    conversation.messages[1].opaque = kThinking;
    conversation.messages[1].opaqueProvider = "anthropic";
    return conversation;
}

std::string imageOf(const std::string &url)
{
    Conversation conversation = asked("x");
    conversation.messages[0].parts = {{.type = models::Part::Type::Image, .url = url}};
    const json::Document body = bodyOf(kFormat, conversation, {.nativeModel = "m"});
    return body.root()["messages"].at(0)["content"].at(0)["source"].toJson();
}

} // namespace

class MessagesEncoderTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void writesTheBodyOfTheFixture();
    void writesABudgetForModelsThatKnowNothingElse();
    void writesTheHead();
    void mapsEffort_data();
    void mapsEffort();
    void followsTheEffortTable();
    void choosesMaxTokens_data();
    void choosesMaxTokens();
    void sendsATemperatureOnlyWithoutThinking_data();
    void sendsATemperatureOnlyWithoutThinking();
    void putsTheSchemaWhereTheModelReadsIt();
    void takesDefaults();
    void readsTheTypeOfAnImageFromItsBytes_data();
    void readsTheTypeOfAnImageFromItsBytes();
    void refusesImagesThatTheApiRefuses_data();
    void refusesImagesThatTheApiRefuses();
    void mergesWhatOneSideSays();
    void leavesOutWhatIsBlank();
    void gathersSystemMessages();
    void sendsArgumentsAsAnObject_data();
    void sendsArgumentsAsAnObject();
    void givesEverySchemaAType_data();
    void givesEverySchemaAType();
    void carriesImagesOfATool();
};

void MessagesEncoderTest::writesTheBodyOfTheFixture()
{
    const auto fixture = json::parse(readFixtureFile(fixturePath("requests/03-anthropic.messages.json")));
    QVERIFY(fixture);
    const json::Value expected = fixture->root()["body"];
    const json::Document body = bodyOf(
        kFormat, canonicalWithThinking(),
        {.nativeModel = std::string(expected["model"].stringOr("")), .provider = "anthropic"});
    const std::string found = difference(expected, body.root());
    QVERIFY2(found.empty(), found.c_str());
}

void MessagesEncoderTest::writesABudgetForModelsThatKnowNothingElse()
{
    const auto fixture = json::parse(readFixtureFile(fixturePath("requests/04-anthropic-legacy-budget.json")));
    QVERIFY(fixture);
    const json::Value patch = fixture->root()["patch"];
    const EncodeContext context{.nativeModel = "claude-3-7-sonnet-20250219", .provider = "anthropic"};
    const json::Document body = bodyOf(kFormat, canonicalWithThinking(), context);
    for (const json::Member &change : patch.members()) {
        const json::Value value = body.root()[change.key];
        QVERIFY2(change.value.isNull() ? value.isMissing() : difference(change.value, value).empty(),
                 value.toJson().c_str());
    }
}

void MessagesEncoderTest::writesTheHead()
{
    const auto request = wire::findByFormat(kFormat)->encode(asked("x"), {.nativeModel = "m"});
    QVERIFY(request);
    QCOMPARE(request->path, std::string("/v1/messages"));
    QCOMPARE(request->auth.headerName, std::string("x-api-key"));
    QCOMPARE(request->auth.prefix, std::string());
    QVERIFY(request->headers
            == std::vector<wire::Header>({{"Content-Type", "application/json"},
                                          {"Accept", "text/event-stream"},
                                          {"anthropic-version", "2023-06-01"}}));
    QCOMPARE(wire::findByFormat(kFormat)->encode(asked("x"), {.nativeModel = "m", .stream = false})->headers[1].second,
             std::string("application/json"));
}

void MessagesEncoderTest::mapsEffort_data()
{
    QTest::addColumn<QByteArray>("model");
    QTest::addColumn<QByteArray>("effort");
    QTest::addColumn<QByteArray>("thinking");
    QTest::addColumn<QByteArray>("config");
    const auto row = [](const char *model, const char *effort, const QByteArray &thinking, const char *word) {
        QTest::newRow((std::string(model) + " " + effort).c_str())
            << QByteArray(model) << QByteArray(effort) << thinking
            << (*word ? QByteArray(R"({"effort":")") + word + "\"}" : QByteArray());
    };
    const QByteArray adaptive = R"({"type":"adaptive","display":"summarized"})";
    const QByteArray disabled = R"({"type":"disabled"})";
    const auto budget = [](const char *tokens) {
        return QByteArray(R"({"type":"enabled","budget_tokens":)") + tokens + "}";
    };
    for (const char *model :
         {"claude-opus-5", "claude-sonnet-5", "claude-opus-4-7", "claude-newest", "anthropic/claude-sonnet-5.1"}) {
        row(model, "auto", {}, "");
        row(model, "none", disabled, "");
        row(model, "low", adaptive, "low");
        row(model, "xhigh", adaptive, "xhigh");
        row(model, "max", adaptive, "max");
    }
    row("claude-opus-4-6", "xhigh", adaptive, "high");
    row("claude-opus-4-6", "max", adaptive, "max");
    for (const char *model : {"claude-sonnet-4-5-20250929", "us.anthropic.claude-haiku-4-5-20251001-v1:0",
                              "claude-sonnet-4@20250514", "claude-3-7-sonnet-latest", "someone-elses"}) {
        row(model, "auto", {}, "");
        row(model, "none", disabled, "");
        row(model, "low", budget("2048"), "");
        row(model, "high", budget("16384"), "");
        row(model, "xhigh", budget("32768"), "");
        row(model, "max", budget("59904"), "");
    }
    row("claude-opus-4-1-20250805", "xhigh", budget("27904"), "");
    row("claude-opus-4-20250514", "max", budget("27904"), "");
    for (const char *model : {"claude-3-5-haiku-20241022", "claude-3-opus-20240229", "claude-2.1"}) {
        row(model, "none", {}, "");
        row(model, "max", {}, "");
    }
}

void MessagesEncoderTest::mapsEffort()
{
    QFETCH(QByteArray, model);
    QFETCH(QByteArray, effort);
    QFETCH(QByteArray, thinking);
    QFETCH(QByteArray, config);
    const EncodeContext context{.nativeModel = model.toStdString(),
                                .effort = *abi::effortFromWord(effort.toStdString())};
    QCOMPARE(member(asked("x"), context, "thinking"), thinking.toStdString());
    QCOMPARE(member(asked("x"), context, "output_config"), config.toStdString());
    // A budget is less than max_tokens, or the API refuses the request.
    const json::Document body = bodyOf(kFormat, asked("x"), context);
    const auto most = body.root()["max_tokens"].asInt();
    QVERIFY(most && *most > body.root()["thinking"]["budget_tokens"].asInt().value_or(0));
}

void MessagesEncoderTest::followsTheEffortTable()
{
    const auto table = json::parse(readFixtureFile(fixturePath("requests/08-effort-table.json")));
    QVERIFY(table);
    const json::Value budgets = table->root()["anthropic.messages/budget"];
    int compared = 0;
    for (const char *word : {"low", "medium", "high", "xhigh"}) {
        const json::Document body = bodyOf(kFormat, asked("x"),
                                           {.nativeModel = "claude-sonnet-4-5", .effort = *abi::effortFromWord(word)});
        QVERIFY(budgets[word].asInt().has_value());
        QCOMPARE(body.root()["thinking"]["budget_tokens"].asInt(), budgets[word].asInt());
        ++compared;
    }
    const json::Value adaptive = table->root()["anthropic.messages/adaptive"];
    const json::Document none = bodyOf(kFormat, asked("x"),
                                       {.nativeModel = "claude-opus-5", .effort = abi::Effort::None});
    QCOMPARE(none.root()["thinking"].toJson(), adaptive["none"]["thinking"].toJson());
    for (const char *word : {"low", "medium", "high", "xhigh", "max"}) {
        const json::Document body = bodyOf(kFormat, asked("x"),
                                           {.nativeModel = "claude-opus-5", .effort = *abi::effortFromWord(word)});
        QCOMPARE(body.root()["thinking"]["type"].stringOr(""), adaptive["low..max"]["thinking"]["type"].stringOr("?"));
        QCOMPARE(body.root()["output_config"]["effort"].stringOr(""), std::string_view(word));
        ++compared;
    }
    QCOMPARE(compared, 9);
}

void MessagesEncoderTest::choosesMaxTokens_data()
{
    QTest::addColumn<QByteArray>("model");
    QTest::addColumn<QByteArray>("effort");
    QTest::addColumn<int>("wanted");
    QTest::addColumn<int>("context");
    QTest::addColumn<int>("expected");
    const auto row = [](const char *name, const char *model, const char *effort, int wanted, int context,
                        int expected) {
        QTest::newRow(name) << QByteArray(model) << QByteArray(effort) << wanted << context << expected;
    };
    row("nothing said", "claude-sonnet-4-5", "auto", 0, 0, 8192);
    row("nothing said of a model that thinks by itself", "claude-opus-5", "auto", 0, 0, 32000);
    row("thinking off", "claude-opus-5", "none", 0, 0, 8192);
    row("adaptive thinking", "claude-opus-4-6", "high", 0, 200000, 32000);
    row("an old model", "claude-3-opus-20240229", "auto", 0, 0, 4096);
    row("a small window", "local", "auto", 0, 4096, 2048);
    row("a wish", "claude-opus-5", "high", 100, 0, 100);
    row("a wish beyond the window is the user's", "claude-opus-5", "high", 900000, 200000, 900000);
    row("a budget comes on top", "claude-sonnet-4-5", "low", 1000, 0, 3048);
    row("a budget leaves the rest of the limit", "claude-sonnet-4-5", "max", 0, 0, 64000);
    row("a wish and a budget stay within the limit", "claude-opus-4-1", "xhigh", 20000, 0, 32000);
    row("a window too small to think in", "local", "high", 500, 8192, 500);
    row("a tiny window", "local", "auto", 0, 1, 1);
}

void MessagesEncoderTest::choosesMaxTokens()
{
    QFETCH(QByteArray, model);
    QFETCH(QByteArray, effort);
    QFETCH(int, wanted);
    QFETCH(int, context);
    QFETCH(int, expected);
    Conversation conversation = asked("x");
    EncodeContext encode{.nativeModel = model.toStdString(), .effort = *abi::effortFromWord(effort.toStdString())};
    if (context)
        encode.limit = static_cast<std::uint32_t>(context);
    if (wanted)
        conversation.maxTokens = wanted;
    QCOMPARE(member(conversation, encode, "max_tokens"), std::to_string(expected));
    if (wanted) {
        encode.defaults = {{"max_output_tokens", std::to_string(wanted)}};
        QCOMPARE(member(asked("x"), encode, "max_tokens"), std::to_string(expected));
    }
}

void MessagesEncoderTest::sendsATemperatureOnlyWithoutThinking_data()
{
    QTest::addColumn<QByteArray>("model");
    QTest::addColumn<QByteArray>("effort");
    QTest::addColumn<QByteArray>("expected");
    const auto row = [](const char *model, const char *effort, const char *expected) {
        QTest::newRow((std::string(model) + " " + effort).c_str())
            << QByteArray(model) << QByteArray(effort) << QByteArray(expected);
    };
    row("claude-sonnet-4-5", "auto", "0.5");
    row("claude-sonnet-4-5", "none", "0.5");
    row("claude-sonnet-4-5", "low", "");
    row("claude-sonnet-5", "auto", "");
    row("claude-sonnet-5", "none", "0.5");
    row("claude-opus-4-6", "auto", "0.5");
    row("claude-opus-4-6", "low", "");
    row("claude-3-haiku", "high", "0.5");
}

void MessagesEncoderTest::sendsATemperatureOnlyWithoutThinking()
{
    QFETCH(QByteArray, model);
    QFETCH(QByteArray, effort);
    QFETCH(QByteArray, expected);
    Conversation conversation = asked("x");
    conversation.temperature = 0.5;
    EncodeContext context{.nativeModel = model.toStdString(), .effort = *abi::effortFromWord(effort.toStdString())};
    QCOMPARE(member(conversation, context, "temperature"), expected.toStdString());
    context.defaults = {{"temperature", "0.5"}, {"top_k", "5"}};
    QCOMPARE(member(asked("x"), context, "temperature"), expected.toStdString());
    QCOMPARE(member(asked("x"), context, "top_k").empty(), expected.isEmpty());
    if (!expected.isEmpty()) {
        conversation.temperature = 1.7; // taken by others
        QCOMPARE(member(conversation, context, "temperature"), std::string("1"));
    }
}

void MessagesEncoderTest::putsTheSchemaWhereTheModelReadsIt()
{
    Conversation conversation = asked("x");
    conversation.system = "Be brief.";
    conversation.responseFormat = models::ResponseFormat{"n", "{ \"type\": \"object\", \"z\": 1, \"a\": 2 }", true};
    QCOMPARE(member(conversation, {.nativeModel = "claude-sonnet-4-5"}, "output_config"),
             std::string(R"({"format":{"type":"json_schema","schema":{"type":"object","z":1,"a":2}}})"));
    QCOMPARE(member(conversation, {.nativeModel = "claude-sonnet-4-5"}, "system"), std::string("\"Be brief.\""));
    QCOMPARE(member(conversation, {.nativeModel = "claude-3-5-haiku"}, "output_config"), std::string());
    QVERIFY(member(conversation, {.nativeModel = "claude-3-5-haiku"}, "system").find("JSON Schema")
            != std::string::npos);
}

void MessagesEncoderTest::takesDefaults()
{
    EncodeContext context{.nativeModel = "m",
                          .defaults = {{"stop", R"(["END"])"},
                                       {"top_p", "0.5"},
                                       {"cache_control", R"({"type":"ephemeral"})"},
                                       {"tool_choice", R"({"type":"any"})"}}};
    QCOMPARE(member(asked("x"), context, "stop_sequences"), std::string(R"(["END"])"));
    QCOMPARE(member(asked("x"), context, "top_p"), std::string("0.5"));
    QCOMPARE(member(asked("x"), context, "cache_control"), std::string(R"({"type":"ephemeral"})"));
    QCOMPARE(member(asked("x"), context, "tool_choice"), std::string());
    Conversation withTool = asked("x");
    withTool.tools.push_back({"f", "d", ""});
    QCOMPARE(member(withTool, context, "tool_choice"), std::string(R"({"type":"any"})"));
    QCOMPARE(member(withTool, context, "tools"),
             std::string(R"([{"name":"f","description":"d","input_schema":{"type":"object","properties":{}}}])"));
}

void MessagesEncoderTest::readsTheTypeOfAnImageFromItsBytes_data()
{
    QTest::addColumn<QByteArray>("url");
    QTest::addColumn<QByteArray>("expected");
    const auto row = [](const char *name, const char *url, const char *type, const char *data) {
        QTest::newRow(name) << QByteArray(url)
                            << QByteArray(R"({"type":"base64","media_type":")") + type + R"(","data":")" + data + "\"}";
    };
    row("PNG", "data:image/png;base64,iVBORw0KGgo=", "image/png", "iVBORw0KGgo=");
    row("PNG that says JPEG", "data:image/jpeg;base64,iVBORw0KGgo=", "image/png", "iVBORw0KGgo=");
    row("JPEG", "data:image/png;base64,/9j/4AAQ", "image/jpeg", "/9j/4AAQ");
    row("JPEG in the alphabet of URLs, without padding", "data:image/jpg;base64,_9j_4AAQSg", "image/jpeg",
        "/9j/4AAQSg==");
    row("GIF", "data:image/bmp;base64,R0lGODlhAQ==", "image/gif", "R0lGODlhAQ==");
    row("WebP", "data:image/png;base64,UklGRiQAAABXRUJQVlA4", "image/webp", "UklGRiQAAABXRUJQVlA4");
    row("bytes that say nothing", "data:image/GIF;base64,AAAA", "image/gif", "AAAA");
    row("the old name of JPEG", "data:image/jpg;base64,AAAA", "image/jpeg", "AAAA");
    QTest::newRow("a link") << QByteArray("https://example.org/a.bmp")
                            << QByteArray(R"({"type":"url","url":"https://example.org/a.bmp"})");
}

void MessagesEncoderTest::readsTheTypeOfAnImageFromItsBytes()
{
    QFETCH(QByteArray, url);
    QFETCH(QByteArray, expected);
    QCOMPARE(imageOf(url.toStdString()), expected.toStdString());
}

void MessagesEncoderTest::refusesImagesThatTheApiRefuses_data()
{
    QTest::addColumn<QByteArray>("url");
    QTest::newRow("a bitmap") << QByteArray("data:image/bmp;base64,Qk0AAAAA");
    QTest::newRow("a drawing") << QByteArray("data:image/svg+xml;base64,PHN2Zz4=");
    QTest::newRow("not base64") << QByteArray("data:image/png,abc");
    QTest::newRow("a file") << QByteArray("file:///etc/passwd");
    QTest::newRow("an open link") << QByteArray("http://example.org/a.png");
    QTest::newRow("nothing") << QByteArray();
}

void MessagesEncoderTest::refusesImagesThatTheApiRefuses()
{
    QFETCH(QByteArray, url);
    Conversation conversation = asked("x");
    conversation.messages[0].parts.push_back({.type = models::Part::Type::Image, .url = url.toStdString()});
    const auto request = wire::findByFormat(kFormat)->encode(conversation, {.nativeModel = "m"});
    QVERIFY(!request);
    QCOMPARE(request.error().number(), EINVAL);
}

void MessagesEncoderTest::mergesWhatOneSideSays()
{
    Conversation conversation = asked("a");
    conversation.messages.push_back(userSays("b"));
    conversation.messages.push_back(assistantSays("c"));
    conversation.messages.push_back(assistantSays("d", {{"1", "f", "{}"}, {"2", "f", "{}"}}));
    conversation.messages.push_back(userSays("meanwhile"));
    conversation.messages.push_back(toolSays("1", "one"));
    conversation.messages.push_back(toolSays("2", "two", true));
    QCOMPARE(
        member(conversation, {.nativeModel = "m"}, "messages"),
        std::string(
            R"([{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},)"
            R"({"role":"assistant","content":[{"type":"text","text":"c"},{"type":"text","text":"d"},{"type":"tool_use","id":"1","name":"f","input":{}},{"type":"tool_use","id":"2","name":"f","input":{}}]},)"
            R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"one"},{"type":"tool_result","tool_use_id":"2","content":"two","is_error":true},{"type":"text","text":"meanwhile"}]}])"));
}

void MessagesEncoderTest::leavesOutWhatIsBlank()
{
    Conversation conversation = asked("a");
    conversation.system = " \n";
    conversation.messages.push_back(assistantSays("\n\n"));
    conversation.messages.push_back(userSays("b"));
    QCOMPARE(member(conversation, {.nativeModel = "m"}, "messages"),
             std::string(R"([{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}])"));
    QCOMPARE(member(conversation, {.nativeModel = "m"}, "system"), std::string());
    const auto request = wire::findByFormat(kFormat)->encode(asked(" "), {.nativeModel = "m"});
    QVERIFY(!request);
    QCOMPARE(request.error().number(), EINVAL);
}

void MessagesEncoderTest::gathersSystemMessages()
{
    Conversation conversation = asked("a");
    conversation.system = "One.";
    models::Message system = userSays("Two.");
    system.role = models::Message::Role::System;
    conversation.messages.push_back(system);
    QCOMPARE(member(conversation, {.nativeModel = "m"}, "system"), std::string(R"("One.\n\nTwo.")"));
}

void MessagesEncoderTest::sendsArgumentsAsAnObject_data()
{
    QTest::addColumn<QByteArray>("arguments");
    QTest::addColumn<QByteArray>("expected");
    QTest::newRow("an object") << QByteArray("{\"z\": 1.50,\n \"a\": 2}") << QByteArray("{\"z\":1.50,\"a\":2}");
    QTest::newRow("nothing") << QByteArray() << QByteArray("{}");
    QTest::newRow("blanks") << QByteArray(" \n") << QByteArray("{}");
    QTest::newRow("half an object") << QByteArray("{\"a\":") << QByteArray(R"({"raw_arguments":"{\"a\":"})");
    QTest::newRow("a list") << QByteArray("[1]") << QByteArray(R"({"raw_arguments":"[1]"})");
    QTest::newRow("no UTF-8") << QByteArray("\xff") << QByteArray("{\"raw_arguments\":\"\xef\xbf\xbd\"}");
}

void MessagesEncoderTest::sendsArgumentsAsAnObject()
{
    QFETCH(QByteArray, arguments);
    QFETCH(QByteArray, expected);
    Conversation conversation = asked("a");
    conversation.messages.push_back(assistantSays("", {{"1", "f", arguments.toStdString()}}));
    conversation.messages.push_back(toolSays("1", "x"));
    const auto request = wire::findByFormat(kFormat)->encode(conversation, {.nativeModel = "m"});
    QVERIFY(request);
    QVERIFY2(request->body.find("\"input\":" + expected.toStdString() + "}") != std::string::npos,
             request->body.c_str());
}

void MessagesEncoderTest::givesEverySchemaAType_data()
{
    QTest::addColumn<QByteArray>("schema");
    QTest::addColumn<QByteArray>("expected");
    QTest::newRow("none") << QByteArray() << QByteArray(R"({"type":"object","properties":{}})");
    QTest::newRow("empty") << QByteArray("{ }") << QByteArray(R"({"type":"object","properties":{}})");
    QTest::newRow("without a type") << QByteArray(R"({ "properties": {"b":{},"a":{}} })")
                                    << QByteArray(R"({"type":"object","properties":{"b":{},"a":{}}})");
    QTest::newRow("whole") << QByteArray(R"({"properties":{}, "type":"object"})")
                           << QByteArray(R"({"properties":{},"type":"object"})");
}

void MessagesEncoderTest::givesEverySchemaAType()
{
    QFETCH(QByteArray, schema);
    QFETCH(QByteArray, expected);
    Conversation conversation = asked("a");
    conversation.tools.push_back({"f", "", schema.toStdString()});
    QCOMPARE(member(conversation, {.nativeModel = "m"}, "tools"),
             R"([{"name":"f","input_schema":)" + expected.toStdString() + "}]");
}

void MessagesEncoderTest::carriesImagesOfATool()
{
    Conversation conversation = asked("a");
    conversation.messages.push_back(assistantSays("", {{"1", "shot", ""}}));
    models::Message result = toolSays("1", "");
    result.parts.push_back({.type = models::Part::Type::Image, .url = "data:image/png;base64,iVBORw0KGgo="});
    conversation.messages.push_back(result);
    const std::string messages = member(conversation, {.nativeModel = "m"}, "messages");
    QVERIFY2(
        messages.find(
            R"({"type":"tool_result","tool_use_id":"1","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]})")
            != std::string::npos,
        messages.c_str());
}

QTEST_GUILESS_MAIN(MessagesEncoderTest)
#include "messages_encoder_test.moc"
