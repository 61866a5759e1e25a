// What the transcripts do not show: limits, malformed replies, replies that are not what their head says, endings.
#include "tests/wire/feed.h"

#include "common/base/limits.h"
#include "common/json/json.h"

#include <QtTest>

using namespace cortexfs;
using namespace cortexfs::test;

namespace {

std::string content(const std::string &text)
{
    std::string out = R"({"choices":[{"index":0,"delta":{"content":)";
    json::appendQuoted(out, text);
    return out + "}}]}";
}

const char *const kStop = R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})";

// "delta a|delta b|message ab|stop", or the errno at the end.
std::string summary(const Decoded &decoded)
{
    std::string out;
    for (const abi::Event &event : decoded.events) {
        out += std::string(abi::eventTypeWord(event.type)) + " ";
        if (event.type == abi::EventType::Message) {
            for (const abi::ContentPart &part : event.content)
                out += part.text;
        } else if (event.type == abi::EventType::ToolCall) {
            out += event.name + event.arguments + event.rawArguments;
        } else if (event.type == abi::EventType::Usage) {
            out += std::to_string(event.usage.inputTokens) + "/" + std::to_string(event.usage.outputTokens);
        } else {
            out += event.text;
        }
        out += "|";
    }
    return out + (decoded.failure ? decoded.code() : std::string(abi::stopReasonWord(*decoded.reason)));
}

} // namespace

class ChatDecoderTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void decodes_data();
    void decodes();
    void believesTheBytesOverTheHead_data();
    void believesTheBytesOverTheHead();
    void isCompleteWhenTheProviderSaidSo();
    void ignoresWhatFollowsTheEnd();
    void countsDataEventsOnly();
    void keepsTheLimits();
    void joinsSurrogateHalves();
};

