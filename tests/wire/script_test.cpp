#include "daemon/providers/wire/debug/script.h"

#include "common/json/json.h"

#include "tests/common/test_strings.h"

#include <QtTest>

using namespace cortexfs;
using models::Conversation;
using models::Message;
using wire::debug::ScriptSource;
using Step = ScriptSource::Step;

namespace {

Message message(Message::Role role, const std::string &text)
{
    Message out;
    out.role = role;
    if (!text.empty())
        out.parts.push_back({.type = models::Part::Type::Text, .text = text});
    return out;
}

Conversation asked(const std::string &text)
{
    Conversation out;
    out.messages.push_back(message(Message::Role::User, text));
    return out;
}

// One line a step.
std::string play(ScriptSource source)
{
    std::string out;
    for (int i = 0; i < 1000; ++i) {
        const Step step = source.next();
        switch (step.kind) {
        case Step::Kind::Emit: out += step.event.toJson() + "\n"; break;
        case Step::Kind::Wait: out += "wait " + std::to_string(step.waitMs) + "\n"; break;
        case Step::Kind::Fail: return out + "fail " + std::string(step.failure->error.name());
        case Step::Kind::End: return out + "end " + std::string(abi::stopReasonWord(step.reason));
        }
    }
    return out + "endless";
}

} // namespace

class ScriptTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void echoesTheInput();
    void plays_data();
    void plays();
    void goesOnAfterTheToolResults();
    void saysTheResultsWhenTheScriptIsOver();
    void streamsARepeatWithoutHoldingIt();
    void failsPastTheLimitOfAMessage();
    void staysAtItsEnd();
};

void ScriptTest::echoesTheInput()
{
    QCOMPARE(play(ScriptSource("echo", asked("hello\nsay x"))),
             std::string("{\"type\":\"delta\",\"text\":\"hello\\nsay x\",\"offset\":0}\n"
                         "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":"
                         "\"hello\\nsay x\"}]}\n"
                         "{\"type\":\"usage\",\"input_tokens\":3,\"output_tokens\":3}\n"
                         "end stop"));
}

void ScriptTest::plays_data()
{
    QTest::addColumn<QByteArray>("script");
    QTest::addColumn<QByteArray>("expected");
    const auto row = [](const char *name, const char *script, const char *expected) {
        QTest::newRow(name) << QByteArray(script) << QByteArray(expected);
    };
    const char *const kNothing = "{\"type\":\"usage\",\"input_tokens\":1,\"output_tokens\":0}\nend stop";
    row("say and any other line are deltas of one message", "say Hello,\n world",
        "{\"type\":\"delta\",\"text\":\"Hello,\",\"offset\":0}\n"
        "{\"type\":\"delta\",\"text\":\" world\",\"offset\":6}\n"
        "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"Hello, world\"}]}\n"
        "{\"type\":\"usage\",\"input_tokens\":5,\"output_tokens\":3}\nend stop");
    row("thoughts come before the text", "think a\nthink b\nsay c",
        "{\"type\":\"reasoning_delta\",\"text\":\"a\",\"offset\":0}\n"
        "{\"type\":\"reasoning_delta\",\"text\":\"b\",\"offset\":1}\n"
        "{\"type\":\"reasoning_message\",\"text\":\"ab\"}\n"
        "{\"type\":\"delta\",\"text\":\"c\",\"offset\":0}\n"
        "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"c\"}]}\n"
        "{\"type\":\"usage\",\"input_tokens\":6,\"output_tokens\":1}\nend stop");
    row("calls come after the message", "call fs.read {\"path\": \"x\"}\nsay a\ncall now",
        "{\"type\":\"delta\",\"text\":\"a\",\"offset\":0}\n"
        "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}\n"
        "{\"type\":\"tool_call\",\"call_id\":\"call_1\",\"name\":\"fs.read\",\"arguments\":{\"path\":\"x\"}}\n"
        "{\"type\":\"tool_call\",\"call_id\":\"call_2\",\"name\":\"now\",\"arguments\":{}}\n"
        "{\"type\":\"usage\",\"input_tokens\":11,\"output_tokens\":6}\nend tool_calls");
    row("broken arguments are passed on as such", "call f {\"x\":",
        "{\"type\":\"tool_call\",\"call_id\":\"call_1\",\"name\":\"f\",\"arguments\":{},\"raw_arguments\":\"{\\\"x\\\":"
        "\"}\n"
        "{\"type\":\"usage\",\"input_tokens\":3,\"output_tokens\":2}\nend tool_calls");
    row("wait and fail", "say a\nwait 50\nfail EHOSTDOWN\nsay never",
        "{\"type\":\"delta\",\"text\":\"a\",\"offset\":0}\nwait 50\nfail EHOSTDOWN");
    row("repeat", "repeat 2 ab",
        "{\"type\":\"delta\",\"text\":\"ab\",\"offset\":0}\n{\"type\":\"delta\",\"text\":\"ab\",\"offset\":2}\n"
        "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"abab\"}]}\n"
        "{\"type\":\"usage\",\"input_tokens\":3,\"output_tokens\":1}\nend stop");
    row("nothing to repeat", "repeat 0 x", "{\"type\":\"usage\",\"input_tokens\":3,\"output_tokens\":0}\nend stop");
    row("a command that is not well formed is said", "fail soon",
        "{\"type\":\"delta\",\"text\":\"fail soon\",\"offset\":0}\n"
        "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"fail soon\"}]}\n"
        "{\"type\":\"usage\",\"input_tokens\":3,\"output_tokens\":3}\nend stop");
    row("a turn ends at its line", "turn\nsay later",
        "{\"type\":\"usage\",\"input_tokens\":4,\"output_tokens\":0}\nend stop");
    row("say without text", "say", kNothing);
}

