// exec over the control socket: exact frames, input in pieces, limits, cancel, back-pressure.
#include "common/base/limits.h"
#include "tests/common/test_strings.h"
#include "tests/control/control_fixture.h"

#include <QTest>

using namespace cortexfs;
using namespace cortexfs::test;

namespace {

// The frames of a run that says `text` in one piece; everything as protocol.h has it.
std::string said(const std::string &id, const std::string &model, const std::string &text)
{
    const std::string head = "{\"id\":" + id + ",\"type\":";
    return head + "\"start\",\"run\":\"R\",\"model\":\"" + model + "\"}\n" + head
           + "\"delta\",\"run\":\"R\",\"text\":\"" + text + "\",\"offset\":0}\n" + head
           + "\"message\",\"run\":\"R\",\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"" + text
           + "\"}],\"model\":\"" + model + "\"}\n" + head
           + "\"usage\",\"run\":\"R\",\"input_tokens\":N,\"output_tokens\":N}\n" + head
           + "\"done\",\"run\":\"R\",\"status\":\"ok\",\"reason\":\"stop\",\"model\":\"" + model + "\"}\n" + head
           + "\"result\",\"exit\":0}\n";
}

// The frames of an execution that never became a run.
std::string failed(const std::string &model, const std::string &code, int exit, const std::string &message)
{
    return "{\"id\":\"1\",\"type\":\"start\",\"run\":\"R\",\"model\":\"" + model + "\"}\n"
           + "{\"id\":\"1\",\"type\":\"error\",\"run\":\"R\",\"code\":\"" + code + "\",\"message\":\"" + message
           + "\"}\n" + "{\"id\":\"1\",\"type\":\"done\",\"run\":\"R\",\"status\":\"error\"}\n"
           + "{\"id\":\"1\",\"type\":\"result\",\"exit\":" + std::to_string(exit) + ",\"diagnostic\":\"" + message
           + "\"}\n";
}

std::string exec(const std::string &members) { return "{\"op\":\"exec\",\"id\":\"1\"," + members + "}\n"; }

std::string script(const std::string &text, const std::string &id = "1")
{
    return "{\"op\":\"exec\",\"id\":\"" + id + "\",\"object\":\"model/debug/script\",\"argv\":[\"" + text + "\"]}\n";
}

bool hasExit(const std::string &frames, int exit)
{
    return frames.find("\"type\":\"result\",\"exit\":" + std::to_string(exit)) != std::string::npos;
}

} // namespace

class ExecTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void frames_data();
    void frames();
    void refused_data();
    void refused();
    void exitCodes_data();
    void exitCodes();
    void aFailureThatWasRecoveredIsNoExitCode();
    void inputInPieces_data();
    void inputInPieces();
    void inputForNobodyIsIgnored();
    void sixteenMebibytes_data();
    void sixteenMebibytes();
    void wrongTypesInAStdinFrame_data();
    void wrongTypesInAStdinFrame();
    void cancelBeforeTheInputEnds();
    void cancelARun();
    void cancelNothing();
    void aDuplicateIdLeavesTheFirstAlone();
    void anIdMayBeUsedAgainAfterwards();
    void twoHundredFiftySixAtOnce();
    void manyAtOnceEndEachOnce();
    void aLongNameIsNotRepeatedInFull();
    void anEventThatFitsNoFrameEndsTheRun();
    void aReaderThatStopsPausesTheRun();
    void aClientThatGoesCancelsItsRuns_data();
    void aClientThatGoesCancelsItsRuns();
    void aHalfClosedClientGetsEverything();
};