void ChatDecoderTest::decodes_data()
{
    QTest::addColumn<QByteArray>("body");
    QTest::addColumn<QByteArray>("expected");
    const auto row = [](const char *name, const std::string &body, const char *expected) {
        QTest::newRow(name) << QByteArray::fromStdString(body) << QByteArray(expected);
    };
    row("only the end marker", sse({"[DONE]"}), "stop");
    row("the end marker with blanks", sse({content("a"), "  [DONE]  "}), "delta a|message a|stop");
    row("no end marker and no final blank line", sse({content("a")}) + "data: " + kStop, "delta a|message a|stop");
    row("no finish at all", sse({content("a")}), "delta a|ECONNRESET");
    row("an empty stream", "", "ECONNRESET");
    row("comments and blank lines only", ": ping\n\n\n\n", "ECONNRESET");
    row("a malformed event", sse({content("a"), "{\"choices\":["}), "delta a|EBADMSG");
    row("an event that is a number", sse({"17"}), "EBADMSG");
    row("an event that is an array", sse({"[1]"}), "EBADMSG");
    row("an event that means nothing", sse({"{}", R"({"type":"ping"})", content("a"), kStop}),
        "delta a|message a|stop");
    row("events of empty data", "data:\n\ndata: \n\n" + sse({content("a"), kStop}), "delta a|message a|stop");
    row("an error null beside the answer", sse({R"({"error":null,"choices":[{"delta":{"content":"a"}}]})", kStop}),
        "delta a|message a|stop");
    row("an unnamed error event", sse({R"({"code":"Throttled","message":"slow down"})"}), "EIO");
    row("an error event of a server that names it",
        "event: error\ndata: {\"error\":{\"message\":\"m\"},\"message\":\"m\"}\n\n", "EIO");
    row("an error inside a choice", sse({R"({"choices":[{"index":0,"error":{"code":502,"message":"m"}}]})"}),
        "EHOSTDOWN");
    row("an error after the text and before the end",
        sse({content("a"), R"({"error":{"code":503,"message":"m"}})", kStop}), "delta a|EHOSTDOWN");
    row("only the first choice counts",
        sse({R"({"choices":[{"index":1,"delta":{"content":"b"}},{"index":0,"delta":{"content":"a"}}]})", kStop}),
        "delta a|message a|stop");
    row("a message where a delta belongs", sse({R"({"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]})"}),
        "delta a|message a|stop");
    row("content in parts",
        sse({R"({"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"t"}]},{"type":"text","text":"a"}]}}]})",
             kStop}),
        "reasoning_delta t|reasoning_message t|delta a|message a|stop");
    row("reasoning under two names is one text",
        sse({R"({"choices":[{"delta":{"reasoning":"t","reasoning_content":"t"}}]})", content("a"), kStop}),
        "reasoning_delta t|reasoning_message t|delta a|message a|stop");
    row("reasoning in details alone",
        sse({R"({"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.summary","summary":"t"}]}}]})", kStop}),
        "reasoning_delta t|reasoning_message t|stop");
    row("reasoning that goes on after text is a second one",
        sse({R"({"choices":[{"delta":{"reasoning":"t"}}]})", content("a"),
             R"({"choices":[{"delta":{"reasoning":"u"}}]})", kStop}),
        "reasoning_delta t|reasoning_message t|delta a|reasoning_delta u|reasoning_message u|message a|stop");
    row("text and refusal", sse({content("a"), R"({"choices":[{"delta":{"refusal":"no"}}]})", kStop}),
        "delta a|delta no|message ano|refusal");
    row("the old single function call",
        sse({R"({"choices":[{"delta":{"function_call":{"name":"f","arguments":"{\"a\""}}}]})",
             R"({"choices":[{"delta":{"function_call":{"arguments":":1}"}},"finish_reason":"function_call"}]})"}),
        "tool_call f{\"a\":1}|tool_calls");
    row("calls that the finish reason does not mention",
        sse({R"({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f"}}]}}]})", kStop}),
        "tool_call f{}|tool_calls");
    row("a finish reason of calls without any",
        sse({R"({"choices":[{"delta":{"content":"a"},"finish_reason":"tool_calls"}]})"}), "delta a|message a|stop");
    row("broken arguments",
        sse({R"({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{x"}}]},"finish_reason":"tool_calls"}]})"}),
        "tool_call f{x|tool_calls");
    row("a call without a name",
        sse({R"({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"{}"}}]},"finish_reason":"tool_calls"}]})"}),
        "EBADMSG");
    row("an unknown finish reason", sse({R"({"choices":[{"delta":{"content":"a"},"finish_reason":"eos"}]})"}),
        "delta a|message a|stop");
    row("the finish reason network_error",
        sse({content("a"), R"({"choices":[{"delta":{},"finish_reason":"network_error"}]})"}), "delta a|EHOSTDOWN");
    row("an empty finish reason on every chunk",
        sse({R"({"choices":[{"delta":{"content":"a"},"finish_reason":""}]})", content("b")}),
        "delta a|delta b|ECONNRESET");
    row("usage in strings and nulls is no usage",
        sse({content("a"), R"({"choices":[],"usage":{"prompt_tokens":null,"completion_tokens":"x"}})", kStop}),
        "delta a|message a|stop");
    row("usage that is negative or fractional",
        sse({content("a"), R"({"choices":[],"usage":{"prompt_tokens":-5,"completion_tokens":2.0}})", kStop}),
        "delta a|message a|usage 0/2|stop");
    row("a tag in a text that is no thought", sse({content("<thought>"), content("x</thought>"), kStop}),
        "delta <thought>|delta x</thought>|message <thought>x</thought>|stop");
    row("a thought tag cut in two",
        sse({R"({"choices":[{"delta":{"content":"<tho","extra_content":{"google":{"thought":true}}}}]})",
             R"({"choices":[{"delta":{"content":"ught>t</th","extra_content":{"google":{"thought":true}}}}]})",
             content("ought>a"), kStop}),
        "reasoning_delta t|reasoning_message t|delta a|message a|stop");
    row("a thought that is never closed",
        sse({R"({"choices":[{"delta":{"content":"<thought>t","extra_content":{"google":{"thought":true}}}}]})",
             content("a"), kStop}),
        "reasoning_delta t|reasoning_message t|delta a|message a|stop");
    row("strings where objects belong",
        sse({R"({"choices":[{"delta":"x"}],"usage":"y"})", R"({"choices":"z"})", R"({"choices":[7]})", kStop}), "stop");
}

