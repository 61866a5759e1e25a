#include "tests/wire/fixture.h"
#include "tests/wire/formats/conversations.h"

#include <QtTest>

using namespace cortexfs;
using namespace cortexfs::test;

namespace {

using Events = std::vector<std::string>;

Reply replyOf(const std::string &body, const char *type = "text/event-stream")
{
    Reply reply;
    reply.format = "anthropic.messages";
    reply.headers = {{"content-type", type}};
    reply.body = body;
    return reply;
}

// The events of a run in short, as in the test of the responses format, with the parts of the usage.
std::string shortForm(const Decoded &decoded)
{
    std::string out;
    for (const abi::Event &event : decoded.events) {
        switch (event.type) {
        case abi::EventType::ReasoningDelta: out += "~" + event.text; break;
        case abi::EventType::ReasoningMessage: out += "=" + event.text; break;
        case abi::EventType::Delta: out += "+" + event.text; break;
        case abi::EventType::Message: out += "[" + event.content.at(0).text + "]"; break;
        case abi::EventType::ToolCall:
            out += event.callId + " " + event.name + event.arguments
                   + (event.rawArguments.empty() ? "" : "?" + event.rawArguments);
            break;
        case abi::EventType::Usage:
            out += std::to_string(event.usage.inputTokens) + "/" + std::to_string(event.usage.outputTokens) + "/"
                   + std::to_string(event.usage.cachedTokens.value_or(0)) + "/"
                   + std::to_string(event.usage.cacheWriteTokens.value_or(0));
            break;
        default: out += "?";
        }
        out += " ";
    }
    return out + (decoded.failure ? decoded.code() : "ok " + std::string(abi::stopReasonWord(*decoded.reason)));
}

std::string start(int index, const std::string &block)
{
    return R"({"type":"content_block_start","index":)" + std::to_string(index) + R"(,"content_block":)" + block + "}";
}

std::string piece(int index, const std::string &delta)
{
    return R"({"type":"content_block_delta","index":)" + std::to_string(index) + R"(,"delta":)" + delta + "}";
}

std::string text(const std::string &said, int index = 0)
{
    return piece(index, R"({"type":"text_delta","text":")" + said + "\"}");
}

std::string arguments(const std::string &quoted, int index)
{
    return piece(index, R"({"type":"input_json_delta","partial_json":")" + quoted + "\"}");
}

std::string stop(int index) { return R"({"type":"content_block_stop","index":)" + std::to_string(index) + "}"; }

std::string reason(const std::string &word)
{
    return R"({"type":"message_delta","delta":{"stop_reason":")" + word + R"("},"usage":{"output_tokens":3}})";
}

const char *const kStop = R"({"type":"message_stop"})";
const char *const kTextStart = R"({"type":"text","text":""})";

} // namespace

class MessagesDecoderTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void givesItsEvents_data();
    void givesItsEvents();
    void readsAWholeMessage_data();
    void readsAWholeMessage();
    void classifiesItsErrors_data();
    void classifiesItsErrors();
    void keepsThinkingForTheNextTurn();
    void sendsTheSameTurnAgain();
    void givesUpWhatIsTooMuch();
    void countsNoPingAsProgress();
};