void ExecTest::frames_data()
{
    QTest::addColumn<std::string>("request");
    QTest::addColumn<std::string>("expected");
    const auto row = [](const char *title, std::string request, std::string expected) {
        QTest::newRow(title) << std::move(request) << std::move(expected);
    };
    const std::string echo = R"("object":"model/debug/echo",)";
    row("a word", exec(echo + R"("argv":["hello"])"), said("\"1\"", "debug/echo", "hello"));
    row("words are joined by one blank", exec(echo + R"("argv":["a","b c","d"])"),
        said("\"1\"", "debug/echo", "a b c d"));
    row("empty words count", exec(echo + R"("argv":["","a","","b"])"), said("\"1\"", "debug/echo", " a  b"));
    row("stdin", exec(echo + R"("argv":[],"stdin":"hello\n","cwd":"/","tty":false)"),
        said("\"1\"", "debug/echo", "hello"));
    row("stdin without argv", exec(echo + R"("stdin":"hi")"), said("\"1\"", "debug/echo", "hi"));
    row("null where there is nothing", exec(echo + R"("argv":["x"],"stdin":null,"cwd":null)"),
        said("\"1\"", "debug/echo", "x"));
    row("argv wins over stdin", exec(echo + R"("argv":["a"],"stdin":"b")"), said("\"1\"", "debug/echo", "a"));
    row("argv wins over stdin that is still open", exec(echo + R"("argv":["a"],"stdin":null,"stdin_open":true)"),
        said("\"1\"", "debug/echo", "a"));
    row("argv on a terminal", exec(echo + R"("argv":["a"],"tty":true)"), said("\"1\"", "debug/echo", "a"));
    row("a conversation", exec(echo + R"("stdin":"{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}")"),
        said("\"1\"", "debug/echo", "hi"));
    row("what needs escapes", exec(echo + R"("argv":["\u0001\"\\\u00e9\ud83d\ude00"])"),
        said("\"1\"", "debug/echo", "\\u0001\\\"\\\\\xc3\xa9\xf0\x9f\x98\x80"));
    row("an absolute name", exec(R"("object":"/model/debug/echo","argv":["a"])"), said("\"1\"", "debug/echo", "a"));
    row("an alias", exec(R"("object":"model/main","argv":["a"])"), said("\"1\"", "debug/echo", "a"));
    row("a script", script("say hi"), said("\"1\"", "debug/script", "hi"));
    row("an id with escapes",
        R"({"op":"exec","id":"a\"\n\u00e9","object":"model/debug/echo","argv":["x"]})"
        "\n",
        said("\"a\\\"\\n\xc3\xa9\"", "debug/echo", "x"));
    row("an id that is a number",
        R"({"op":"exec","id":7,"object":"model/debug/echo","argv":["x"]})"
        "\n",
        said("7", "debug/echo", "x"));
    row("unknown fields are ignored", exec(echo + R"("argv":["x"],"colour":{"a":[1]})"),
        said("\"1\"", "debug/echo", "x"));
    row("keys in another order",
        R"({"argv":["x"],"object":"model/debug/echo","id":"1","op":"exec"})"
        "\n",
        said("\"1\"", "debug/echo", "x"));

    row("no such model", exec(R"("object":"model/debug/none","argv":["x"])"),
        failed("debug/none", "ENOENT", 1, "no such object: model/debug/none"));
    row("no such provider", exec(R"("object":"model/none/none","argv":["x"])"),
        failed("none/none", "ENOENT", 1, "no such object: model/none/none"));
    row("another class", exec(R"("object":"tool/fs.read","argv":["x"])"),
        failed("tool/fs.read", "ENOENT", 1, "no such object: tool/fs.read"));
    row("the class alone", exec(R"("object":"model/","argv":["x"])"),
        failed("", "ENOENT", 1, "no such object: model/"));
    row("no name", exec(R"("object":"","argv":["x"])"), failed("", "ENOENT", 1, "no such object: "));
    row("a name with a line feed", exec(R"("object":"model/a\nb","argv":["x"])"),
        failed("a\\nb", "ENOENT", 1, "no such object: model/a\\\\nb"));
    row("parent directories", exec(R"("object":"model/../../etc","argv":["x"])"),
        failed("../../etc", "ENOENT", 1, "no such object: model/../../etc"));
    row("usage on a terminal", exec(echo + R"("argv":[],"stdin":null,"tty":true)"),
        "{\"id\":\"1\",\"type\":\"result\",\"exit\":2,\"usage\":\"usage: model/debug/echo TEXT...   or   ... | "
        "model/debug/echo\\nstdin may also be a JSON object with \\\"messages\\\".\"}\n");
}