void ChatDecoderTest::decodes()
{
    QFETCH(QByteArray, body);
    QFETCH(QByteArray, expected);
    Reply reply;
    reply.body = body.toStdString();
    const Decoded whole = decode(reply);
    QCOMPARE(QByteArray::fromStdString(summary(whole)), expected);
    QCOMPARE(decodeInPieces(reply, 1).text(), whole.text());
    for (const std::string &line : whole.lines())
        QVERIFY2(json::parse(line), line.c_str());
}

void ChatDecoderTest::believesTheBytesOverTheHead_data()
{
    QTest::addColumn<QByteArray>("type");
    QTest::addColumn<QByteArray>("body");
    QTest::addColumn<QByteArray>("expected");
    const auto row = [](const char *name, const char *type, const std::string &body, const char *expected) {
        QTest::newRow(name) << QByteArray(type) << QByteArray::fromStdString(body) << QByteArray(expected);
    };
    const std::string stream = sse({content("a"), kStop});
    const std::string whole =
        R"({"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}})";
    const char *const kWhole = "delta a|message a|usage 1/2|stop";
    row("JSON that says it is a stream", "text/event-stream", whole, kWhole);
    row("JSON that says it is text", "text/plain", " \n\n" + whole, kWhole);
    row("JSON that says nothing", "", whole, kWhole);
    row("JSON with a byte order mark", "application/json", "\xef\xbb\xbf" + whole, kWhole);
    row("a stream that says it is JSON", "application/json", stream, "delta a|message a|stop");
    row("a stream that says it is text", "text/plain; charset=utf-8", stream, "delta a|message a|stop");
    row("a stream that says it is a page", "text/html", stream, "delta a|message a|stop");
    row("a stream that begins with a comment", "application/octet-stream", ": hi\n\n" + stream,
        "delta a|message a|stop");
    row("a stream with a byte order mark", "", "\xef\xbb\xbf" + stream, "delta a|message a|stop");
    row("a page", "text/html", "<html>sign in</html>", "EBADMSG");
    row("a page that says it is a stream", "text/event-stream", "<html>sign in</html>", "EBADMSG");
    row("a text", "text/plain", "upstream request timeout", "EBADMSG");
    row("a text that begins like a field", "text/plain", "database gone", "EBADMSG");
    row("a short text that begins like a field", "text/plain", "dat", "EBADMSG");
    row("an empty page", "text/html", "", "EBADMSG");
    row("an empty JSON reply", "application/json", "", "ECONNRESET");
    row("JSON cut off", "application/json", whole.substr(0, 40), "EBADMSG");
    row("JSON that is no answer", "application/json", "{\"a\":1}", "EBADMSG");
    row("JSON of no choices", "application/json", R"({"choices":[]})", "EBADMSG");
    row("an error with status 200", "application/json", R"({"error":{"message":"m","code":402}})", "EDQUOT");
    row("a flat error with status 200", "application/json", R"({"code":"InvalidParameter","message":"m"})", "EINVAL");
    row("two JSON texts", "application/json", "{\"a\":1}{\"b\":2}", "EBADMSG");
}

void ChatDecoderTest::believesTheBytesOverTheHead()
{
    QFETCH(QByteArray, type);
    QFETCH(QByteArray, body);
    QFETCH(QByteArray, expected);
    Reply reply;
    reply.headers.clear();
    if (!type.isEmpty())
        reply.headers.emplace_back("Content-Type", type.toStdString());
    reply.body = body.toStdString();
    const Decoded decoded = decode(reply);
    QCOMPARE(QByteArray::fromStdString(summary(decoded)), expected);
    QCOMPARE(decodeInPieces(reply, 1).text(), decoded.text());
}

void ChatDecoderTest::isCompleteWhenTheProviderSaidSo()
{
    Reply reply;
    reply.transport = errors::connectionReset("closed");
    reply.body = sse({content("a"), kStop});
    QCOMPARE(summary(decode(reply)), std::string("delta a|message a|stop"));
    reply.transport = errors::timedOut("idle");
    QCOMPARE(summary(decode(reply)), std::string("delta a|message a|stop"));
    reply.body = sse({content("a")});
    QCOMPARE(summary(decode(reply)), std::string("delta a|ETIMEDOUT"));
    // Half an event is no event, whatever it looks like.
    reply.body = sse({content("a")}) + "data: [DONE]";
    QCOMPARE(summary(decode(reply)), std::string("delta a|ETIMEDOUT"));
    // No reply at all.
    reply.status = 0;
    reply.body.clear();
    reply.transport = errors::refused("127.0.0.1:1");
    QCOMPARE(summary(decode(reply)), std::string("ECONNREFUSED"));
}