void MessagesDecoderTest::givesItsEvents_data()
{
    QTest::addColumn<Events>("events");
    QTest::addColumn<QByteArray>("expected");
    const auto row = [](const char *name, const Events &events, const char *expected) {
        QTest::newRow(name) << events << QByteArray(expected);
    };
    row("parallel calls",
        {start(0, R"({"type":"tool_use","id":"a","name":"f","input":{}})"), arguments("{\\\"z\\\":1,", 0),
         arguments("\\\"a\\\":2}", 0), stop(0), start(1, R"({"type":"tool_use","id":"b","name":"g","input":{}})"),
         arguments("", 1), arguments("{\\\"q\\\":\\\"\xc3\xbc\\\"}", 1), stop(1), reason("tool_use"), kStop},
        "a f{\"z\":1,\"a\":2} b g{\"q\":\"\xc3\xbc\"} 0/3/0/0 ok tool_calls");
    row("calls whose pieces are mixed",
        {start(0, R"({"type":"tool_use","id":"a","name":"f","input":{}})"),
         start(1, R"({"type":"tool_use","id":"b","name":"g","input":{}})"), arguments("{\\\"x\\\"", 0),
         arguments("{\\\"y\\\"", 1), arguments(":1}", 0), arguments(":2}", 1), reason("tool_use"), kStop},
        "a f{\"x\":1} b g{\"y\":2} 0/3/0/0 ok tool_calls");
    row("a call without arguments",
        {start(0, R"({"type":"tool_use","id":"a","name":"f","input":{}})"), arguments("", 0), stop(0),
         reason("tool_use"), kStop},
        "a f{} 0/3/0/0 ok tool_calls");
    row("a call without any piece",
        {start(0, R"({"type":"tool_use","id":"a","name":"f","input":{}})"), stop(0), reason("tool_use"), kStop},
        "a f{} 0/3/0/0 ok tool_calls");
    row("a call that begins with all of its input",
        {start(0, R"({"type":"tool_use","id":"a","name":"f","input":{"z":1,"a":2}})"), stop(0), reason("tool_use"),
         kStop},
        "a f{\"z\":1,\"a\":2} 0/3/0/0 ok tool_calls");
    row("arguments that are no object",
        {start(0, R"({"type":"tool_use","id":"a","name":"f","input":{}})"), arguments("{oops", 0), stop(0),
         reason("tool_use"), kStop},
        "a f?{oops 0/3/0/0 ok tool_calls");
    row("calls that are all number 0",
        {start(0, R"({"type":"tool_use","id":"a","name":"f","input":{}})"), arguments("{\\\"x\\\":1}", 0), stop(0),
         start(0, R"({"type":"tool_use","id":"b","name":"g","input":{}})"), arguments("{\\\"y\\\":2}", 0), stop(0),
         reason("tool_use"), kStop},
        "a f{\"x\":1} b g{\"y\":2} 0/3/0/0 ok tool_calls");
    row("a call that is cut before its arguments",
        {start(0, R"({"type":"tool_use","id":"a","name":"f","input":{}})"), arguments("{}", 0), stop(0),
         start(1, R"({"type":"tool_use","id":"b","name":"g","input":{}})"), reason("max_tokens"), kStop},
        "a f{} 0/3/0/0 ok length");
    row("a call whose end says end_turn",
        {start(0, R"({"type":"tool_use","id":"a","name":"f","input":{}})"), stop(0), reason("end_turn"), kStop},
        "a f{} 0/3/0/0 ok tool_calls");
    for (const auto &[word, expected] :
         std::vector<std::pair<const char *, const char *>>{{"end_turn", "stop"},
                                                            {"stop_sequence", "stop"},
                                                            {"pause_turn", "stop"},
                                                            {"something_new", "stop"},
                                                            {"max_tokens", "length"},
                                                            {"model_context_window_exceeded", "length"},
                                                            {"refusal", "refusal"},
                                                            {"tool_use", "stop"}})
        QTest::newRow(word) << Events{text("a"), reason(word), kStop} << QByteArray("+a [a] 0/3/0/0 ok ") + expected;
    row("a refusal without a word", {reason("refusal"), kStop}, "0/3/0/0 ok refusal");
    row("an end without message_stop", {text("a"), reason("end_turn")}, "+a [a] 0/3/0/0 ok stop");
    row("an end without a reason", {text("a"), kStop}, "+a [a] ok stop");
    row("no end", {start(0, kTextStart), text("a"), stop(0)}, "+a ECONNRESET");
    row("several message_deltas",
        {text("a"), R"({"type":"message_delta","delta":{"stop_reason":null},"usage":{"output_tokens":2}})",
         reason("end_turn"), R"({"type":"message_delta","delta":{},"usage":{"output_tokens":9}})", kStop},
        "+a [a] 0/9/0/0 ok stop");
    row("counts that are null are no news",
        {R"({"type":"message_start","message":{"usage":{"input_tokens":12,"cache_read_input_tokens":100,"cache_creation_input_tokens":null,"output_tokens":1}}})",
         text("a"),
         R"({"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":null,"cache_read_input_tokens":null,"output_tokens":7}})",
         kStop},
        "+a [a] 112/7/100/0 ok stop");
    row("counts that only the end knows",
        {R"({"type":"message_start","message":{"usage":{"input_tokens":0,"output_tokens":0}}})", text("a"),
         R"({"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":12,"cache_read_input_tokens":30,"cache_creation_input_tokens":8,"output_tokens":7}})",
         kStop},
        "+a [a] 50/7/30/8 ok stop");
    row("counts that mean nothing",
        {R"({"type":"message_start","message":{"usage":{"input_tokens":9223372036854775807,"cache_read_input_tokens":9223372036854775807,"output_tokens":-5}}})",
         text("a"), kStop},
        "+a [a] 562949953421312/0/281474976710656/0 ok stop");
    row("a block that begins with text", {start(0, R"({"type":"text","text":"a"})"), text("b"), stop(0), kStop},
        "+a +b [ab] ok stop");
    row("a block whose start was lost", {text("a"), text("b"), kStop}, "+a +b [ab] ok stop");
    row("deltas without a number",
        {R"({"type":"content_block_delta","delta":{"type":"text_delta","text":"a"}})", kStop}, "+a [a] ok stop");
    row("what nobody knows",
        {start(0, R"({"type":"server_tool_use","id":"s","name":"web_search","input":{}})"),
         piece(0, R"({"type":"future_delta","x":1})"), stop(0),
         start(1, R"({"type":"web_search_tool_result","content":[]})"), stop(1), R"({"type":"future_event"})",
         R"({"type":7})", piece(2, R"({"type":"citations_delta","citation":{}})"), start(2, kTextStart), text("a", 2),
         kStop},
        "+a [a] ok stop");
    row("thinking between texts",
        {start(0, R"({"type":"thinking","thinking":"","signature":""})"),
         piece(0, R"({"type":"thinking_delta","thinking":"hm"})"),
         piece(0, R"({"type":"signature_delta","signature":"S"})"), stop(0), text("a", 1),
         start(2, R"({"type":"thinking","thinking":""})"), piece(2, R"({"type":"thinking_delta","thinking":"so"})"),
         stop(2), text("b", 3), kStop},
        "~hm =hm +a ~so =so +b [ab] ok stop");
    row("thinking that is not shown",
        {start(0, R"({"type":"thinking","thinking":"","signature":""})"),
         piece(0, R"({"type":"signature_delta","signature":"S"})"), stop(0), text("a", 1), kStop},
        "= +a [a] ok stop");
    row("a cut stream after redacted thinking gives nothing",
        {start(0, R"({"type":"redacted_thinking","data":"D"})"), stop(0)}, "ECONNRESET");
    row("half a surrogate pair in each of two deltas", {text("\\ud83d"), text("\\ude00"), kStop},
        "+\xf0\x9f\x98\x80 [\xf0\x9f\x98\x80] ok stop");
    row("nothing after the end counts", {text("a"), kStop, text("b"), kStop}, "+a [a] ok stop");
}

