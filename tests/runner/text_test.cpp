// The runner's pure parts: the little JSON, frames out, frames in, the sequence on standard output.
#include "app/runner/errno_table.h"
#include "app/runner/frame_text.h"
#include "app/runner/input.h"
#include "app/runner/reply.h"
#include "app/runner/request.h"
#include "app/runner/sequence.h"
#include "common/base/error.h"
#include "common/base/limits.h"
#include "common/json/json.h"

#include <QTest>

#include <random>

using namespace cortexfs;
using namespace cortexfs::runner;

namespace {

Text asText(std::string_view view) { return {view.data(), view.size()}; }
std::string asString(Text text) { return text.data ? std::string(text.data, text.size) : std::string("(none)"); }
std::string asString(const Buffer &buffer) { return {buffer.data() ? buffer.data() : "", buffer.size()}; }

// Every text as JSON, and back.
std::string asJson(std::string_view text)
{
    Buffer out;
    appendQuoted(out, asText(text));
    return asString(out);
}

std::string fromJson(std::string_view json)
{
    Buffer out;
    return appendUnquoted(out, asText(json)) ? asString(out) : std::string("(no string)");
}

const char *const kKindNames[] = {"event", "result", "error", "foreign"};

} // namespace

class RunnerTextTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void exitCodesAreThoseOfTheCommonTable()
    {
        // Every errno there is, so that a name added to one table is missed in the other.
        int names = 0;
        for (int number = 1; number < 200; ++number) {
            const std::string name(errnoName(number));
            if (errnoFromName(name) != number)
                continue; // has no stable name
            ++names;
            QCOMPARE(exitCodeForName(textOf(name.c_str())), exitCodeFor(number));
        }
        QVERIFY(names > 30);
        std::size_t count = 0;
        const ErrnoExit *table = errnoTable(count);
        for (std::size_t i = 0; i < count; ++i)
            QVERIFY2(errnoFromName(table[i].name) != 0, table[i].name);
        QCOMPARE(exitCodeForName(textOf("ESOMETHING")), cortexfs::kExitGeneral);
        QCOMPARE(cortexfs::runner::kExitUsage, cortexfs::kExitUsage);
        QCOMPARE(cortexfs::runner::kExitUnavailable, cortexfs::kExitUnavailable);
        QCOMPARE(cortexfs::runner::kExitInternal, cortexfs::kExitInternal);
        QCOMPARE(Input::kMost, limits::kStdin);
    }

    void textsSurviveQuotingAndUnquoting_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::newRow("nothing") << QByteArray();
        QTest::newRow("plain words") << QByteArray("hello world");
        QTest::newRow("quotes and backslashes") << QByteArray("\"a\\b\" \\\\ \"");
        QTest::newRow("a NUL byte") << QByteArray("a\0b", 3);
        QByteArray controls;
        for (char c = 1; c < 0x20; ++c)
            controls.append(c);
        QTest::newRow("every control character") << controls + QByteArray("\x7f");
        QTest::newRow("characters of two, three and four bytes")
            << QByteArray("\xc3\xa9 \xe4\xbd\xa0 \xf0\x9f\x98\x80");
    }
    void textsSurviveQuotingAndUnquoting()
    {
        QFETCH(QByteArray, text);
        const std::string plain = text.toStdString();
        const std::string json = asJson(plain);
        QCOMPARE(fromJson(json), plain);
        const Result<json::Document> parsed = json::parse("[" + json + "]");
        QVERIFY2(parsed.isOk(), json.c_str());
        QCOMPARE(std::string(parsed->root().at(0).stringOr("?")), plain);
    }

    void escapesOfOthersAreRead_data()
    {
        QTest::addColumn<QByteArray>("json");
        QTest::addColumn<QByteArray>("text");
        const auto row = [](const char *name, const char *json, QByteArray text) {
            QTest::newRow(name) << QByteArray(json) << text;
        };
        row("the short escapes", "\"\\b\\f\\n\\r\\t\\\"\\\\\\/\"", "\b\f\n\r\t\"\\/");
        row("a unit of two bytes", R"("\u00e9")", "\xc3\xa9");
        row("upper case digits", R"("\u4F60")", "\xe4\xbd\xa0");
        row("a pair of surrogates", R"("\ud83d\ude00")", "\xf0\x9f\x98\x80");
        row("a lone surrogate becomes the replacement character", R"("\ud83dx")", "\xef\xbf\xbdx");
        row("a broken unit gives its letters", R"("\u12")", "u12");
        row("no string", "12", "(no string)");
        row("an open string", "\"abc", "(no string)");
        row("a single quote character", "\"", "(no string)");
        row("an escape that the end cuts", R"("abc\")", "abc");
    }
    void escapesOfOthersAreRead()
    {
        QFETCH(QByteArray, json);
        QFETCH(QByteArray, text);
        QCOMPARE(fromJson(json.toStdString()), text.toStdString());
    }

    void wholeCharactersAreCounted_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<int>("whole");
        QTest::addColumn<bool>("isBroken");
        const auto row = [](const char *name, QByteArray text, int whole, bool isBroken) {
            QTest::newRow(name) << text << whole << isBroken;
        };
        row("nothing", "", 0, false);
        row("words", "abc", 3, false);
        row("a cut character of two bytes", "ab\xc3", 2, false);
        row("a cut character of four bytes", "\xf0\x9f\x98", 0, false);
        row("a lone continuation byte", "a\x80", 1, true);
        row("an overlong form", "\xc0\xaf", 0, true);
        row("an overlong form of three bytes", "\xe0\x80\xaf", 0, true);
        row("a surrogate", "\xed\xa0\x80", 0, true);
        row("past the last character", "\xf4\x90\x80\x80", 0, true);
        row("a byte that is never used", "\xff", 0, true);
        row("a sequence that another character ends",
            "\xe4\xbd"
            "a",
            0, true);
    }
    void wholeCharactersAreCounted()
    {
        QFETCH(QByteArray, text);
        QFETCH(int, whole);
        QFETCH(bool, isBroken);
        bool broken = !isBroken;
        QCOMPARE(int(wholeUtf8(asText(text.toStdString()), broken)), whole);
        QCOMPARE(broken, isBroken);
    }

    void membersAreFound_data()
    {
        QTest::addColumn<QByteArray>("frame");
        QTest::addColumn<QByteArray>("value");
        const auto row = [](const char *name, const char *frame, const char *value) {
            QTest::newRow(name) << QByteArray(frame) << QByteArray(value);
        };
        row("a string keeps its quotes", R"({"key":"a"})", "\"a\"");
        row("a number", R"({"other":1,"key":42})", "42");
        row("behind nested values", "{\"a\":{\"key\":1},\"b\":[{\"key\":2},\"]}\"],\"key\":3}", "3");
        row("behind a text that looks like a member", "{\"a\":\"\\\"key\\\":1,\",\"key\":2}", "2");
        row("with blanks", R"( { "a" : 1 , "key" : 2 } )", "2 ");
        row("not there", R"({"a":1})", "(none)");
        row("no object", R"(["key"])", "(none)");
        row("cut in the value", "{\"key\":\"a", "\"a");
        row("cut behind the name", R"({"key")", "(none)");
        row("nothing", "", "(none)");
    }
    void membersAreFound()
    {
        QFETCH(QByteArray, frame);
        QFETCH(QByteArray, value);
        QCOMPARE(asString(memberOf(asText(frame.toStdString()), "key")), value.toStdString());
    }

    void repliesAreToldApart_data()
    {
        QTest::addColumn<QByteArray>("line");
        QTest::addColumn<QByteArray>("kind");
        const auto row = [](const char *name, const char *line, const char *kind) {
            QTest::newRow(name) << QByteArray(line) << QByteArray(kind);
        };
        row("an event", R"({"id":"1","type":"delta","run":"r1","text":"x"})", "event");
        row("an event of a kind that is not known yet", R"({"id":"1","type":"weather"})", "event");
        row("an error of the run", R"({"id":"1","type":"error","run":"r1","code":"EIO","message":"m"})", "event");
        row("the result", R"({"id":"1","type":"result","exit":0})", "result");
        row("a refusal", R"({"id":"1","type":"error","code":"EINVAL","message":"m"})", "error");
        row("a refusal of a frame that was not read", R"({"id":null,"type":"error","code":"EINVAL"})", "error");
        row("another request's", R"({"id":"2","type":"result","exit":0})", "foreign");
        row("noise", "noise", "foreign");
        row("an empty line", "", "foreign");
    }
    void repliesAreToldApart()
    {
        QFETCH(QByteArray, line);
        QFETCH(QByteArray, kind);
        const std::string text = line.toStdString();
        QCOMPARE(QByteArray(kKindNames[int(replyOf(asText(text)).kind)]), kind);
    }

    void requestsAreOneLineOfJson()
    {
        std::string words[] = {"say \"hi\"", "", "\xe4\xbd\xa0"};
        char *argv[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
        ExecRequest request;
        request.object = textOf("model/debug/echo");
        request.directory = textOf("/home/a \"b\"");
        request.words = argv;
        Buffer out;
        appendExec(out, request);
        const std::string withWords = R"({"op":"exec","id":"1","object":"model/debug/echo","argv":["say \"hi\"","",")"
                                      "\xe4\xbd\xa0"
                                      "\"],\"stdin\":null,\"cwd\":\"/home/a \\\"b\\\"\",\"tty\":false}"
                                      "\n";
        QCOMPARE(asString(out), withWords);
        out.clear();
        const Text input = {"a\0\n", 3};
        request.words = nullptr;
        request.input = &input;
        request.hasMoreInput = true;
        appendExec(out, request);
        appendInput(out, textOf("b"), false);
        appendInput(out, {}, true);
        appendCancel(out);
        const std::string withInput =
            R"({"op":"exec","id":"1","object":"model/debug/echo","argv":[],"stdin":"a\u0000\u000a",)"
            "\"stdin_open\":true,\"cwd\":\"/home/a \\\"b\\\"\",\"tty\":false}"
            "\n"
            R"({"op":"stdin","id":"1","data":"b","eof":false})"
            "\n"
            R"({"op":"stdin","id":"1","data":"","eof":true})"
            "\n"
            R"({"op":"cancel","id":"1"})"
            "\n";
        QCOMPARE(asString(out), withInput);
    }

    void sequencesAreEndedWhereTheyStand_data()
    {
        QTest::addColumn<QByteArray>("events");
        QTest::addColumn<QByteArray>("text");
        const QByteArray start(R"({"type":"start","run":"r7","model":"debug/echo"})"
                               "\n");
        const QByteArray done(R"({"type":"done","run":"r7","status":"ok"})"
                              "\n");
        QTest::newRow("before any event")
            << QByteArray()
            << QByteArray(R"({"type":"start","run":"r0","model":"debug/echo"})"
                          "\n"
                          R"({"type":"error","run":"r0","code":"ECONNRESET","message":"gone"})"
                          "\n"
                          R"({"type":"done","run":"r0","status":"error"})"
                          "\n");
        QTest::newRow("in the middle") << start
                                       << start
                                              + QByteArray(
                                                  R"({"type":"error","run":"r7","code":"ECONNRESET","message":"gone"})"
                                                  "\n"
                                                  R"({"type":"done","run":"r7","status":"error"})"
                                                  "\n");
        QTest::newRow("behind done nothing is written") << start + done << start + done;
    }
    void sequencesAreEndedWhereTheyStand()
    {
        QFETCH(QByteArray, events);
        QFETCH(QByteArray, text);
        Sequence sequence;
        sequence.setObject(textOf("model/debug/echo"));
        Buffer out;
        for (const QByteArray &event : events.split('\n')) {
            if (!event.isEmpty())
                sequence.take({event.constData() + 1, std::size_t(event.size()) - 1}, out);
        }
        sequence.fail("ECONNRESET", textOf("gone"), out);
        sequence.fail("EIO", textOf("twice"), out);
        QCOMPARE(asString(out), text.toStdString());
        QVERIFY(!sequence.isOpen());
    }

    void messagesCannotDriveATerminal()
    {
        Buffer out;
        appendPrintable(out, textOf("a\x1b[31m\nb \xc2\x9b"
                                    "c \xc3\xa9"));
        QCOMPARE(asString(out), std::string("a\\x1b[31m\\x0ab \\xc2\\x9b"
                                            "c \xc3\xa9"));
    }

    // Whatever the bytes, nothing is read outside of them: the sanitizers watch, and the results stay inside.
    void anyBytesAreSafeToRead()
    {
        std::mt19937 random(7);
        const std::string seeds[] = {
            R"({"id":"1","type":"error","run":"r","code":"EIO","message":"\ud83d\ude00\n"})",
            R"({"id":"1","type":"result","exit":69,"diagnostic":"\u00e9"})",
            "{\"id\":\"1\",\"type\":\"start\",\"run\":\"r\\\"\\\\1\",\"a\":[{\"b\":[1,2,\"]\"]}]}"};
        const char alphabet[] = "{}[]\",:\\u0d8\x80\xe4\xff n";
        for (int round = 0; round < 30000; ++round) {
            std::string bytes = seeds[std::size_t(round) % std::size(seeds)];
            for (unsigned change = random() % 6; change > 0; --change)
                bytes[random() % bytes.size()] = alphabet[random() % (sizeof alphabet - 1)];
            bytes.resize(random() % (bytes.size() + 1));
            // A heap block of exactly this size, so that one byte too far is seen.
            std::vector<char> block(bytes.begin(), bytes.end());
            const Text text = {block.data(), block.size()};
            const Reply reply = replyOf(text);
            Buffer out;
            Sequence sequence;
            if (reply.kind == Reply::Kind::Event)
                sequence.take(reply.body, out);
            for (const char *key : {"id", "type", "run", "code", "message", "exit", "diagnostic"}) {
                const Text member = memberOf(text, key);
                QVERIFY(!member.data
                        || (member.data >= text.data && member.data + member.size <= text.data + text.size));
                Buffer value;
                appendUnquoted(value, member);
                appendPrintable(value, member);
                const int number = numberOf(member, -1);
                QVERIFY(number >= -1);
            }
            bool isBroken = false;
            QVERIFY(wholeUtf8(text, isBroken) <= text.size);
        }
    }
};

QTEST_GUILESS_MAIN(RunnerTextTest)
#include "text_test.moc"
