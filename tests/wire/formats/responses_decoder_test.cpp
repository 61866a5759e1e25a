#include "tests/wire/fixture.h"
#include "tests/wire/formats/conversations.h"

#include <QtTest>

using namespace cortexfs;
using namespace cortexfs::test;

namespace {

Decoded decodeEvents(const std::vector<std::string> &events)
{
    Reply reply;
    reply.format = "openai.responses";
    reply.body = sse(events);
    return decode(reply);
}

Decoded decodeDocument(const std::string &body)
{
    Reply reply;
    reply.format = "openai.responses";
    reply.headers = {{"content-type", "application/json"}};
    reply.body = body;
    return decode(reply);
}

// The events of a run in short: "~think" "=thought" "+delta" "[text]" "[!refusal]" "call_id name{args}" "in/out" "ok stop".
std::string shortForm(const Decoded &decoded)
{
    std::string out;
    for (const abi::Event &event : decoded.events) {
        out += out.empty() ? "" : " ";
        switch (event.type) {
        case abi::EventType::ReasoningDelta: out += "~" + event.text; break;
        case abi::EventType::ReasoningMessage: out += "=" + event.text; break;
        case abi::EventType::Delta: out += "+" + event.text; break;
        case abi::EventType::Message:
            for (const abi::ContentPart &part : event.content)
                out += (part.type == "refusal" ? "[!" : "[") + part.text + "]";
            break;
        case abi::EventType::ToolCall:
            out += event.callId + " " + event.name + event.arguments
                   + (event.rawArguments.empty() ? "" : "?" + event.rawArguments);
            break;
        case abi::EventType::Usage:
            out += std::to_string(event.usage.inputTokens) + "/" + std::to_string(event.usage.outputTokens);
            break;
        default: out += "?";
        }
    }
    out += out.empty() ? "" : " ";
    return out + (decoded.failure ? decoded.code() : "ok " + std::string(abi::stopReasonWord(*decoded.reason)));
}

const char *const kCompleted = R"({"type":"response.completed","response":{"status":"completed","output":[]}})";

std::string delta(const std::string &text,
                  const std::string &where = R"("item_id":"m1","output_index":0,"content_index":0)")
{
    return R"({"type":"response.output_text.delta",)" + where + R"(,"delta":")" + text + "\"}";
}

std::string completedWith(const std::string &output)
{
    return R"({"type":"response.completed","response":{"status":"completed","output":[)" + output + "]}}";
}

} // namespace

class ResponsesDecoderTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void givesItsEvents_data();
    void givesItsEvents();
    void readsAWholeResponse_data();
    void readsAWholeResponse();
    void classifiesItsFailures_data();
    void classifiesItsFailures();
    void keepsReasoningForTheNextTurn();
    void sendsTheSameTurnAgain();
    void givesUpWhatIsTooMuch();
    void countsNoKeepAliveAsProgress();
};