void ExecTest::frames()
{
    QFETCH(std::string, request);
    QFETCH(std::string, expected);
    ControlFixture fixture;
    QVERIFY(fixture.start());
    RawClient client = fixture.client();
    QCOMPARE(normalised(askUntilResult(client, request)), expected);
    QCOMPARE(fixture.server->liveExecutions(), 0);
    QCOMPARE(fixture.server->totalExecutions(), std::uint64_t(1));
    QCOMPARE(fixture.server->totalRuns(), std::uint64_t(hasExit(expected, 0) ? 1 : 0));
    QVERIFY(!client.isAtEnd()); // the connection stays
}

void ExecTest::refused_data()
{
    QTest::addColumn<std::string>("members");
    QTest::addColumn<std::string>("field");
    const auto row = [](const char *members, const char *field) {
        QTest::newRow(members) << std::string(members) << std::string(field);
    };
    row(R"("argv":["x"])", "object");
    row(R"("object":7,"argv":["x"])", "object");
    row(R"("object":null)", "object");
    row(R"("object":"model/debug/echo","argv":["x",1])", "argv");
    row(R"("object":"model/debug/echo","argv":[null])", "argv");
    row(R"("object":"model/debug/echo","argv":[["x"]])", "argv");
    row(R"("object":"model/debug/echo","argv":"x")", "argv");
    row(R"("object":"model/debug/echo","argv":{"0":"x"})", "argv");
    row(R"("object":"model/debug/echo","stdin":5)", "stdin");
    row(R"("object":"model/debug/echo","stdin":["x"])", "stdin");
    row(R"("object":"model/debug/echo","stdin":"x","stdin_open":1)", "stdin_open");
    row(R"("object":"model/debug/echo","argv":["x"],"tty":"no")", "tty");
    row(R"("object":"model/debug/echo","argv":["x"],"cwd":1)", "cwd");
}

void ExecTest::refused()
{
    QFETCH(std::string, members);
    QFETCH(std::string, field);
    ControlFixture fixture;
    QVERIFY(fixture.start());
    RawClient client = fixture.client();
    const std::string reply = ask(client, exec(members));
    QVERIFY2(reply.starts_with("{\"id\":\"1\",\"type\":\"error\",\"code\":\"EINVAL\",\"message\":\"" + field + ": "),
             reply.c_str());
    QCOMPARE(countOf(reply, "\n"), std::size_t(1));
    QCOMPARE(fixture.server->liveExecutions(), 0);
    QVERIFY(hasExit(askUntilResult(client, script("say still here")), 0));
}

void ExecTest::exitCodes_data()
{
    QTest::addColumn<std::string>("code");
    QTest::addColumn<int>("exit");
    const auto row = [](const char *code, int exit) { QTest::newRow(code) << std::string(code) << exit; };
    row("EINVAL", 2);
    row("EMSGSIZE", 2);
    row("EACCES", 13);
    row("EPERM", 13);
    row("ENOENT", 1);
    row("ENOKEY", 69);
    row("EDQUOT", 69);
    row("EIO", 70);
    row("EBADMSG", 70);
    row("ENOTSUP", 2);
}

