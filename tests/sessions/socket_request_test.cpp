#include "daemon/sessions/socket_request.h"

#include <QTest>

using namespace cortexfs;
using namespace cortexfs::sessions;

class SocketRequestTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void badFramesAreInvalid_data()
    {
        QTest::addColumn<QByteArray>("frame");
        QTest::addColumn<QByteArray>("id");
        QTest::addColumn<QByteArray>("said");
        const auto row = [](const char *name, const char *frame, const char *id, const char *said) {
            QTest::newRow(name) << QByteArray(frame) << QByteArray(id) << QByteArray(said);
        };
        row("no JSON", "hello", "", "offset");
        row("no object", "[1]", "", "object");
        row("no op", "{'id':'a'}", "a", "op: missing");
        row("an op that is no string", "{'op':1,'id':'a'}", "a", "op");
        row("an unknown op", "{'op':'frob','id':'a'}", "a", "unknown op: frob");
        row("a send without an id", "{'op':'send','input':'x'}", "", "id: missing");
        row("an id that is no string", "{'op':'send','id':5,'input':'x'}", "", "id: not a string");
        row("a send without input", "{'op':'send','id':'a'}", "a", "input: missing");
        row("input of a wrong type", "{'op':'send','id':'a','input':5}", "a", "input: neither");
        row("blank input", "{'op':'send','id':'a','input':' '}", "a", "input: blank");
        row("an empty list as input", "{'op':'send','id':'a','input':[]}", "a", "input: blank");
        row("a part of an unknown type", "{'op':'send','id':'a','input':[{'type':'smell'}]}", "a", "input: ");
        row("a session that is no name", "{'op':'send','id':'a','session':'a/b','input':'x'}", "a", "session: ");
        row("the session index", "{'op':'status','session':'index'}", "", "index is taken");
        row("a session of a wrong type", "{'op':'status','session':5}", "", "session: not a string");
        row("an unknown scope", "{'op':'send','id':'a','scope':'mine','input':'x'}", "a", "scope: not one of");
        row("a shared scope without its space", "{'op':'send','id':'a','scope':'shared','input':'x'}", "a", "shared: ");
        row("a relative directory", "{'op':'send','id':'a','cwd':'src','input':'x'}", "a", "cwd: not an absolute");
        row("approvals that are no bool", "{'op':'resume','id':'a','approvals':'yes'}", "a", "approvals: not true");
        row("an after that is no string", "{'op':'resume','id':'a','after':7}", "a", "after: not a string");
        row("a cancel without an id", "{'op':'cancel'}", "", "id: missing");
    }
    void badFramesAreInvalid()
    {
        QFETCH(QByteArray, frame);
        QFETCH(QByteArray, id);
        QFETCH(QByteArray, said);
        const auto read = readRequest(frame.replace('\'', '"').toStdString());
        const RequestFault *fault = std::get_if<RequestFault>(&read);
        QVERIFY(fault);
        QCOMPARE(fault->error.number(), EINVAL);
        QCOMPARE(QByteArray::fromStdString(fault->id), id);
        QVERIFY2(fault->error.text().find(said.toStdString()) != std::string::npos, fault->error.text().c_str());
    }

    void unknownFieldsAreIgnored()
    {
        const auto read = readRequest(R"({"op":"send","id":"a","color":"red","input":"x","session":"s","cwd":"/tmp"})");
        const SocketRequest *request = std::get_if<SocketRequest>(&read);
        QVERIFY(request);
        QCOMPARE(request->session, std::string("s"));
        QCOMPARE(request->cwd, std::string("/tmp"));
        QCOMPARE(request->input.contentJson, std::string(R"([{"type":"text","text":"x"}])"));
        QVERIFY(!request->scope);
    }

    void aTextAndItsPartAreTheSameInput()
    {
        const auto text = readRequest(R"({"op":"send","id":"a","input":"x"})");
        const auto part = readRequest(R"({"op":"send","id":"a","input":[{"type":"text","text":"x"}]})");
        QCOMPARE(std::get<SocketRequest>(text).input.contentJson, std::get<SocketRequest>(part).input.contentJson);
    }

    void eventIdsAreTwelveDigits()
    {
        QCOMPARE(eventId(7), std::string("e000000000007"));
        QCOMPARE(eventId(999'999'999'999), std::string("e999999999999"));
        QCOMPARE(parseEventId("e000000000007").value_or(0), std::uint64_t{7});
        for (const char *text : {"", "e7", "e00000000000x", "e0000000000070", "x000000000007", "e+00000000007"})
            QVERIFY2(!parseEventId(text), text);
    }
};

QTEST_GUILESS_MAIN(SocketRequestTest)
#include "socket_request_test.moc"