void ResponsesDecoderTest::givesItsEvents_data()
{
    using Events = std::vector<std::string>;
    QTest::addColumn<Events>("events");
    QTest::addColumn<QByteArray>("expected");
    const auto row = [](const char *name, const Events &events, const char *expected) {
        QTest::newRow(name) << events << QByteArray(expected);
    };
    row("the length limit",
        {delta("ab"),
         R"({"type":"response.incomplete","response":{"status":"incomplete","output":[],"incomplete_details":{"reason":"max_output_tokens"},"usage":{"input_tokens":5,"output_tokens":2}}})"},
        "+ab [ab] 5/2 ok length");
    row("a content filter",
        {delta("ab"),
         R"({"type":"response.incomplete","response":{"incomplete_details":{"reason":"content_filter"}}})"},
        "+ab [ab] ok refusal");
    row("a cut call is not made",
        {R"({"type":"response.output_item.added","output_index":0,"item":{"id":"f","type":"function_call","call_id":"c","name":"rm","arguments":""}})",
         R"({"type":"response.function_call_arguments.delta","item_id":"f","output_index":0,"delta":"{\"a\":"})",
         R"({"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"id":"f","type":"function_call","status":"incomplete","call_id":"c","name":"rm","arguments":"{\"a\":"}]}})"},
        "ok length");
    row("a call cut before its arguments is not made",
        {R"({"type":"response.output_item.added","output_index":0,"item":{"id":"f","type":"function_call","call_id":"c","name":"rm","arguments":""}})",
         R"({"type":"response.incomplete","response":{"status":"incomplete","output":[]}})"},
        "ok length");
    row("a whole call beside a cut text is made",
        {R"({"type":"response.output_item.done","output_index":0,"item":{"id":"f","type":"function_call","status":"completed","call_id":"c","name":"now","arguments":"{}"}})",
         R"({"type":"response.incomplete","response":{"status":"incomplete","output":[]}})"},
        "c now{} ok length");
    row("text that only .done says",
        {R"({"type":"response.output_text.done","item_id":"m1","output_index":0,"content_index":0,"text":"abc"})",
         kCompleted},
        "+abc [abc] ok stop");
    row("text that only the part says",
        {R"({"type":"response.content_part.done","item_id":"m1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"abc"}})",
         kCompleted},
        "+abc [abc] ok stop");
    row("text that only the item says",
        {R"({"type":"response.output_item.done","output_index":0,"item":{"id":"m1","type":"message","content":[{"type":"output_text","text":"ab"},{"type":"output_text","text":"c"}]}})",
         kCompleted},
        "+ab +c [abc] ok stop");
    row("two parts, one by deltas and one whole",
        {delta("a"),
         R"({"type":"response.output_text.done","item_id":"m1","output_index":0,"content_index":0,"text":"a"})",
         R"({"type":"response.output_text.done","item_id":"m1","output_index":0,"content_index":1,"text":"b"})",
         completedWith(
             R"({"id":"m1","type":"message","content":[{"type":"output_text","text":"a"},{"type":"output_text","text":"b"}]})")},
        "+a +b [ab] ok stop");
    row("two messages", {delta("a"), delta("b", R"("item_id":"m2","output_index":1,"content_index":0)"), kCompleted},
        "+a +b [ab] ok stop");
    row("an answer that numbers its items otherwise at the end",
        {delta("ab", R"("item_id":"x","output_index":0)"),
         completedWith(
             R"({"id":"r","type":"reasoning","summary":[]},{"id":"y","type":"message","content":[{"type":"output_text","text":"ab"}]})")},
        "+ab [ab] ok stop");
    row("events without numbers and ids",
        {delta("a", R"("content_index":0)"), delta("b", R"("content_index":0)"), kCompleted}, "+a +b [ab] ok stop");
    row("an item with another id in every event",
        {R"({"type":"response.output_item.added","output_index":0,"item":{"id":"x1","type":"function_call","call_id":"c","name":"f"}})",
         R"({"type":"response.function_call_arguments.delta","item_id":"x2","output_index":0,"delta":"{\"a\""})",
         R"({"type":"response.function_call_arguments.delta","item_id":"x3","output_index":0,"delta":":1}"})",
         R"({"type":"response.output_item.done","output_index":0,"item":{"id":"x4","type":"function_call","call_id":"c","name":"f","arguments":"{\"a\":1}"}})",
         completedWith(R"({"id":"x5","type":"function_call","call_id":"c","name":"f","arguments":"{\"a\":1}"})")},
        "c f{\"a\":1} ok tool_calls");
    row("items that are all number 0",
        {R"({"type":"response.output_item.added","output_index":0,"item":{"id":"a","type":"function_call","call_id":"c1","name":"f"}})",
         R"({"type":"response.output_item.added","output_index":0,"item":{"id":"b","type":"function_call","call_id":"c2","name":"g"}})",
         R"({"type":"response.function_call_arguments.delta","item_id":"a","output_index":0,"delta":"{\"a\":1}"})",
         R"({"type":"response.function_call_arguments.delta","item_id":"b","output_index":0,"delta":"{\"b\":2}"})",
         kCompleted},
        "c1 f{\"a\":1} c2 g{\"b\":2} ok tool_calls");
    row("calls that only the end says",
        {completedWith(
            R"({"type":"function_call","call_id":"c1","name":"f","arguments":"{\"z\":1,\"a\":2}"},{"type":"function_call","call_id":"c2","name":"g","arguments":""})")},
        "c1 f{\"z\":1,\"a\":2} c2 g{} ok tool_calls");
    row("arguments that are an object",
        {completedWith(R"({"type":"function_call","call_id":"c1","name":"f","arguments":{"z":1,"a":2}})")},
        "c1 f{\"z\":1,\"a\":2} ok tool_calls");
    row("arguments that are no object",
        {completedWith(R"({"type":"function_call","call_id":"c1","name":"f","arguments":"{oops"})")},
        "c1 f?{oops ok tool_calls");
    row("a refusal that only the end says",
        {completedWith(R"({"id":"m","type":"message","content":[{"type":"refusal","refusal":"No."}]})")},
        "+No. [!No.] ok refusal");
    row("two parts of a summary",
        {R"({"type":"response.reasoning_summary_text.delta","item_id":"r","output_index":0,"summary_index":0,"delta":"a"})",
         R"({"type":"response.reasoning_summary_text.done","item_id":"r","output_index":0,"summary_index":0,"text":"a"})",
         R"({"type":"response.reasoning_summary_text.delta","item_id":"r","output_index":0,"summary_index":1,"delta":"b"})",
         R"({"type":"response.reasoning_summary_text.delta","item_id":"r","output_index":0,"summary_index":1,"delta":"c"})",
         delta("x", R"("item_id":"m","output_index":1)"), kCompleted},
        "~a ~\n\nb ~c =a\n\nbc +x [x] ok stop");
    row("a summary that only .done says",
        {R"({"type":"response.reasoning_summary_text.done","item_id":"r","output_index":0,"summary_index":0,"text":"a"})",
         R"({"type":"response.output_item.done","output_index":0,"item":{"id":"r","type":"reasoning","summary":[{"type":"summary_text","text":"a"}]}})",
         kCompleted},
        "~a =a ok stop");
    row("thoughts of an open model",
        {R"({"type":"response.reasoning_text.delta","item_id":"r","output_index":0,"content_index":0,"delta":"hm"})",
         R"({"type":"response.reasoning_summary_text.delta","item_id":"r","output_index":0,"summary_index":0,"delta":"short"})",
         delta("x", R"("item_id":"m","output_index":1)"), kCompleted},
        "~hm =hm +x [x] ok stop");
    row("two items of reasoning",
        {R"({"type":"response.output_item.added","output_index":0,"item":{"id":"r0","type":"reasoning","summary":[]}})",
         R"({"type":"response.reasoning_summary_text.delta","item_id":"r0","output_index":0,"summary_index":0,"delta":"a"})",
         R"({"type":"response.output_item.added","output_index":1,"item":{"id":"r1","type":"reasoning","summary":[]}})",
         R"({"type":"response.reasoning_summary_text.delta","item_id":"r1","output_index":1,"summary_index":0,"delta":"b"})",
         kCompleted},
        "~a =a ~b =b ok stop");
    row("reasoning that is only encrypted",
        {R"({"type":"response.output_item.done","output_index":0,"item":{"id":"r","type":"reasoning","encrypted_content":"E","summary":[]}})",
         delta("x", R"("item_id":"m","output_index":1)"),
         completedWith(
             R"({"id":"r","type":"reasoning","encrypted_content":"E","summary":[]},{"id":"m","type":"message","content":[{"type":"output_text","text":"x"}]})")},
        "= +x [x] ok stop");
    row("a cut stream after encrypted reasoning gives nothing",
        {R"({"type":"response.output_item.done","output_index":0,"item":{"id":"r","type":"reasoning","encrypted_content":"E","summary":[]}})"},
        "ECONNRESET");
    row("half a surrogate pair in each of two deltas", {delta("\\ud83d"), delta("\\ude00"), kCompleted},
        "+\xf0\x9f\x98\x80 [\xf0\x9f\x98\x80] ok stop");
    row("a stray [DONE] does not finish it", {delta("a"), "[DONE]"}, "+a ECONNRESET");
    row("nothing but an end", {kCompleted}, "ok stop");
    row("nothing after the end counts",
        {delta("a"), kCompleted, delta("b"), R"({"type":"error","code":"server_error","message":"x"})"},
        "+a [a] ok stop");
    row("an end that is not wrapped",
        {delta("a"),
         R"({"type":"response.completed","status":"completed","output":[],"usage":{"input_tokens":1,"output_tokens":2}})"},
        "+a [a] 1/2 ok stop");
}

void ResponsesDecoderTest::givesItsEvents()
{
    QFETCH(std::vector<std::string>, events);
    QFETCH(QByteArray, expected);
    QCOMPARE(shortForm(decodeEvents(events)), expected.toStdString());
}

void ResponsesDecoderTest::readsAWholeResponse_data()
{
    QTest::addColumn<QByteArray>("body");
    QTest::addColumn<QByteArray>("expected");
    const auto row = [](const char *name, const char *body, const char *expected) {
        QTest::newRow(name) << QByteArray(body) << QByteArray(expected);
    };
    row("an answer",
        R"({"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"a"}]}],"usage":{"input_tokens":1,"output_tokens":2}})",
        "+a [a] 1/2 ok stop");
    row("thoughts between texts",
        R"({"output":[{"type":"message","content":"a"},{"type":"reasoning","summary":[{"text":"hm"},{"text":"so"}]},{"type":"message","content":"b"}]})",
        "+a ~hm ~\n\nso =hm\n\nso +b [ab] ok stop");
    row("an answer without a status", R"({"output":[{"type":"message","content":"a"}]})", "+a [a] ok stop");
    row("the length limit",
        R"({"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[]})", "ok length");
    row("a failure with status 200",
        R"({"status":"failed","error":{"code":"server_error","message":"Boom"},"output":[]})", "EHOSTDOWN");
    row("a failure without a reason", R"({"status":"failed","error":null,"output":[]})", "EIO");
    row("a cancelled response", R"({"status":"cancelled","output":[]})", "ECANCELED");
    row("a response that is not ready", R"({"status":"queued","output":[]})", "EBADMSG");
    row("no response at all", R"({"hello":1})", "EBADMSG");
}