void MessagesDecoderTest::givesItsEvents()
{
    QFETCH(Events, events);
    QFETCH(QByteArray, expected);
    QCOMPARE(shortForm(decode(replyOf(sse(events)))), expected.toStdString());
}

void MessagesDecoderTest::readsAWholeMessage_data()
{
    QTest::addColumn<QByteArray>("body");
    QTest::addColumn<QByteArray>("expected");
    const auto row = [](const char *name, const char *body, const char *expected) {
        QTest::newRow(name) << QByteArray(body) << QByteArray(expected);
    };
    row("everything",
        R"({"type":"message","content":[{"type":"thinking","thinking":"hm","signature":"S"},{"type":"redacted_thinking","data":"D"},{"type":"text","text":"a"},{"type":"tool_use","id":"t","name":"f","input":{"z":1,"a":2}},{"type":"tool_use","id":"u","name":"g","input":{}}],"stop_reason":"tool_use","usage":{"input_tokens":5,"output_tokens":6,"cache_read_input_tokens":null,"cache_creation_input_tokens":2}})",
        "~hm =hm = +a [a] t f{\"z\":1,\"a\":2} u g{} 7/6/0/2 ok tool_calls");
    row("an empty answer",
        R"({"type":"message","content":[],"stop_reason":"end_turn","usage":{"input_tokens":5,"output_tokens":0}})",
        "5/0/0/0 ok stop");
    row("a cut answer", R"({"type":"message","content":[{"type":"text","text":"a"}],"stop_reason":"max_tokens"})",
        "+a [a] ok length");
    row("no message", R"({"type":"completion","completion":"a"})", "EBADMSG");
    row("an error with status 200", R"({"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}})",
        "EHOSTDOWN");
}

void MessagesDecoderTest::readsAWholeMessage()
{
    QFETCH(QByteArray, body);
    QFETCH(QByteArray, expected);
    QCOMPARE(shortForm(decode(replyOf(body.toStdString(), "application/json"))), expected.toStdString());
}

void MessagesDecoderTest::classifiesItsErrors_data()
{
    QTest::addColumn<QByteArray>("type");
    QTest::addColumn<QByteArray>("code");
    for (const auto &[type, code] :
         std::vector<std::pair<const char *, const char *>>{{"invalid_request_error", "EINVAL"},
                                                            {"authentication_error", "EACCES"},
                                                            {"billing_error", "EDQUOT"},
                                                            {"permission_error", "EACCES"},
                                                            {"not_found_error", "ENOENT"},
                                                            {"timeout_error", "ETIMEDOUT"},
                                                            {"request_too_large", "EMSGSIZE"},
                                                            {"rate_limit_error", "EAGAIN"},
                                                            {"api_error", "EHOSTDOWN"},
                                                            {"overloaded_error", "EHOSTDOWN"},
                                                            {"something_new", "EIO"}})
        QTest::newRow(type) << QByteArray(type) << QByteArray(code);
}