void ScriptTest::plays()
{
    QFETCH(QByteArray, script);
    QFETCH(QByteArray, expected);
    QCOMPARE(QByteArray::fromStdString(play(ScriptSource("script", asked(script.toStdString())))), expected);
}

void ScriptTest::goesOnAfterTheToolResults()
{
    Conversation conversation = asked("call a {}\nturn\ncall b {}\nturn\nsay done");
    const auto answer = [&](const std::string &id) {
        Message call = message(Message::Role::Assistant, "");
        call.toolCalls.push_back({id, "a", "{}"});
        conversation.messages.push_back(std::move(call));
        conversation.messages.push_back(message(Message::Role::Tool, "result"));
    };
    answer("call_1");
    const std::string second = play(ScriptSource("script", conversation));
    QVERIFY2(second.find("\"call_id\":\"call_2\",\"name\":\"b\"") != std::string::npos, second.c_str());
    answer("call_2");
    const std::string third = play(ScriptSource("script", conversation));
    QVERIFY2(third.find("\"text\":\"done\"") != std::string::npos, third.c_str());
}

void ScriptTest::saysTheResultsWhenTheScriptIsOver()
{
    Conversation conversation = asked("call a {}");
    Message call = message(Message::Role::Assistant, "");
    call.toolCalls.push_back({"call_1", "a", "{}"});
    conversation.messages.push_back(std::move(call));
    conversation.messages.push_back(message(Message::Role::Tool, "say x"));
    const std::string played = play(ScriptSource("script", conversation));
    QVERIFY2(played.find("{\"type\":\"delta\",\"text\":\"say x\",\"offset\":0}") == 0, played.c_str());
}

void ScriptTest::streamsARepeatWithoutHoldingIt()
{
    ScriptSource source("script", asked("repeat 500000 x"));
    std::int64_t deltas = 0;
    for (;;) {
        const Step step = source.next();
        if (step.kind != Step::Kind::Emit || step.event.type != abi::EventType::Delta) {
            QCOMPARE(step.kind, Step::Kind::Emit);
            QCOMPARE(step.event.type, abi::EventType::Message);
            break;
        }
        QCOMPARE(step.event.offset, deltas);
        ++deltas;
    }
    QCOMPARE(deltas, 500000);
}

void ScriptTest::failsPastTheLimitOfAMessage()
{
    ScriptSource source("script", asked("repeat 1000000 0123456789"));
    Step step = source.next();
    while (step.kind == Step::Kind::Emit)
        step = source.next();
    QCOMPARE(step.kind, Step::Kind::Fail);
    QCOMPARE(step.failure->error.number(), EMSGSIZE);
}

void ScriptTest::staysAtItsEnd()
{
    ScriptSource source("script", asked("fail EAGAIN"));
    QCOMPARE(source.next().kind, Step::Kind::Fail);
    const Step again = source.next();
    QCOMPARE(again.kind, Step::Kind::Fail);
    QVERIFY(again.failure->retryable);
}

QTEST_GUILESS_MAIN(ScriptTest)
#include "script_test.moc"
