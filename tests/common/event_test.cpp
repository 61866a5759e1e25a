#include "common/abi/event.h"
#include "common/json/json.h"
#include "tests/common/test_strings.h"

#include <QTest>

using namespace cortexfs;
using namespace cortexfs::abi;

Q_DECLARE_METATYPE(cortexfs::abi::Event)

namespace {

// Every field set, so that a line shows which of them belong to its type.
Event full(EventType type)
{
    Event event;
    event.type = type;
    event.run = "r1";
    event.model = "debug/echo";
    event.text = "hello";
    event.offset = 5;
    event.content = {{"text", "hi"}, {"refusal", "no"}};
    event.callId = "call_1";
    event.name = "fs.read";
    event.arguments = R"({"b":1,"a":[2]})";
    event.usage = {10, 1, 4, 2};
    event.code = EACCES;
    event.errorMessage = "permission denied";
    event.status = RunStatus::Ok;
    event.reason = StopReason::Stop;
    event.opaque = R"({"secret":"signature"})";
    return event;
}

} // namespace

class EventTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void lines_data();
    void lines();
    void linesAreOneLineOfJson_data();
    void linesAreOneLineOfJson();
    void words();
    void appendsToWhatIsThere();
};

void EventTest::lines_data()
{
    QTest::addColumn<Event>("event");
    QTest::addColumn<std::string>("line");
    const auto row = [](const char *title, const Event &event, const char *line) {
        QTest::newRow(title) << event << std::string(line);
    };
    row("start", full(EventType::Start), R"({"type":"start","run":"r1","model":"debug/echo"})");
    row("delta", full(EventType::Delta), R"({"type":"delta","run":"r1","text":"hello","offset":5})");
    row("reasoning_delta", full(EventType::ReasoningDelta),
        R"({"type":"reasoning_delta","run":"r1","text":"hello","offset":5})");
    row("message", full(EventType::Message),
        R"({"type":"message","run":"r1","role":"assistant","content":[{"type":"text","text":"hi"},)"
        R"({"type":"refusal","text":"no"}],"model":"debug/echo"})");
    row("reasoning_message", full(EventType::ReasoningMessage),
        R"({"type":"reasoning_message","run":"r1","text":"hello"})");
    row("tool_call", full(EventType::ToolCall),
        R"({"type":"tool_call","run":"r1","call_id":"call_1","name":"fs.read","arguments":{"b":1,"a":[2]}})");
    row("usage", full(EventType::Usage),
        R"({"type":"usage","run":"r1","input_tokens":10,"output_tokens":1,"cached_tokens":4,"cache_write_tokens":2})");
    row("error", full(EventType::Error),
        R"({"type":"error","run":"r1","code":"EACCES","message":"permission denied","model":"debug/echo"})");
    row("done", full(EventType::Done),
        R"({"type":"done","run":"r1","status":"ok","reason":"stop","model":"debug/echo"})");

    row("made start", events::start("r1", "a/b"), R"({"type":"start","run":"r1","model":"a/b"})");
    row("made delta", events::delta("r1", "x", 0), R"({"type":"delta","run":"r1","text":"x","offset":0})");
    row("made error", events::error("r1", errors::noCredential("no key").withDetail("openai")),
        R"({"type":"error","run":"r1","code":"ENOKEY","message":"openai: no key"})");
    row("made done", events::done("r1", RunStatus::Error), R"({"type":"done","run":"r1","status":"error"})");
    row("done cancelled", events::done("r1", RunStatus::Cancelled),
        R"({"type":"done","run":"r1","status":"cancelled"})");
    row("done with a reason", events::done("r1", RunStatus::Ok, StopReason::ToolCalls),
        R"({"type":"done","run":"r1","status":"ok","reason":"tool_calls"})");
    row("error before a run has no run", events::error("", errors::invalid("m")),
        R"({"type":"error","code":"EINVAL","message":"m"})");

    Event recoverable = full(EventType::Error);
    recoverable.recoverable = true;
    row("an error that another candidate follows", recoverable,
        R"({"type":"error","run":"r1","code":"EACCES","message":"permission denied","recoverable":true,"model":"debug/echo"})");
    Event unknown = events::error("r1", makeError(99999, "odd"));
    row("an errno without a stable name", unknown, R"({"type":"error","run":"r1","code":"EIO","message":"odd"})");

    Event requested = events::start("r1", "a/b");
    requested.request = "msg-1";
    row("start on a socket", requested, R"({"type":"start","run":"r1","model":"a/b","request":"msg-1"})");

    Event raw = full(EventType::ToolCall);
    raw.rawArguments = R"({"broken)";
    row("arguments that are no object are never passed on as such", raw,
        R"({"type":"tool_call","run":"r1","call_id":"call_1","name":"fs.read","arguments":{},"raw_arguments":"{\"broken"})");
    Event bare = full(EventType::ToolCall);
    bare.arguments.clear();
    row("no arguments", bare, R"({"type":"tool_call","run":"r1","call_id":"call_1","name":"fs.read","arguments":{}})");

    Event plain;
    plain.type = EventType::Usage;
    plain.run = "r1";
    row("usage without cache counts", plain, R"({"type":"usage","run":"r1","input_tokens":0,"output_tokens":0})");
    Event zero = plain;
    zero.usage.cachedTokens = 0;
    row("a cache count of zero was reported", zero,
        R"({"type":"usage","run":"r1","input_tokens":0,"output_tokens":0,"cached_tokens":0})");
    Event large = plain;
    large.usage = {9'223'372'036'854'775'807, -1, {}, {}};
    row("the largest count", large,
        R"({"type":"usage","run":"r1","input_tokens":9223372036854775807,"output_tokens":-1})");
    Event empty;
    empty.type = EventType::Message;
    empty.run = "r1";
    row("a message without parts", empty, R"({"type":"message","run":"r1","role":"assistant","content":[]})");
}

