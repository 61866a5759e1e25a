#include "daemon/models/types/conversation.h"

#include "tests/common/test_strings.h"

#include <QtTest>

using namespace cortexfs;
using models::Message;

class ConversationTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void takesAnythingElseAsOneMessage_data();
    void takesAnythingElseAsOneMessage();
    void readsAWholeConversation();
    void readsOurOwnEventsBack();
    void refuses_data();
    void refuses();
};

void ConversationTest::takesAnythingElseAsOneMessage_data()
{
    QTest::addColumn<QByteArray>("input");
    QTest::addColumn<QByteArray>("text");
    const auto row = [](const char *name, const char *input, const char *text) {
        QTest::newRow(name) << QByteArray(input) << QByteArray(text);
    };
    row("plain text", "hello", "hello");
    row("one final line end goes", "hello\n", "hello");
    row("a final CRLF goes", "hello\r\n", "hello");
    row("other line ends and blanks stay", "  a\n\nb \n\n", "  a\n\nb \n");
    row("JSON without messages", "{\"a\":1}", "{\"a\":1}");
    row("JSON that is broken", "{\"messages\":[", "{\"messages\":[");
    row("a JSON array", "[{\"role\":\"user\"}]", "[{\"role\":\"user\"}]");
    row("a brace in a text", "{not json}", "{not json}");
}

void ConversationTest::takesAnythingElseAsOneMessage()
{
    QFETCH(QByteArray, input);
    QFETCH(QByteArray, text);
    const auto conversation = models::parseInput(input.toStdString());
    QVERIFY2(conversation, conversation ? "" : conversation.error().text().c_str());
    QCOMPARE(conversation->messages.size(), std::size_t(1));
    QCOMPARE(conversation->messages[0].role, Message::Role::User);
    QCOMPARE(QByteArray::fromStdString(models::textOf(conversation->messages[0])), text);
}

void ConversationTest::readsAWholeConversation()
{
    const auto conversation = models::parseInput(R"( {
        "model": "ignored", "stream": true,
        "system": "Be brief.", "max_tokens": 100, "temperature": 0.5, "effort": "high",
        "response_format": {"type":"json_schema","json_schema":{"name":"a","schema":{"z":1,"a":2},"strict":true}},
        "tools": [{"type":"function","function":{"name":"fs.read","description":"d","parameters":{"type":"object"}}},
                  {"name":"now"}],
        "messages": [
            {"role":"developer","content":"More."},
            {"role":"user","content":[{"type":"text","text":"What?"},
                {"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo=","detail":"low"}},
                {"type":"image_url","image_url":"https://example.org/x.png"}]},
            {"role":"assistant","content":null,"tool_calls":[
                {"id":"c1","type":"function","function":{"name":"fs.read","arguments":"{\"z\": 1, \"a\": 2}"}},
                {"id":"c2","function":{"name":"now","arguments":{"q":1}}},
                {"id":"c3","function":{"name":"now","arguments":""}}]},
            {"role":"tool","tool_call_id":"c1","content":"text"},
            {"role":"tool","tool_call_id":"c2","content":[{"type":"text","text":"t"}],"is_error":true},
            {"role":"user","content":""}]})");
    QVERIFY2(conversation, conversation ? "" : conversation.error().text().c_str());
    QCOMPARE(conversation->system, std::string("Be brief."));
    QCOMPARE(*conversation->maxTokens, 100);
    QCOMPARE(*conversation->temperature, 0.5);
    QCOMPARE(*conversation->effort, abi::Effort::High);
    QCOMPARE(conversation->responseFormat->schema, std::string(R"({"z":1,"a":2})"));
    QVERIFY(conversation->responseFormat->strict);
    QCOMPARE(conversation->tools.size(), std::size_t(2));
    QCOMPARE(conversation->tools[0].name, std::string("fs.read"));
    QCOMPARE(conversation->tools[1].parameters, std::string());
    QCOMPARE(conversation->messages.size(), std::size_t(6));
    QCOMPARE(conversation->messages[0].role, Message::Role::System);
    QCOMPARE(conversation->messages[1].parts[1].detail, std::string("low"));
    QCOMPARE(conversation->messages[1].parts[2].url, std::string("https://example.org/x.png"));
    const auto &calls = conversation->messages[2].toolCalls;
    QCOMPARE(calls[0].arguments, std::string("{\"z\": 1, \"a\": 2}"));
    QCOMPARE(calls[1].arguments, std::string("{\"q\":1}"));
    QCOMPARE(calls[2].arguments, std::string("{}"));
    QCOMPARE(conversation->messages[3].callId, std::string("c1"));
    QCOMPARE(conversation->messages[3].name, std::string("fs.read"));
    QVERIFY(conversation->messages[4].isError);
}

void ConversationTest::readsOurOwnEventsBack()
{
    const auto conversation = models::parseInput(R"({"messages":[
        {"role":"user","content":"x"},
        {"role":"assistant","content":[{"type":"text","text":"a"},{"type":"refusal","text":"b"}],
         "tool_calls":[{"call_id":"c1","name":"f","arguments":{}}]},
        {"role":"tool","call_id":"c1","content":"ok"}]})");
    QVERIFY2(conversation, conversation ? "" : conversation.error().text().c_str());
    QCOMPARE(models::textOf(conversation->messages[1]), std::string("ab"));
    QCOMPARE(conversation->messages[2].name, std::string("f"));
}

