// One conversation, whatever the format: what a server reads from the body, and what we read from its reply.
#include "tests/wire/formats/conversations.h"
#include "tests/wire/formats/neutral_samples.h"
#include "tests/wire/formats/vendor_reader.h"

#include <QtTest>

using namespace cortexfs;
using namespace cortexfs::test;
using models::Conversation;

namespace {

const char *const kFormats[] = {"openai.chat", "openai.responses", "anthropic.messages"};

// Models that take everything, so that nothing has to be left out.
std::string modelFor(const std::string &format) { return format == "anthropic.messages" ? "claude-opus-5" : "gpt-5.6"; }

std::string joined(const std::vector<std::string> &lines)
{
    std::string out;
    for (const std::string &line : lines)
        out += line + "\n";
    return out;
}

} // namespace

class NeutralConversationTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void isTheSameInEveryFormat_data();
    void isTheSameInEveryFormat();
    void givesTheSameEventsForTheSameReply();
    void theReadersFindFaults();
};

void NeutralConversationTest::isTheSameInEveryFormat_data()
{
    QTest::addColumn<QByteArray>("expected");
    QTest::newRow("one question") << QByteArray("user Hello\nstream true\n");
    QTest::newRow("a loop of tools") << QByteArray(
        "system Be brief.\nuser Read both.\nassistant I'll look.\n"
        "call #1 fs.read {\"z\":\"one\",\"a\":1}\ncall #2 fs_read {}\n"
        "result #1 first\nresult #2 no such file\n"
        "call #3 werkzeug.für.alles {\"q\":\"\\\"ü\\\" \xe2\x80\xa8 \\\\ 🎉\",\"n\":[1.5,-0.0,1000.0]}\n"
        "result #3 {\"hits\":2}\nuser And now?\nassistant Two hits.\n"
        "user Thanks.\nBye. \xe2\x80\xa8 \xf0\x9f\x8e\x89\n");
    QTest::newRow("images") << QByteArray("user What are these?\nimage data:image/png;base64,iVBORw0KGgo=\n"
                                          "image https://example.org/cat.jpg\nuser Answer in one word.\n");
    QTest::newRow("ids of another provider")
        << QByteArray("call #4 fs.read {}\nresult #3 3\nresult #1 1\nresult #2 2\nresult #4 4\n");
    QTest::newRow("the fixtures' conversation") << QByteArray(
        "call #1 lookup {\"q\":\"cat\"}\ncall #2 now {}\nresult #1 {\"hits\":2}\nresult #2 clock not available\n"
        "user Answer as JSON.\n");
}

void NeutralConversationTest::isTheSameInEveryFormat()
{
    QFETCH(QByteArray, expected);
    const std::string row = QTest::currentDataTag();
    Conversation conversation = row == "one question"              ? asked("Hello")
                                : row == "a loop of tools"         ? threeSteps()
                                : row == "images"                  ? withImages()
                                : row == "ids of another provider" ? withForeignIds()
                                                                   : canonicalConversation();
    if (row != "one question")
        conversation.maxTokens = 2000;
    std::string first;
    for (const char *format : kFormats) {
        const auto request = wire::findByFormat(format)->encode(conversation, {.nativeModel = modelFor(format)});
        QVERIFY2(request, request ? "" : request.error().text().c_str());
        std::vector<std::string> lines = readBack(format, *request);
        if (row == "one question") // the one format that has to say a limit
            lines.erase(std::remove(lines.begin(), lines.end(), "max 32000"), lines.end());
        std::string text = joined(lines);
        QVERIFY2(text.find("!") == std::string::npos, text.c_str());
        QVERIFY2(text.find(expected.toStdString()) != std::string::npos, (std::string(format) + "\n" + text).c_str());
        if (first.empty())
            first = text;
        QCOMPARE(text, first);
    }
}

void NeutralConversationTest::givesTheSameEventsForTheSameReply()
{
    std::string first;
    for (const char *format : kFormats) {
        Reply reply;
        reply.format = format;
        reply.body = textAndCall(format);
        reply.toolNames = {{"fs_read", "fs.read"}};
        const std::string whole = decode(reply).text();
        QVERIFY2(whole.find(kCallInEvents) != std::string::npos, whole.c_str());
        QVERIFY2(whole.find("input_tokens\":30") != std::string::npos, whole.c_str());
        QCOMPARE(decodeInPieces(reply, 1).text(), whole);
        if (first.empty())
            first = whole;
        QCOMPARE(whole, first);
    }
}

void NeutralConversationTest::theReadersFindFaults()
{
    QVERIFY(joined(readBack("anthropic.messages", faultyRequest("anthropic.messages"))).find("!a blank text block")
            != std::string::npos);
    const std::string lines = joined(readBack("openai.responses", faultyRequest("openai.responses")));
    QVERIFY(lines.find("!keeps state") != std::string::npos);
    QVERIFY(lines.find("!bad function name") != std::string::npos);
    QVERIFY(lines.find("!a call without a result") != std::string::npos);
}

QTEST_GUILESS_MAIN(NeutralConversationTest)
#include "neutral_conversation_test.moc"