void ExecTest::exitCodes()
{
    QFETCH(std::string, code);
    QFETCH(int, exit);
    ControlFixture fixture;
    QVERIFY(fixture.start());
    RawClient client = fixture.client();
    const std::string frames = askUntilResult(client, script("say partial\\nfail " + code));
    QVERIFY2(hasExit(frames, exit), frames.c_str());
    QVERIFY(frames.find("\"diagnostic\":\"") != std::string::npos);
    QVERIFY(frames.find("\"code\":\"" + code + "\"") != std::string::npos);
    QCOMPARE(countOf(frames, "\"type\":\"error\""), std::size_t(1));
    QCOMPARE(countOf(frames, "\"type\":\"done\""), std::size_t(1));
    QVERIFY(frames.find("\"status\":\"error\"") != std::string::npos);
    QCOMPARE(countOf(frames, "\"type\":\"message\""), std::size_t(0));
}

void ExecTest::aFailureThatWasRecoveredIsNoExitCode()
{
    ControlFixture fixture;
    fixture.provider("far.json", R"({"name":"far","base_url":"https://h.example/v1","models":["m"]})"); // has no key
    QVERIFY(fixture.start());
    TreeChange change;
    change.kind = TreeChange::Kind::WriteControl;
    change.path = "model/far/m.d/fallback";
    change.content = "debug/echo\n";
    change.uid = ::geteuid();
    std::optional<bool> written;
    fixture.runtime->postTreeChange(change, [&](const Result<void> &outcome) { written = outcome.isOk(); });
    QVERIFY(turnUntil([&] { return written.has_value(); }));
    QVERIFY(*written);
    RawClient client = fixture.client();
    const std::string frames = askUntilResult(client, exec(R"("object":"model/far/m","argv":["hi"])"));
    QVERIFY2(hasExit(frames, 0), frames.c_str());
    QVERIFY(frames.find("\"code\":\"ENOKEY\"") != std::string::npos);
    QVERIFY(frames.find("\"recoverable\":true,\"model\":\"far/m\"") != std::string::npos);
    QVERIFY(frames.find("\"diagnostic\"") == std::string::npos);
    QVERIFY(frames.find("\"status\":\"ok\",\"reason\":\"stop\",\"model\":\"debug/echo\"") != std::string::npos);
}

void ExecTest::inputInPieces_data()
{
    QTest::addColumn<std::string>("first"); // stdin of the exec frame, as JSON
    QTest::addColumn<std::vector<std::string>>("frames");
    QTest::addColumn<std::string>("text");
    using List = std::vector<std::string>;
    const auto row = [](const char *title, const char *first, List frames, const char *text) {
        QTest::newRow(title) << std::string(first) << std::move(frames) << std::string(text);
    };
    row("the end alone", R"("hello")", {R"("eof":true)"}, "hello");
    row("the last piece with the end", R"("a")", {R"("data":"b")", R"("data":"c","eof":true)"}, "abc");
    row("the first frame without any", "null", {R"("data":"hi","eof":true)"}, "hi");
    row("empty pieces", R"("")", {R"("data":"")", R"("data":"x","eof":false)", R"("data":"","eof":true)"}, "x");
    row("a null for no data", R"("x")", {R"("data":null,"eof":true)"}, "x");
    row("more after the end is ignored", R"("x")", {R"("eof":true)", R"("data":"y","eof":true)"}, "x");
}

void ExecTest::inputInPieces()
{
    QFETCH(std::string, first);
    QFETCH(std::vector<std::string>, frames);
    QFETCH(std::string, text);
    ControlFixture fixture;
    QVERIFY(fixture.start());
    RawClient client = fixture.client();
    std::string bytes = exec(R"("object":"model/debug/echo","argv":[],"stdin_open":true,"stdin":)" + first);
    for (const std::string &frame : frames)
        bytes += R"({"op":"stdin","id":"1",)" + frame + "}\n";
    QCOMPARE(normalised(askUntilResult(client, bytes)), said("\"1\"", "debug/echo", text));
}

void ExecTest::inputForNobodyIsIgnored()
{
    ControlFixture fixture;
    QVERIFY(fixture.start());
    RawClient client = fixture.client();
    const std::string stray = "{\"op\":\"stdin\",\"id\":\"9\",\"data\":\"x\",\"eof\":true}\n";
    QCOMPARE(normalised(askUntilResult(client, stray + script("say hi"))), said("\"1\"", "debug/script", "hi"));
}

void ExecTest::sixteenMebibytes_data()
{
    QTest::addColumn<int>("extra");
    QTest::newRow("exactly 16 MiB is taken") << 0;
    QTest::newRow("one byte more is not") << 1;
}

void ExecTest::sixteenMebibytes()
{
    QFETCH(int, extra);
    ControlFixture fixture;
    QVERIFY(fixture.start());
    RawClient client = fixture.client();
    const std::string tail = "\\nend"; // in JSON
    const std::size_t whole = limits::kStdin - std::string("\nend").size();
    std::string bytes = exec(R"("object":"model/debug/echo","argv":[],"stdin":"","stdin_open":true)");
    for (std::size_t given = 0; given < whole;) {
        const std::size_t size = std::min<std::size_t>(whole - given, 500'000);
        bytes += R"({"op":"stdin","id":"1","data":")" + std::string(size, 'x') + "\"}\n";
        given += size;
    }
    bytes += R"({"op":"stdin","id":"1","data":")" + tail + std::string(static_cast<std::size_t>(extra), 'x')
             + "\",\"eof\":true}\n";
    const std::string frames = askUntilResult(client, bytes);
    QVERIFY2(hasExit(frames, 2), frames.substr(0, 500).c_str());
    // 16 MiB of text that is said fail by the limit of a message, one byte more by that of the input.
    QCOMPARE(frames.find("the input has more than 16 MiB") != std::string::npos, extra > 0);
    QVERIFY(frames.find("\"code\":\"EMSGSIZE\"") != std::string::npos);
    QCOMPARE(countOf(frames, "\"type\":\"start\""), std::size_t(1));
    QCOMPARE(countOf(frames, "\"type\":\"done\""), std::size_t(1));
    QVERIFY(hasExit(askUntilResult(client, script("say still here")), 0));
}