void MessagesDecoderTest::classifiesItsErrors()
{
    QFETCH(QByteArray, type);
    QFETCH(QByteArray, code);
    const std::string error = R"({"type":"error","error":{"type":")" + type.toStdString() + R"(","message":"x"}})";
    // With its event line, and without.
    QCOMPARE(shortForm(decode(replyOf(sse({text("a"), error})))), "+a " + code.toStdString());
    QCOMPARE(shortForm(decode(replyOf("event: error\n" + sse({error})))), code.toStdString());
}

void MessagesDecoderTest::keepsThinkingForTheNextTurn()
{
    const Decoded decoded = decode(loadFixture("anthropic.messages", "02-thinking-signature-redacted").reply);
    QCOMPARE(
        QByteArray::fromStdString(rememberedFrom(decoded, "anthropic").opaque),
        QByteArray(
            R"({"format":"anthropic.messages","turn":[{"raw":{"type":"thinking","thinking":"Let me add. 2+2=4.","signature":"EqQBCgIYAhIM1gbcDa9GJwZA2b3h"}},{"raw":{"type":"redacted_thinking","data":"EmwKAhgBEgy3va3pzix/LafPsn4a"}},{"text":1}]})"));
    QVERIFY(
        rememberedFrom(decode(loadFixture("anthropic.messages", "01-plain-text").reply), "anthropic").opaque.empty());
}

void MessagesDecoderTest::sendsTheSameTurnAgain()
{
    const Events events = {start(0, R"({"type":"thinking","thinking":"","signature":""})"),
                           piece(0, R"({"type":"thinking_delta","thinking":"h\ud83d"})"),
                           piece(0, R"({"type":"thinking_delta","thinking":"\ude00"})"),
                           piece(0, R"({"type":"signature_delta","signature":"S1"})"),
                           stop(0),
                           start(1, kTextStart),
                           text("Let me ", 1),
                           text("see.", 1),
                           stop(1),
                           start(2, R"({"type":"redacted_thinking","data":"D"})"),
                           stop(2),
                           start(3, kTextStart),
                           text("Now.", 3),
                           stop(3),
                           start(4, R"({"type":"tool_use","id":"toolu_1","name":"f","input":{}})"),
                           arguments("{\\\"z\\\":1,\\\"a\\\":2}", 4),
                           stop(4),
                           start(5, R"({"type":"tool_use","id":"toolu_2","name":"g","input":{}})"),
                           stop(5),
                           reason("tool_use"),
                           kStop};
    models::Conversation next = asked("Go");
    next.messages.push_back(rememberedFrom(decode(replyOf(sse(events))), "p"));
    next.messages.push_back(toolSays("toolu_1", "1"));
    next.messages.push_back(toolSays("toolu_2", "2"));
    const auto messagesFor = [&](const char *provider) {
        return memberOf("anthropic.messages", next, {.nativeModel = "claude-opus-5", .provider = provider}, "messages");
    };
    QCOMPARE(
        QByteArray::fromStdString(messagesFor("p")),
        QByteArray(
            R"([{"role":"user","content":[{"type":"text","text":"Go"}]},{"role":"assistant","content":[)"
            "{\"type\":\"thinking\",\"thinking\":\"h\xf0\x9f\x98\x80\",\"signature\":\"S1\"},"
            R"({"type":"text","text":"Let me see."},{"type":"redacted_thinking","data":"D"},{"type":"text","text":"Now."},)"
            R"({"type":"tool_use","id":"toolu_1","name":"f","input":{"z":1,"a":2}},{"type":"tool_use","id":"toolu_2","name":"g","input":{}}]},)"
            R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"1"},{"type":"tool_result","tool_use_id":"toolu_2","content":"2"}]}])"));
    QVERIFY(messagesFor("other").find("thinking") == std::string::npos);
    QVERIFY(messagesFor("other").find("Let me see.Now.") != std::string::npos);
}

void MessagesDecoderTest::givesUpWhatIsTooMuch()
{
    QCOMPARE(shortForm(decode(replyOf(sse(Events(5000, start(0, R"({"type":"redacted_thinking","data":"D"})")))))),
             std::string("EMSGSIZE"));
    QCOMPARE(shortForm(decode(replyOf(sse(Events(3, arguments(std::string(100'000, 'x'), 0)))))),
             std::string("EMSGSIZE"));
    const std::string secret(3'000'000, 'x');
    const std::string block = "{\"type\":\"redacted_thinking\",\"data\":\"" + secret + "\"}";
    QCOMPARE(shortForm(decode(replyOf(sse({start(0, block), start(1, block), kStop})))), std::string("EMSGSIZE"));
}

void MessagesDecoderTest::countsNoPingAsProgress()
{
    QCOMPARE(decode(replyOf(sse({text("a"), R"({"type":"ping"})", R"({"type":"ping"})", kStop}))).dataEvents,
             std::uint64_t(2));
}

QTEST_GUILESS_MAIN(MessagesDecoderTest)
#include "messages_decoder_test.moc"