void ChatDecoderTest::ignoresWhatFollowsTheEnd()
{
    const wire::WireFormat *format = wire::findByDriver("openai-chat");
    wire::ResponseDecoder decoder(*format);
    std::vector<abi::Event> events;
    decoder.onHead(200, {{"content-type", "text/event-stream"}}, 0);
    decoder.onBytes(sse({content("a"), kStop}), events);
    QVERIFY(!decoder.isFinished());
    decoder.onBytes("data: [DONE]\n\n", events);
    QVERIFY(decoder.isFinished()); // without waiting for the connection to close
    const std::size_t count = events.size();
    decoder.onBytes(sse({content("b"), "{broken"}), events);
    decoder.onEnd(errors::connectionReset("late"), events);
    QCOMPARE(events.size(), count);
    QVERIFY(!decoder.failure());
}

void ChatDecoderTest::countsDataEventsOnly()
{
    Reply reply;
    reply.body = ": ping\n\n" + sse({content("a")}) + ": ping\n\nevent: x\n\ndata:\n\n" + sse({kStop});
    QCOMPARE(decode(reply).dataEvents, std::uint64_t(2));
}

void ChatDecoderTest::keepsTheLimits()
{
    Reply reply;
    const std::string piece(64 * limits::kKiB, 'x');
    std::vector<std::string> events(limits::kMessageText / piece.size(), content(piece));
    events.push_back(kStop);
    reply.body = sse(events);
    QVERIFY(!decode(reply).failure);
    events.insert(events.begin(), content("y"));
    reply.body = sse(events);
    const Decoded tooLong = decode(reply);
    QCOMPARE(tooLong.code(), std::string("EMSGSIZE"));
    QVERIFY(!tooLong.failure->retryable);
    for (const abi::Event &event : tooLong.events)
        QCOMPARE(event.type, abi::EventType::Delta);

    reply.body = sse({content("a")}) + "data: " + std::string(limits::kSseEvent + 1, ' ') + "\n\n";
    QCOMPARE(summary(decode(reply)), std::string("delta a|EMSGSIZE"));

    reply.body = sse({content("a")}) + std::string(limits::kRunBytes, '\n');
    QCOMPARE(summary(decode(reply)), std::string("delta a|EMSGSIZE"));

    std::string arguments =
        R"({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":")";
    arguments += std::string(limits::kToolArguments + 1, 'x') + R"("}}]}}]})";
    reply.body = sse({arguments, kStop});
    QCOMPARE(summary(decode(reply)), std::string("EMSGSIZE"));

    reply.status = 400;
    reply.body = std::string(2 * limits::kMiB, 'x');
    QCOMPARE(summary(decode(reply)), std::string("EINVAL"));
}

void ChatDecoderTest::joinsSurrogateHalves()
{
    Reply reply;
    reply.body = sse({R"({"choices":[{"delta":{"content":"a\ud83d"}}]})",
                      R"({"choices":[{"delta":{"content":"\ude00b"}}]})",
                      R"({"choices":[{"delta":{"content":"\ud83d"}}]})", kStop});
    const Decoded decoded = decode(reply);
    QCOMPARE(decoded.events.back().content[0].text, std::string("a\xf0\x9f\x98\x80"
                                                                "b\xef\xbf\xbd"));
    std::string joined;
    for (const abi::Event &event : decoded.events) {
        if (event.type == abi::EventType::Delta) {
            QCOMPARE(event.offset, static_cast<std::int64_t>(joined.size()));
            QVERIFY(json::isValidUtf8(event.text));
            joined += event.text;
        }
    }
    QCOMPARE(joined, decoded.events.back().content[0].text);
    reply.body = sse({"{\"choices\":[{\"delta\":{\"content\":\"a\xff"
                      "b\"},\"finish_reason\":\"stop\"}]}"});
    QCOMPARE(decode(reply).events.back().content[0].text, std::string("a\xef\xbf\xbd"
                                                                      "b"));
}

QTEST_GUILESS_MAIN(ChatDecoderTest)
#include "chat_decoder_test.moc"