void ExecTest::wrongTypesInAStdinFrame_data()
{
    QTest::addColumn<std::string>("members");
    QTest::newRow("data that is a number") << std::string(R"("data":5)");
    QTest::newRow("data that is a list") << std::string(R"("data":["x"],"eof":true)");
    QTest::newRow("eof that is a string") << std::string(R"("data":"x","eof":"true")");
}

void ExecTest::wrongTypesInAStdinFrame()
{
    QFETCH(std::string, members);
    ControlFixture fixture;
    QVERIFY(fixture.start());
    RawClient client = fixture.client();
    const std::string frames = normalised(
        askUntilResult(client, exec(R"("object":"model/debug/echo","stdin":"a","stdin_open":true)")
                                   + R"({"op":"stdin","id":"1",)" + members + "}\n"));
    QVERIFY2(hasExit(frames, 2), frames.c_str());
    QVERIFY(frames.find("\"code\":\"EINVAL\"") != std::string::npos);
    QCOMPARE(countOf(frames, "\n"), std::size_t(4)); // start error done result
    QCOMPARE(fixture.server->liveExecutions(), 0);
}

void ExecTest::cancelBeforeTheInputEnds()
{
    ControlFixture fixture;
    QVERIFY(fixture.start());
    RawClient client = fixture.client();
    const std::string frames = askUntilResult(client,
                                              exec(R"("object":"model/debug/echo","stdin":"a","stdin_open":true)")
                                                  + "{\"op\":\"cancel\",\"id\":\"1\"}\n");
    const std::string expected = "{\"id\":\"1\",\"type\":\"start\",\"run\":\"R\",\"model\":\"debug/echo\"}\n"
                                 "{\"id\":\"1\",\"type\":\"done\",\"run\":\"R\",\"status\":\"cancelled\"}\n"
                                 "{\"id\":\"1\",\"type\":\"result\",\"exit\":130}\n";
    QCOMPARE(normalised(frames), expected);
}