void ResponsesDecoderTest::readsAWholeResponse()
{
    QFETCH(QByteArray, body);
    QFETCH(QByteArray, expected);
    QCOMPARE(shortForm(decodeDocument(body.toStdString())), expected.toStdString());
}

void ResponsesDecoderTest::classifiesItsFailures_data()
{
    QTest::addColumn<QByteArray>("event");
    QTest::addColumn<QByteArray>("code");
    QTest::addColumn<bool>("retryable");
    const auto row = [](const char *name, const char *event, const char *code, bool retryable) {
        QTest::newRow(name) << QByteArray(event) << QByteArray(code) << retryable;
    };
    row("server error",
        R"({"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"The server had an error"}}})",
        "EHOSTDOWN", true);
    row("rate limit",
        R"({"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"Slow down"}}})",
        "EAGAIN", true);
    row("bad prompt",
        R"({"type":"response.failed","response":{"status":"failed","error":{"code":"invalid_prompt","message":"No"}}})",
        "EINVAL", false);
    row("bad image",
        R"({"type":"response.failed","response":{"status":"failed","error":{"code":"image_parse_error","message":"No"}}})",
        "EINVAL", false);
    row("too long",
        R"({"type":"response.failed","response":{"status":"failed","error":{"code":"context_length_exceeded","message":"Your input exceeds the context window"}}})",
        "EMSGSIZE", false);
    row("no reason", R"({"type":"response.failed","response":{"status":"failed","error":null}})", "EIO", false);
    row("flat error", R"({"type":"error","code":"server_error","message":"x","param":null})", "EHOSTDOWN", true);
    row("nested error",
        R"({"type":"error","error":{"type":"invalid_request_error","code":"insufficient_quota","message":"x"}})",
        "EDQUOT", false);
    row("cancelled", R"({"type":"response.cancelled","response":{"status":"cancelled"}})", "ECANCELED", false);
}