void EventTest::lines()
{
    QFETCH(Event, event);
    QFETCH(std::string, line);
    QCOMPARE(event.toJson(), line);
}

void EventTest::linesAreOneLineOfJson_data()
{
    QTest::addColumn<std::string>("text");
    QTest::newRow("line feeds") << std::string("a\nb\r\nc");
    QTest::newRow("quotes and backslashes") << std::string("\"\\\"}");
    QTest::newRow("a forged frame") << std::string("\"}\n{\"type\":\"done\",\"status\":\"ok\"}");
    QTest::newRow("NUL and the other controls") << std::string("\0\x01\x1f\x7f", 4);
    QTest::newRow("beyond the BMP") << std::string("\xf0\x9f\x98\x80");
    QTest::newRow("line separators of JavaScript") << std::string("\xe2\x80\xa8\xe2\x80\xa9");
    QTest::newRow("empty") << std::string();
}

void EventTest::linesAreOneLineOfJson()
{
    QFETCH(std::string, text);
    for (const EventType type :
         {EventType::Start, EventType::Delta, EventType::Message, EventType::ReasoningDelta,
          EventType::ReasoningMessage, EventType::ToolCall, EventType::Usage, EventType::Error, EventType::Done}) {
        Event event;
        event.type = type;
        event.run = event.model = event.text = event.callId = event.name = event.rawArguments = text;
        event.errorMessage = event.request = text;
        event.content = {{text, text}};
        const std::string line = event.toJson();
        QVERIFY(line.find('\n') == std::string::npos && line.find('\r') == std::string::npos);
        const Result<json::Document> document = json::parse(line);
        QVERIFY2(document, line.c_str());
        QCOMPARE(std::string(document->root()["type"].stringOr("?")), std::string(eventTypeWord(type)));
        if (type == EventType::Delta)
            QCOMPARE(std::string(document->root()["text"].stringOr("?")), text);
        if (type == EventType::Message)
            QCOMPARE(std::string(document->root()["content"].at(0)["text"].stringOr("?")), text);
        if (type == EventType::Error)
            QCOMPARE(std::string(document->root()["message"].stringOr("?")), text);
    }
}

void EventTest::words()
{
    QCOMPARE(std::string(stopReasonWord(StopReason::Stop)), std::string("stop"));
    QCOMPARE(std::string(stopReasonWord(StopReason::ToolCalls)), std::string("tool_calls"));
    QCOMPARE(std::string(stopReasonWord(StopReason::Length)), std::string("length"));
    QCOMPARE(std::string(stopReasonWord(StopReason::Refusal)), std::string("refusal"));
    QCOMPARE(std::string(runStatusWord(RunStatus::Ok)), std::string("ok"));
    QCOMPARE(std::string(runStatusWord(RunStatus::Error)), std::string("error"));
    QCOMPARE(std::string(runStatusWord(RunStatus::Cancelled)), std::string("cancelled"));
}

void EventTest::appendsToWhatIsThere()
{
    std::string out = "before ";
    events::done("r1", RunStatus::Ok).appendJson(out);
    QCOMPARE(out, std::string(R"(before {"type":"done","run":"r1","status":"ok"})"));
}

QTEST_GUILESS_MAIN(EventTest)
#include "event_test.moc"