void ExecTest::cancelARun()
{
    ControlFixture fixture;
    QVERIFY(fixture.start());
    RawClient client = fixture.client();
    QVERIFY(client.send(script("say first\\nwait 60000\\nsay never")));
    QVERIFY(turnUntil([&] { return client.received().find("first") != std::string::npos; }));
    QVERIFY(client.send("{\"op\":\"cancel\",\"id\":\"1\"}\n{\"op\":\"cancel\",\"id\":\"1\"}\n"));
    QVERIFY(turnUntil([&] { return hasExit(client.received(), 130); }));
    const std::string frames = client.take();
    QCOMPARE(countOf(frames, "\"type\":\"done\""), std::size_t(1));
    QVERIFY(frames.find("\"status\":\"cancelled\"") != std::string::npos);
    QVERIFY(frames.find("never") == std::string::npos);
    QCOMPARE(countOf(frames, "\"type\":\"result\""), std::size_t(1));
    QCOMPARE(fixture.server->liveExecutions(), 0);
}

void ExecTest::cancelNothing()
{
    ControlFixture fixture;
    QVERIFY(fixture.start());
    RawClient client = fixture.client();
    const std::string reply = ask(client, "{\"op\":\"cancel\",\"id\":\"1\"}\n");
    QVERIFY2(reply.starts_with("{\"id\":\"1\",\"type\":\"error\",\"code\":\"ENOENT\""), reply.c_str());
    // Another connection's execution is nobody else's to cancel.
    RawClient other = fixture.client();
    QVERIFY(other.send(script("wait 60000")));
    QVERIFY(turnUntil([&] { return other.received().find("start") != std::string::npos; }));
    QVERIFY(ask(client, "{\"op\":\"cancel\",\"id\":\"1\"}\n").find("ENOENT") != std::string::npos);
    QCOMPARE(fixture.server->liveExecutions(), 1);
}

void ExecTest::aDuplicateIdLeavesTheFirstAlone()
{
    ControlFixture fixture;
    QVERIFY(fixture.start());
    RawClient client = fixture.client();
    const std::string open = exec(R"("object":"model/debug/echo","stdin":"first","stdin_open":true)");
    const std::string reply = ask(client, open + script("say second"));
    QVERIFY2(reply.starts_with("{\"id\":\"1\",\"type\":\"error\",\"code\":\"EINVAL\",\"message\":\"id: "),
             reply.c_str());
    QCOMPARE(fixture.server->liveExecutions(), 1);
    const std::string frames = askUntilResult(client, "{\"op\":\"stdin\",\"id\":\"1\",\"eof\":true}\n");
    QCOMPARE(normalised(frames), said("\"1\"", "debug/echo", "first"));
    // "1" and 1 are two ids.
    QVERIFY(client.send(open));
    const std::string number = R"({"op":"exec","id":1,"object":"model/debug/echo","argv":["x"]})";
    QCOMPARE(normalised(askUntilResult(client, number + "\n")), said("1", "debug/echo", "x"));
}

void ExecTest::anIdMayBeUsedAgainAfterwards()
{
    ControlFixture fixture;
    QVERIFY(fixture.start());
    RawClient client = fixture.client();
    for (int i = 0; i < 20; ++i)
        QCOMPARE(normalised(askUntilResult(client, script("say hi"))), said("\"1\"", "debug/script", "hi"));
}