void ConversationTest::refuses_data()
{
    QTest::addColumn<QByteArray>("input");
    QTest::addColumn<QByteArray>("fault");
    const auto row = [](const char *name, const QByteArray &input, const char *fault) {
        QTest::newRow(name) << input << QByteArray(fault);
    };
    const auto user = [](const char *content) {
        return QByteArray(R"({"messages":[{"role":"user","content":)") + content + "}]}";
    };
    row("nothing", "", "the input is empty");
    row("blanks", " \n\t ", "the input is empty");
    row("bytes that are not UTF-8", "a\xff", "the input is not UTF-8 text");
    row("messages that are no array", R"({"messages":"x"})", "/messages: not an array");
    row("no messages", R"({"messages":[]})", "/messages: empty");
    row("a message that is no object", R"({"messages":[1]})", "/messages/0: not an object");
    row("no role", R"({"messages":[{"content":"x"}]})", "/messages/0/role: missing");
    row("an unknown role", R"({"messages":[{"role":"bot","content":"x"}]})", "/messages/0/role: none of");
    row("no content", R"({"messages":[{"role":"user"}]})", "/messages/0/content: missing");
    row("content of another type", user("7"), "/messages/0/content: neither a string nor an array");
    row("a part of an unknown type", user(R"([{"type":"audio"}])"), "/messages/0/content/0/type: neither text");
    row("a text part without text", user(R"([{"type":"text"}])"), "/messages/0/content/0/text: missing");
    row("an image without URL", user(R"([{"type":"image_url","image_url":{}}])"),
        "/messages/0/content/0/image_url/url: missing");
    row("an image over plain http", user(R"([{"type":"image_url","image_url":{"url":"http://x/y.png"}}])"),
        "/messages/0/content/0/image_url: neither an https:");
    row("a data URL that is no image", user(R"([{"type":"image_url","image_url":"data:text/plain;base64,AA=="}])"),
        "not of the form data:image/");
    row("a data URL that is not base64", user(R"([{"type":"image_url","image_url":"data:image/png;base64,??"}])"),
        "not base64");
    row("an unknown detail", user(R"([{"type":"image_url","image_url":{"url":"https://x/y","detail":"max"}}])"),
        "/messages/0/content/0/image_url/detail: none of");
    row("an image from the assistant",
        R"({"messages":[{"role":"assistant","content":[{"type":"image_url","image_url":"https://x/y"}]}]})",
        "an image may stand in a user message only");
    row("calls by the user", R"({"messages":[{"role":"user","content":"x","tool_calls":[]}]})",
        "/messages/0/tool_calls: only");
    row("a call without an id", R"({"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f"}}]}]})",
        "/messages/0/tool_calls/0/id: missing");
    row("a call without a name", R"({"messages":[{"role":"assistant","tool_calls":[{"id":"a","function":{}}]}]})",
        "/messages/0/tool_calls/0/function/name: missing");
    row("arguments that are no object",
        R"({"messages":[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"[1]"}}]}]})",
        "/messages/0/tool_calls/0/function/arguments: not a JSON object");
    row("two calls with one id",
        R"({"messages":[{"role":"assistant","tool_calls":[{"id":"a","name":"f"},{"id":"a","name":"f"}]}]})",
        "/messages/0/tool_calls/1/id: an earlier call has this id");
    row("a result without a call", R"({"messages":[{"role":"tool","tool_call_id":"zz","content":"x"}]})",
        "/messages/0/tool_call_id: no call before it");
    row("max_tokens of zero", R"({"messages":[{"role":"user","content":"x"}],"max_tokens":0})",
        "/max_tokens: not in 1..");
    row("a temperature in a string", R"({"messages":[{"role":"user","content":"x"}],"temperature":"hot"})",
        "/temperature: not a number");
    row("an unknown effort", R"({"messages":[{"role":"user","content":"x"}],"effort":"huge"})", "/effort: none of");
    row("an unknown response format",
        R"({"messages":[{"role":"user","content":"x"}],"response_format":{"type":"xml"}})",
        "/response_format/type: neither");
    row("a response format without schema",
        R"({"messages":[{"role":"user","content":"x"}],"response_format":{"type":"json_schema","json_schema":{"name":"a"}}})",
        "/response_format/json_schema/schema: missing");
    row("two tools of one name", R"({"messages":[{"role":"user","content":"x"}],"tools":[{"name":"a"},{"name":"a"}]})",
        "/tools/1/name: an earlier tool");
    row("every fault is named at once", R"({"messages":[{"role":"user"}],"effort":7,"tools":{}})",
        "/effort: not a string");
}

void ConversationTest::refuses()
{
    QFETCH(QByteArray, input);
    QFETCH(QByteArray, fault);
    const auto conversation = models::parseInput(input.toStdString());
    QVERIFY(!conversation);
    QCOMPARE(conversation.error().number(), EINVAL);
    QVERIFY2(QByteArray::fromStdString(conversation.error().text()).contains(fault),
             conversation.error().text().c_str());
}

QTEST_GUILESS_MAIN(ConversationTest)
#include "conversation_test.moc"