void ResponsesDecoderTest::classifiesItsFailures()
{
    QFETCH(QByteArray, event);
    QFETCH(QByteArray, code);
    QFETCH(bool, retryable);
    const Decoded decoded = decodeEvents({delta("a"), event.toStdString()});
    QCOMPARE(shortForm(decoded), "+a " + code.toStdString());
    QCOMPARE(decoded.failure->retryable, retryable);
}

void ResponsesDecoderTest::keepsReasoningForTheNextTurn()
{
    const Decoded decoded = decode(loadFixture("openai.responses", "13-nonstream-json").reply);
    const models::Message message = rememberedFrom(decoded, "openai");
    QCOMPARE(
        QByteArray::fromStdString(message.opaque),
        QByteArray(
            R"({"format":"openai.responses","turn":[{"raw":{"id":"rs_01","type":"reasoning","encrypted_content":"gAAAAABpLQ==","summary":[{"type":"summary_text","text":"**Plan**\n\nAdd the numbers."}]}},{"text":8},{"call":"call_k1"}]})"));
    // Nothing that only the provider understands: nothing to keep.
    QVERIFY(
        rememberedFrom(decode(loadFixture("openai.responses", "03-parallel-tools").reply), "openai").opaque.empty());
}

void ResponsesDecoderTest::sendsTheSameTurnAgain()
{
    // Reasoning, a comment, a call, reasoning, a call, an answer: the next request holds them in this order.
    const std::string output =
        R"({"id":"r1","type":"reasoning","encrypted_content":"E1","summary":[],"status":null},)"
        R"({"id":"m1","type":"message","phase":"commentary","content":[{"type":"output_text","text":"Let me see. "}]},)"
        R"({"id":"f1","type":"function_call","call_id":"c1","name":"f","arguments":"{}"},)"
        R"({"id":"r2","type":"reasoning","encrypted_content":"E2","summary":[]},)"
        R"({"id":"f2","type":"function_call","name":"g","arguments":"{\"b\":1}"},)"
        R"({"id":"m2","type":"message","phase":"final_answer","content":[{"type":"output_text","text":"Done."}]})";
    const Decoded decoded = decodeEvents({completedWith(output)});
    QCOMPARE(*decoded.reason, abi::StopReason::ToolCalls);
    models::Conversation next = asked("Go");
    next.messages.push_back(rememberedFrom(decoded, "p"));
    const std::string id = next.messages[1].toolCalls[1].callId;
    QVERIFY(id.starts_with("call_"));
    next.messages.push_back(toolSays("c1", "1"));
    next.messages.push_back(toolSays(id, "2"));
    const auto inputFor = [&](const char *provider) {
        return memberOf("openai.responses", next, {.nativeModel = "gpt-5.6", .provider = provider}, "input");
    };
    const std::string expected =
        R"({"id":"r1","type":"reasoning","encrypted_content":"E1","summary":[],"status":null},)"
        R"({"type":"message","role":"assistant","content":"Let me see. ","phase":"commentary"},)"
        R"({"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},)"
        R"({"id":"r2","type":"reasoning","encrypted_content":"E2","summary":[]},)"
        R"({"type":"function_call","call_id":")"
        + id
        + R"(","name":"g","arguments":"{\"b\":1}"},)"
          R"({"type":"message","role":"assistant","content":"Done.","phase":"final_answer"},)";
    QVERIFY2(inputFor("p").find(expected) != std::string::npos, inputFor("p").c_str());
    QVERIFY(inputFor("other").find("encrypted") == std::string::npos);
    QVERIFY(inputFor("other").find("Let me see. Done.") != std::string::npos);
    QVERIFY(inputFor("").find("encrypted") == std::string::npos);
}