void ExecTest::twoHundredFiftySixAtOnce()
{
    ControlFixture fixture;
    QVERIFY(fixture.start());
    RawClient client = fixture.client();
    std::string requests;
    for (int i = 0; i < 257; ++i)
        requests += script("wait 60000", "x" + std::to_string(i));
    QVERIFY(client.send(requests));
    QVERIFY(turnUntil([&] { return client.received().find("EBUSY") != std::string::npos; }));
    const std::string busy = "{\"id\":\"x256\",\"type\":\"error\",\"code\":\"EBUSY\"";
    QVERIFY(client.received().find(busy) != std::string::npos);
    QCOMPARE(countOf(client.received(), "EBUSY"), std::size_t(1));
    QCOMPARE(fixture.server->liveExecutions(), 256);
    // Another client is not affected, and an ended one makes room.
    RawClient other = fixture.client();
    QVERIFY(hasExit(askUntilResult(other, script("say hi")), 0));
    QVERIFY(client.send("{\"op\":\"cancel\",\"id\":\"x7\"}\n"));
    QVERIFY(turnUntil([&] { return fixture.server->liveExecutions() == 255; }));
    QVERIFY(client.send(script("say room", "again")));
    QVERIFY(turnUntil([&] { return client.received().find("room") != std::string::npos; }));
    client.close();
    QVERIFY(turnUntil([&] { return fixture.server->liveExecutions() == 0; }));
}

void ExecTest::manyAtOnceEndEachOnce()
{
    ControlFixture fixture;
    QVERIFY(fixture.start());
    RawClient client = fixture.client();
    std::string requests;
    for (int i = 0; i < 100; ++i)
        requests += script("repeat 20 word" + std::to_string(i) + ".", "x" + std::to_string(i));
    QVERIFY(client.send(requests));
    QVERIFY(turnUntil([&] { return countOf(client.received(), "\"type\":\"result\"") == 100; }));
    const std::string frames = client.take();
    for (int i = 0; i < 100; ++i) {
        const std::string head = "{\"id\":\"x" + std::to_string(i) + "\",\"type\":";
        QCOMPARE(countOf(frames, head + "\"start\""), std::size_t(1));
        QCOMPARE(countOf(frames, head + "\"delta\""), std::size_t(20));
        QCOMPARE(countOf(frames, head + "\"done\""), std::size_t(1));
        QCOMPARE(countOf(frames, head + "\"result\",\"exit\":0}"), std::size_t(1));
    }
}

