// ObjectClient: the same conversation in Qt's event loop.
#include "common/object_client/object_client.h"
#include "tests/common/object_peer.h"
#include "tests/support/temp_dir.h"

#include <QTest>

#include <memory>

using namespace cortexfs;
using namespace cortexfs::object;

class ObjectClientTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void textSurvivesALostConnection()
    {
        const test::TempDir directory;
        test::ObjectPeer peer(directory.path("o.sock"));
        ObjectClient client({.path = directory.path("o.sock")});
        std::string text;
        std::string ended;
        int whole = 0;
        int lost = 0;
        connect(&client, &ObjectClient::textAppended, this,
                [&](const std::string &run, const std::string &piece) { text += run + ":" + piece + " "; });
        connect(&client, &ObjectClient::textFinished, this, [&] { ++whole; });
        connect(&client, &ObjectClient::connectionLost, this, [&] { ++lost; });
        connect(&client, &ObjectClient::requestEnded, this,
                [&](RequestKind, const std::string &id, const std::optional<Error> &error) {
                    ended = id + (error ? " failed" : " well");
                });
        QVERIFY(client.send({.id = "m1", .input = "hi"}).isOk());
        QVERIFY2(!client.isConnected(), "nothing happens within the call");
        QTRY_VERIFY(peer.accept());
        QCOMPARE(peer.line(), std::string(R"({"op":"send","id":"m1","session":"default","input":"hi"})"));
        peer.say("{'type':'start','id':'e000000000001','run':'r1','request':'m1'}\n"
                 "{'type':'delta','id':'e000000000002','run':'r1','text':'He','offset':0}\n");
        QTRY_COMPARE(text, std::string("r1:He "));
        peer.hangUp();
        QTRY_COMPARE(lost, 1);
        QTRY_VERIFY(peer.accept());
        peer.say("{'type':'start','id':'e000000000001','run':'r1','request':'m1'}\n"
                 "{'type':'delta','id':'e000000000004','run':'r1','text':'Hello','offset':0}\n"
                 "{'type':'message','id':'e000000000005','run':'r1','role':'assistant','content':'Hello'}\n"
                 "{'type':'done','id':'e000000000006','run':'r1','request':'m1','status':'ok'}\n");
        QTRY_COMPARE(ended, std::string("m1 well"));
        QCOMPARE(text, std::string("r1:He r1:llo "));
        QCOMPARE(whole, 1);
        QVERIFY(client.isIdle());
    }

    void anAbsentSocketEndsTheRequest()
    {
        const test::TempDir directory;
        ObjectClient client({.path = directory.path("none.sock")});
        int code = 0;
        connect(&client, &ObjectClient::requestEnded, this,
                [&](RequestKind kind, const std::string &, const std::optional<Error> &error) {
                    code = kind == RequestKind::Ping && error ? error->number() : -1;
                });
        client.ping();
        QCOMPARE(code, 0);
        QTRY_COMPARE(code, ENOENT);
    }

    void aReceiverMayDeleteTheClient()
    {
        const test::TempDir directory;
        test::ObjectPeer peer(directory.path("o.sock"));
        auto client = std::make_unique<ObjectClient>(LinkOptions{.path = directory.path("o.sock")});
        connect(client.get(), &ObjectClient::eventReceived, this, [&] { client.reset(); });
        client->ping();
        QTRY_VERIFY(peer.accept());
        peer.say("{'type':'pong','id':'ping-1'}\n{'type':'pong','id':'ping-1'}\n");
        QTRY_VERIFY(!client);
    }

    void thoughtsComeApart()
    {
        const test::TempDir directory;
        test::ObjectPeer peer(directory.path("o.sock"));
        ObjectClient client({.path = directory.path("o.sock")});
        std::string thoughts;
        std::string text;
        connect(&client, &ObjectClient::reasoningAppended, this,
                [&](const std::string &, const std::string &piece) { thoughts += piece; });
        connect(&client, &ObjectClient::textAppended, this,
                [&](const std::string &, const std::string &piece) { text += piece; });
        client.resume();
        QTRY_VERIFY(peer.accept());
        peer.say("{'type':'reasoning_delta','id':'e000000000001','run':'r1','text':'hm','offset':0}\n"
                 "{'type':'delta','id':'e000000000002','run':'r1','text':'Yes','offset':0}\n");
        QTRY_COMPARE(text, std::string("Yes"));
        QCOMPARE(thoughts, std::string("hm"));
        client.close();
        QVERIFY(client.isIdle() && !client.isConnected());
    }
};

QTEST_GUILESS_MAIN(ObjectClientTest)
#include "object_client_test.moc"