void ResponsesDecoderTest::givesUpWhatIsTooMuch()
{
    std::vector<std::string> calls(
        5000, R"({"type":"response.output_item.added","item":{"type":"function_call","name":"f"}})");
    QCOMPARE(shortForm(decodeEvents(calls)), std::string("EMSGSIZE"));
    const std::string piece(100'000, 'x');
    std::vector<std::string> pieces(3, R"({"type":"response.function_call_arguments.delta","item_id":"f","delta":")"
                                           + piece + "\"}");
    QCOMPARE(shortForm(decodeEvents(pieces)), std::string("EMSGSIZE"));
    const std::string secret(3'000'000, 'x');
    const std::string item = R"({"type":"reasoning","summary":[],"encrypted_content":")" + secret + "\"}";
    QCOMPARE(shortForm(decodeEvents({R"({"type":"response.output_item.done","output_index":0,"item":)" + item + "}",
                                     R"({"type":"response.output_item.done","output_index":1,"item":)" + item + "}",
                                     kCompleted})),
             std::string("EMSGSIZE"));
}

void ResponsesDecoderTest::countsNoKeepAliveAsProgress()
{
    const Decoded decoded = decodeEvents(
        {delta("a"), R"({"type":"keepalive","sequence_number":3})", R"({"type":"keepalive"})", kCompleted});
    QCOMPARE(decoded.dataEvents, std::uint64_t(2));
}

QTEST_GUILESS_MAIN(ResponsesDecoderTest)
#include "responses_decoder_test.moc"