void ExecTest::aLongNameIsNotRepeatedInFull()
{
    ControlFixture fixture;
    QVERIFY(fixture.start());
    RawClient client = fixture.client();
    const std::string frames = askUntilResult(client, exec("\"object\":\"model/" + std::string(1'000'000, 'x') + "\""));
    QVERIFY(hasExit(frames, 1));
    QVERIFY2(frames.size() < 3'000, std::to_string(frames.size()).c_str());
}

void ExecTest::anEventThatFitsNoFrameEndsTheRun()
{
    // 700 KiB of quotes are within the limit of a message, and 1.4 MiB of JSON.
    ControlFixture fixture;
    QVERIFY(fixture.start());
    RawClient client = fixture.client();
    std::string input;
    for (int i = 0; i < 500'000; ++i)
        input += "\\\"";
    std::string bytes = exec(R"("object":"model/debug/echo","stdin":")" + input + R"(","stdin_open":true)");
    bytes += R"({"op":"stdin","id":"1","eof":true,"data":")" + input.substr(0, 400'000) + "\"}\n";
    const std::string frames = askUntilResult(client, bytes);
    QVERIFY2(hasExit(frames, 2), frames.substr(0, 300).c_str());
    QVERIFY(frames.find("\"code\":\"EMSGSIZE\"") != std::string::npos);
    QCOMPARE(countOf(frames, "\"type\":\"done\""), std::size_t(1));
    QVERIFY(frames.find("\"status\":\"error\"") != std::string::npos);
    std::size_t longest = 0;
    for (std::size_t start = 0; start < frames.size();) {
        const std::size_t end = frames.find('\n', start);
        longest = std::max(longest, end + 1 - start);
        start = end + 1;
    }
    QVERIFY(longest <= limits::kFrame);
    QCOMPARE(fixture.server->liveExecutions(), 0);
}

void ExecTest::aReaderThatStopsPausesTheRun()
{
    ControlFixture fixture;
    QVERIFY(fixture.start());
    RawClient client = fixture.client();
    QVERIFY(client.send(script("repeat 20000 abcde")));
    QVERIFY(turnUntil([&] {
        const auto sockets = fixture.sockets();
        return sockets.size() == 1 && sockets.front()->unsent() > limits::kUnsent;
    }));
    // It stands still: what waits grows no more, and others are served.
    sockets::FrameSocket *socket = fixture.sockets().front();
    RawClient other = fixture.client();
    QVERIFY(hasExit(askUntilResult(other, script("say hi")), 0));
    const std::size_t waiting = socket->unsent();
    QVERIFY2(waiting < limits::kUnsent + 64 * 1024, std::to_string(waiting).c_str());
    for (int i = 0; i < 200; ++i)
        QCoreApplication::processEvents(QEventLoop::AllEvents, 1);
    QCOMPARE(socket->unsent(), waiting);
    // Its cancel would still be read; here it reads on and misses nothing. Only the end is searched: the whole, at every
    // turn, would take longer than the run.
    const auto isComplete = [&] {
        const std::string &seen = client.received();
        return seen.find("\"type\":\"result\"", seen.size() - std::min<std::size_t>(seen.size(), 200))
               != std::string::npos;
    };
    QVERIFY(turnUntil(isComplete));
    const std::string frames = client.take();
    QVERIFY(hasExit(frames, 0));
    QCOMPARE(countOf(frames, "\"type\":\"delta\""), std::size_t(20'000));
    QVERIFY(frames.find("\"offset\":99995}") != std::string::npos);
}

void ExecTest::aClientThatGoesCancelsItsRuns_data()
{
    QTest::addColumn<std::string>("request");
    QTest::addColumn<bool>("reads");
    QTest::newRow("while it waits") << script("wait 60000") << true;
    QTest::newRow("while its input is open")
        << exec(R"("object":"model/debug/echo","stdin":"a","stdin_open":true)") << true;
    QTest::newRow("in the middle of a stream it reads") << script("repeat 500000 x") << true;
    QTest::newRow("in the middle of a stream it does not read") << script("repeat 500000 x") << false;
}

void ExecTest::aClientThatGoesCancelsItsRuns()
{
    QFETCH(std::string, request);
    QFETCH(bool, reads);
    ControlFixture fixture;
    QVERIFY(fixture.start());
    int idle = 0;
    QObject::connect(fixture.server.get(), &control::ControlServer::becameIdle, fixture.server.get(), [&] { ++idle; });
    RawClient client = fixture.client();
    QVERIFY(client.send(request));
    QVERIFY(turnUntil([&] { return fixture.server->liveExecutions() == 1; }));
    for (int i = 0; i < 50; ++i) {
        QCoreApplication::processEvents(QEventLoop::AllEvents, 1);
        if (reads)
            client.take();
    }
    QCOMPARE(fixture.server->liveExecutions(), 1);
    client.close();
    QVERIFY(turnUntil([&] { return fixture.server->liveExecutions() == 0 && fixture.sockets().empty(); }));
    QCOMPARE(idle, 1);
}

void ExecTest::aHalfClosedClientGetsEverything()
{
    ControlFixture fixture;
    QVERIFY(fixture.start());
    RawClient client = fixture.client();
    QVERIFY(client.send(script("wait 50\\nrepeat 1000 abc\\nwait 50\\nsay end")));
    client.halfClose();
    QVERIFY(turnUntil([&] { return client.isAtEnd(); }));
    const std::string frames = client.take();
    QVERIFY(frames.ends_with("{\"id\":\"1\",\"type\":\"result\",\"exit\":0}\n"));
    QCOMPARE(countOf(frames, "\"type\":\"delta\""), std::size_t(1001));
    QVERIFY(turnUntil([&] { return fixture.sockets().empty(); }));
}

QTEST_GUILESS_MAIN(ExecTest)
#include "exec_test.moc"
