// Frames of an object's socket as values, requests as frames, and text placed by its offset.
#include "common/base/limits.h"
#include "common/object_client/object_event.h"
#include "common/object_client/object_request.h"
#include "common/object_client/run_progress.h"

#include <QTest>

using namespace cortexfs;
using namespace cortexfs::object;

namespace {

std::string quoted(QByteArray text) { return text.replace('\'', '"').toStdString(); }

// What a reader remembers of an event, in one line.
std::string summary(const ObjectEvent &event)
{
    std::string out = event.typeWord;
    const auto add = [&](std::string_view name, const std::string &value) {
        if (!value.empty())
            out += " " + std::string(name) + "=" + value;
    };
    add("id", event.id);
    add("run", event.run);
    add("request", event.request);
    add("session", event.session);
    add("text", event.text);
    if (event.offset)
        add("offset", std::to_string(*event.offset));
    add("role", event.role);
    add("model", event.model);
    if (event.code != 0)
        add("code", std::string(errnoName(event.code)));
    add("message", event.message);
    add("recoverable", event.isRecoverable ? "yes" : "");
    add("status", event.status);
    add("reason", event.reason);
    if (event.usage.inputTokens > 0)
        add("in", std::to_string(event.usage.inputTokens));
    if (event.usage.cachedTokens)
        add("cached", std::to_string(*event.usage.cachedTokens));
    add("call", event.callId);
    add("name", event.name);
    add("arguments", event.arguments);
    add("op", event.op);
    add("state", event.state);
    add("last", event.last);
    add("live", event.isLive ? "yes" : "");
    return out;
}

} // namespace

class ObjectEventTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void framesBecomeValues_data()
    {
        QTest::addColumn<QByteArray>("line");
        QTest::addColumn<QByteArray>("event");
        const auto row = [](const char *name, const char *line, const char *event) {
            QTest::newRow(name) << QByteArray(line) << QByteArray(event);
        };
        row("a run starts", "{'type':'start','id':'e000000000001','run':'r1','model':'a/b','request':'m1'}",
            "start id=e000000000001 run=r1 request=m1 model=a/b");
        row("a piece of text", "{'type':'delta','id':'e2','run':'r1','text':'hi','offset':3}",
            "delta id=e2 run=r1 text=hi offset=3");
        row("a piece without a place", "{'type':'delta','run':'r1','text':'hi'}", "delta run=r1 text=hi");
        row("a place before the beginning is none", "{'type':'delta','run':'r1','text':'hi','offset':-1}",
            "delta run=r1 text=hi");
        row("a whole message of parts",
            "{'type':'message','id':'e3','run':'r1','role':'assistant','content':[{'type':'text','text':'a'},"
            "{'type':'image_url','image_url':'x'},{'type':'text','text':'b'}]}",
            "message id=e3 run=r1 text=ab role=assistant");
        row("a whole message as text", "{'type':'message','run':'r1','content':'ab'}", "message run=r1 text=ab");
        row("a tool call",
            "{'type':'tool_call','run':'r1','call_id':'c1','name':'fs.read','arguments':{'b':1,'a':[2]}}",
            "tool_call run=r1 call=c1 name=fs.read arguments={\"b\":1,\"a\":[2]}");
        row("usage", "{'type':'usage','run':'r1','input_tokens':7,'output_tokens':2,'cached_tokens':0}",
            "usage run=r1 in=7 cached=0");
        row("an error of a run", "{'type':'error','run':'r1','code':'ENOKEY','message':'no key','recoverable':true}",
            "error run=r1 code=ENOKEY message=no key recoverable=yes");
        row("a code of another world is an I/O error", "{'type':'error','code':'EWHATEVER'}", "error code=EIO");
        row("a refused send", "{'type':'error','id':'m1','request':'m1','code':'EBUSY','message':'full'}",
            "error id=m1 request=m1 code=EBUSY message=full");
        row("the end", "{'type':'done','id':'e9','run':'r1','status':'ok','reason':'stop','request':'m1'}",
            "done id=e9 run=r1 request=m1 status=ok reason=stop");
        row("an answer to a ping", "{'type':'pong','id':'p'}", "pong id=p");
        row("a state", "{'type':'status','id':'s','session':'default','state':'active','run':'r1','waiting':2}",
            "status id=s run=r1 session=default state=active");
        row("the end of what is stored", "{'type':'resumed','session':'default','last':'e000000000007','live':true}",
            "resumed session=default last=e000000000007 live=yes");
        row("a type of a later version", "{'type':'weather','text':'rain'}", "weather text=rain");
        row("fields of another type count as absent", "{'type':'delta','run':5,'text':[],'offset':'1','id':null}",
            "delta");
    }
    void framesBecomeValues()
    {
        QFETCH(QByteArray, line);
        QFETCH(QByteArray, event);
        const std::string text = quoted(line);
        const Result<ObjectEvent> read = readObjectEvent(text);
        QVERIFY2(read.isOk(), text.c_str());
        QCOMPARE(QByteArray::fromStdString(summary(*read)), event);
        QCOMPARE(read->line, text);
    }

    void whatIsNoFrameIsRefused_data()
    {
        QTest::addColumn<QByteArray>("line");
        QTest::newRow("no JSON") << QByteArray("hello");
        QTest::newRow("half of it") << QByteArray("{'type':'del");
        QTest::newRow("no object") << QByteArray("['type']");
        QTest::newRow("no type") << QByteArray("{'id':'e1'}");
        QTest::newRow("a type that is no text") << QByteArray("{'type':1}");
    }
    void whatIsNoFrameIsRefused()
    {
        QFETCH(QByteArray, line);
        const Result<ObjectEvent> read = readObjectEvent(quoted(line));
        QVERIFY(!read.isOk());
        QCOMPARE(read.error().number(), EBADMSG);
    }

    void idsHaveAnOrder()
    {
        QVERIFY(isIdAfter("e000000000010", "e000000000009"));
        QVERIFY(!isIdAfter("e000000000009", "e000000000009"));
        QVERIFY(isIdAfter("e000000000001", ""));
        QVERIFY(isIdAfter("e1000000000000", "e999999999999"));
    }

    void requestsAreWritten()
    {
        Conversation conversation;
        const auto frame = sendFrame(conversation, {.id = "m1", .input = "say \"hi\"", .cwd = "/w"});
        QCOMPARE(
            QByteArray::fromStdString(*frame),
            QByteArray(
                "{\"op\":\"send\",\"id\":\"m1\",\"session\":\"default\",\"cwd\":\"/w\",\"input\":\"say \\\"hi\\\"\"}"));
        conversation = {.session = "s", .scope = "shared", .shared = "team"};
        const auto parts = sendFrame(conversation,
                                     {.id = "m", .parts = "[{\"type\":\"text\",\"text\":\"x\"}]", .approvals = false});
        QCOMPARE(QByteArray::fromStdString(*parts),
                 QByteArray("{\"op\":\"send\",\"id\":\"m\",\"session\":\"s\",\"scope\":\"shared\",\"shared\":\"team\","
                            "\"approvals\":false,\"input\":[{\"type\":\"text\",\"text\":\"x\"}]}"));
        QCOMPARE(QByteArray::fromStdString(resumeFrame({}, "r", "e1")),
                 QByteArray("{\"op\":\"resume\",\"id\":\"r\",\"session\":\"default\",\"after\":\"e1\"}"));
        QCOMPARE(QByteArray::fromStdString(resumeFrame({}, "r", "")),
                 QByteArray("{\"op\":\"resume\",\"id\":\"r\",\"session\":\"default\"}"));
        QCOMPARE(QByteArray::fromStdString(cancelFrame({}, "m1")),
                 QByteArray("{\"op\":\"cancel\",\"id\":\"m1\",\"session\":\"default\"}"));
        QCOMPARE(QByteArray::fromStdString(pingFrame("p")), QByteArray("{\"op\":\"ping\",\"id\":\"p\"}"));
    }

    void sendsThatCannotBeAreRefused()
    {
        const auto code = [](const SendRequest &request) { return sendFrame({}, request).error().number(); };
        QCOMPARE(code({.id = ""}), EINVAL);
        QCOMPARE(code({.id = std::string(257, 'x')}), EINVAL);
        QCOMPARE(code({.id = "m", .input = "\xff"}), EINVAL);
        QCOMPARE(code({.id = "m", .input = std::string(limits::kFrame, 'x')}), EMSGSIZE);
        const std::size_t rest = limits::kFrame - 1 - sendFrame({}, {.id = "m"})->size();
        QVERIFY(sendFrame({}, {.id = "m", .input = std::string(rest, 'x')}).isOk());
        QCOMPARE(code({.id = "m", .input = std::string(rest + 1, 'x')}), EMSGSIZE);
    }

    void textIsToldOnce_data()
    {
        QTest::addColumn<QByteArrayList>("lines");
        QTest::addColumn<QByteArray>("told"); // text of each event, '|' between; '-' for one that was there before
        const auto row = [](const char *name, const QByteArrayList &lines, const char *told) {
            QTest::newRow(name) << lines << QByteArray(told);
        };
        const QByteArray one = "{'type':'delta','id':'e1','run':'r','text':'Hel','offset':0}";
        const QByteArray two = "{'type':'delta','id':'e2','run':'r','text':'lo','offset':3}";
        const QByteArray whole = "{'type':'message','id':'e3','run':'r','role':'assistant','content':'Hello'}";
        row("pieces, then the whole", {one, two, whole}, "Hel|lo|");
        row("the whole alone, as a recorded run comes", {whole}, "Hello");
        row("a replay as one piece from the beginning",
            {one, "{'type':'delta','id':'e2','run':'r','text':'Hello','offset':0}", whole}, "Hel|lo|");
        row("a replay with nothing new", {one, two, "{'type':'delta','id':'e2','run':'r','text':'Hello','offset':0}"},
            "Hel|lo|-");
        row("pieces were lost and the message ended meanwhile", {one, whole}, "Hel|lo");
        row("a hole is filled by the whole", {one, "{'type':'delta','id':'e2','run':'r','text':'o','offset':4}", whole},
            "Hel||lo");
        row("a stored event that comes again", {one, two, whole, whole}, "Hel|lo||-");
        row("the next message begins at 0",
            {one, two, whole, "{'type':'delta','id':'e4','run':'r','text':'B','offset':0}"}, "Hel|lo||B");
        row("a late piece of the message before", {one, two, whole, two}, "Hel|lo||-");
        row("pieces without a place follow each other",
            {"{'type':'delta','run':'r','text':'a'}", "{'type':'delta','run':'r','text':'b'}"}, "a|b");
        row("two runs do not mix", {one, "{'type':'delta','id':'e5','run':'q','text':'Hi','offset':0}", two},
            "Hel|Hi|lo");
        row("thoughts are another text",
            {one, "{'type':'reasoning_delta','id':'e2','run':'r','text':'hm','offset':0}",
             "{'type':'reasoning_message','id':'e3','run':'r','text':'hmm'}",
             "{'type':'delta','id':'e4','run':'r','text':'lo','offset':3}"},
            "Hel|hm|m|lo");
        row("a message of the user is none of the answer",
            {"{'type':'message','id':'e1','run':'r','role':'user','content':'question'}", whole}, "|Hello");
        row("an error without an id is told each time",
            {"{'type':'error','run':'r','code':'EIO'}", "{'type':'error','run':'r','code':'EIO'}"}, "|");
    }
    void textIsToldOnce()
    {
        QFETCH(QByteArrayList, lines);
        QFETCH(QByteArray, told);
        RunProgress progress;
        QByteArrayList out;
        for (const QByteArray &line : lines) {
            Result<ObjectEvent> event = readObjectEvent(quoted(line));
            QVERIFY2(event.isOk(), line.constData());
            out.append(progress.take(*event) ? QByteArray::fromStdString(event->appended) : QByteArray("-"));
        }
        QCOMPARE(out.join('|'), told);
    }

    void theCursorIsTheHighestId()
    {
        RunProgress progress;
        QCOMPARE(progress.cursor(), std::string());
        for (const char *line : {"{'type':'start','id':'e000000000008','run':'r'}",
                                 "{'type':'delta','id':'e000000000009','run':'r','text':'x','offset':0}",
                                 "{'type':'start','id':'e000000000002','run':'q'}", "{'type':'pong','id':'z'}"}) {
            Result<ObjectEvent> event = readObjectEvent(quoted(line));
            progress.take(*event);
        }
        QCOMPARE(progress.cursor(), std::string("e000000000009"));
    }
};

QTEST_GUILESS_MAIN(ObjectEventTest)
#include "object_event_test.moc"
