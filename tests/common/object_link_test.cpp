// One conversation over an object's socket, through lost connections and refusals. The clock and the other end stand still
// until the test moves them.
#include "common/base/limits.h"
#include "common/object_client/object_link.h"
#include "tests/common/object_peer.h"
#include "tests/support/fake_clock.h"
#include "tests/support/temp_dir.h"

#include <QTest>

#include <sys/stat.h>

using namespace cortexfs;
using namespace cortexfs::object;
using cortexfs::test::ObjectPeer;

namespace {

constexpr char kPath[] = "o.sock";

std::string summary(const LinkNews &news)
{
    switch (news.kind) {
    case LinkNews::Kind::Connected: return "connected";
    case LinkNews::Kind::Lost: return "lost";
    case LinkNews::Kind::Event:
        return news.event.typeWord + (news.event.appended.empty() ? "" : "(" + news.event.appended + ")");
    case LinkNews::Kind::Ended:
        return "end:" + news.id + (news.error ? ":" + std::string(news.error->name()) : std::string());
    }
    return "?";
}

struct Scene {
    explicit Scene(LinkOptions options = {}) : peer(directory.path(kPath)), link(withPath(std::move(options)), clock) {}

    LinkOptions withPath(LinkOptions options) const
    {
        options.path = directory.path(kPath);
        return options;
    }
    // "connected start delta(x) end:m1"
    QByteArray turn()
    {
        std::string out;
        for (const LinkNews &news : link.advance())
            out += (out.empty() ? "" : " ") + summary(news);
        return QByteArray::fromStdString(out);
    }
    // Connects a send m1 whose run r1 began and told "Hel".
    bool begin()
    {
        (void)link.send({.id = "m1", .input = "hi"});
        if (turn() != "connected" || !peer.accept() || peer.line() != kSend)
            return false;
        peer.say(kStart);
        peer.say(kHel);
        return turn() == "start delta(Hel)";
    }

    static constexpr char kSend[] = R"({"op":"send","id":"m1","session":"default","input":"hi"})";
    static constexpr char kStart[] = "{'type':'start','id':'e000000000001','run':'r1','request':'m1','model':'a/b'}\n";
    static constexpr char kHel[] = "{'type':'delta','id':'e000000000002','run':'r1','text':'Hel','offset':0}\n";
    static constexpr char kMessage[] =
        "{'type':'message','id':'e000000000008','run':'r1','role':'assistant','content':'Hello'}\n";
    static constexpr char kDone[] = "{'type':'done','id':'e000000000009','run':'r1','request':'m1','status':'ok'}\n";

    test::TempDir directory;
    test::FakeClock clock;
    ObjectPeer peer;
    ObjectLink link;
};

} // namespace

class ObjectLinkTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aSendIsARunFromStartToDone()
    {
        Scene scene;
        QVERIFY(scene.link.isIdle());
        QCOMPARE(scene.link.waitMs(), -1);
        QVERIFY(scene.begin());
        QVERIFY(!scene.link.isIdle());
        scene.peer.say(Scene::kMessage);
        scene.peer.say(Scene::kDone);
        QCOMPARE(scene.turn(), QByteArray("message(lo) done end:m1"));
        QVERIFY(scene.link.isIdle());
        QVERIFY(scene.link.isConnected());
        QCOMPARE(scene.link.cursor(), std::string("e000000000009"));
    }

    void howARunEndsIsHowItsSendEnds_data()
    {
        QTest::addColumn<QByteArray>("lines");
        QTest::addColumn<QByteArray>("news");
        const auto row = [](const char *name, const char *lines, const char *news) {
            QTest::newRow(name) << QByteArray(lines) << QByteArray(news);
        };
        row("with its error",
            "{'type':'error','id':'e000000000003','run':'r1','code':'ENOKEY','message':'no key'}\n"
            "{'type':'done','id':'e000000000004','run':'r1','status':'error'}\n",
            "error done end:m1:ENOKEY");
        row("not with one that another try made good",
            "{'type':'error','id':'e000000000003','run':'r1','code':'EIO','recoverable':true}\n"
            "{'type':'done','id':'e000000000004','run':'r1','status':'ok'}\n",
            "error done end:m1");
        row("an error without a reason", "{'type':'done','id':'e000000000004','run':'r1','status':'error'}\n",
            "done end:m1:EIO");
        row("cancelled", "{'type':'done','id':'e000000000004','run':'r1','status':'cancelled'}\n",
            "done end:m1:ECANCELED");
        row("the end of another run is not ours",
            "{'type':'done','id':'e000000000004','run':'r0','request':'m0','status':'ok'}\n", "done");
    }
    void howARunEndsIsHowItsSendEnds()
    {
        QFETCH(QByteArray, lines);
        QFETCH(QByteArray, news);
        Scene scene;
        QVERIFY(scene.begin());
        scene.peer.say(lines.toStdString());
        QCOMPARE(scene.turn(), news);
    }

    void requestsAreAnswered_data()
    {
        QTest::addColumn<QByteArray>("lines");
        QTest::addColumn<QByteArray>("news");
        const auto row = [](const char *name, const char *lines, const char *news) {
            QTest::newRow(name) << QByteArray(lines) << QByteArray(news);
        };
        row("a pong", "{'type':'pong','id':'ping-1'}\n", "pong end:ping-1");
        row("somebody else's pong", "{'type':'pong','id':'p'}\n", "pong");
        row("a state", "{'type':'status','id':'status-2','session':'default','state':'idle'}\n", "status end:status-2");
        row("a cancel", "{'type':'accepted','op':'cancel','id':'m1','run':'r1'}\n", "accepted end:m1");
        row("a cancel of what is over", "{'type':'error','id':'m1','code':'ENOENT','message':'no such run'}\n",
            "error end:m1:ENOENT");
        row("a send that does not fit the recorded one, beside its cancel",
            "{'type':'error','id':'m1','request':'m1','code':'EINVAL'}\n"
            "{'type':'error','id':'m1','code':'ENOENT'}\n",
            "error end:m1:EINVAL error end:m1:ENOENT");
        row("a waiting send that was cancelled has a done",
            "{'type':'error','id':'m1','request':'m1','code':'ECANCELED'}\n"
            "{'type':'done','request':'m1','run':'r1','status':'cancelled'}\n",
            "error done end:m1:ECANCELED");
        row("a complaint about the connection ends everything", "{'type':'error','code':'EMSGSIZE'}\n",
            "end:ping-1:EMSGSIZE end:status-2:EMSGSIZE end:m1:EMSGSIZE end:m1:EMSGSIZE");
        row("a peer that speaks something else ends everything", "HTTP/1.1 400\n",
            "end:ping-1:EBADMSG end:status-2:EBADMSG end:m1:EBADMSG end:m1:EBADMSG");
    }
    void requestsAreAnswered()
    {
        QFETCH(QByteArray, lines);
        QFETCH(QByteArray, news);
        Scene scene;
        scene.link.ping();
        scene.link.status();
        QVERIFY(scene.link.send({.id = "m1", .input = "hi"}).isOk());
        QCOMPARE(scene.link.send({.id = "m1", .input = "hi"}).error().number(), EEXIST);
        scene.link.cancel("m1");
        QCOMPARE(scene.turn(), QByteArray("connected"));
        QVERIFY(scene.peer.accept());
        QCOMPARE(scene.peer.line(), std::string(R"({"op":"ping","id":"ping-1"})"));
        QCOMPARE(scene.peer.line(), std::string(R"({"op":"status","id":"status-2","session":"default"})"));
        QCOMPARE(scene.peer.line(), std::string(Scene::kSend));
        QCOMPARE(scene.peer.line(), std::string(R"({"op":"cancel","id":"m1","session":"default"})"));
        scene.peer.say(lines.toStdString());
        QCOMPARE(scene.turn(), news);
    }

    void aResumeFollowsALiveRun()
    {
        Scene scene;
        const std::string id = scene.link.resume("e000000000000");
        scene.turn();
        QVERIFY(scene.peer.accept());
        QVERIFY(scene.peer.line().find(R"("after":"e000000000000")") != std::string::npos);
        scene.peer.say("{'type':'error','id':'e000000000001','run':'r0','code':'EIO'}\n"
                       "{'type':'done','id':'e000000000002','run':'r0','status':'error'}\n"
                       "{'type':'resumed','id':'resume-1','session':'default','last':'e000000000003','live':true}\n"
                       "{'type':'delta','id':'e000000000005','run':'r1','text':'so far','offset':0}\n");
        QCOMPARE(scene.turn(), QByteArray("error done resumed delta(so far)"));
        scene.peer.say("{'type':'done','id':'e000000000006','run':'r1','status':'ok'}\n");
        QCOMPARE(scene.turn(), QByteArray("done end:resume-1"));
        QCOMPARE(id, std::string("resume-1"));
    }

    void aResumeOfAQuietSessionEndsAtOnce()
    {
        Scene scene;
        scene.link.resume({});
        scene.turn();
        QVERIFY(scene.peer.accept());
        scene.peer.say("{'type':'resumed','id':'resume-1','session':'default','last':'e000000000003','live':false}\n");
        QCOMPARE(scene.turn(), QByteArray("resumed end:resume-1"));
    }

    void aLostConnectionIsMadeAnewAndNothingIsToldTwice()
    {
        Scene scene;
        QVERIFY(scene.begin());
        scene.peer.hangUp();
        QCOMPARE(scene.turn(), QByteArray("lost"));
        QCOMPARE(scene.link.waitMs(), 0);
        QCOMPARE(scene.turn(), QByteArray("connected"));
        QVERIFY(scene.peer.accept());
        QCOMPARE(scene.peer.line(), std::string(Scene::kSend));
        scene.peer.say(Scene::kStart);
        scene.peer.say("{'type':'delta','id':'e000000000004','run':'r1','text':'Hell','offset':0}\n");
        QCOMPARE(scene.turn(), QByteArray("delta(l)"));
        scene.peer.hangUp();
        QCOMPARE(scene.turn(), QByteArray("lost"));
        QCOMPARE(scene.turn(), QByteArray("connected"));
        QVERIFY(scene.peer.accept());
        scene.peer.say(Scene::kStart);
        scene.peer.say(Scene::kMessage);
        scene.peer.say(Scene::kDone);
        QCOMPARE(scene.turn(), QByteArray("message(o) done end:m1"));
    }

    void aRunWhoseEndWasToldBeforeStillEnds()
    {
        Scene scene;
        QVERIFY(scene.begin());
        scene.peer.say(Scene::kDone);
        QCOMPARE(scene.turn(), QByteArray("done end:m1"));
        QVERIFY(scene.link.send({.id = "m1", .input = "hi"}).isOk());
        scene.turn();
        scene.peer.say(Scene::kStart);
        scene.peer.say(Scene::kDone);
        QCOMPARE(scene.turn(), QByteArray("end:m1"));
    }

    void aResumeGoesOnAfterTheLastEvent()
    {
        Scene scene;
        scene.link.resume("e000000000001");
        scene.turn();
        QVERIFY(scene.peer.accept());
        (void)scene.peer.line();
        scene.peer.say("{'type':'message','id':'e000000000004','run':'r0','role':'assistant','content':'a'}\n");
        QCOMPARE(scene.turn(), QByteArray("message(a)"));
        scene.peer.hangUp();
        scene.turn();
        scene.turn();
        QVERIFY(scene.peer.accept());
        QVERIFY(scene.peer.line().find(R"("after":"e000000000004")") != std::string::npos);
    }

    void pausesGrowUntilTheDaemonIsBack()
    {
        Scene scene({.path = {}, .patienceMs = 10'000, .shortestPauseMs = 100, .longestPauseMs = 400});
        QVERIFY(scene.begin());
        scene.peer.stopListening();
        scene.peer.hangUp();
        QCOMPARE(scene.turn(), QByteArray("lost"));
        std::vector<int> pauses;
        for (int i = 0; i < 5; ++i) {
            pauses.push_back(scene.link.waitMs());
            scene.clock.advance(scene.link.waitMs());
            QCOMPARE(scene.turn(), QByteArray());
        }
        QCOMPARE(pauses, (std::vector<int>{0, 200, 400, 400, 400}));
        QVERIFY(scene.peer.listen());
        scene.clock.advance(scene.link.waitMs());
        QCOMPARE(scene.turn(), QByteArray("connected"));
    }

    void patienceEnds()
    {
        Scene scene({.path = {}, .patienceMs = 1'000});
        QVERIFY(scene.begin());
        scene.peer.stopListening();
        scene.peer.hangUp();
        QCOMPARE(scene.turn(), QByteArray("lost"));
        QByteArray news;
        std::int64_t waited = 0;
        for (int i = 0; i < 100 && news.isEmpty(); ++i) {
            waited += scene.link.waitMs();
            scene.clock.advance(scene.link.waitMs());
            news = scene.turn();
        }
        QCOMPARE(news, QByteArray("end:m1:ECONNREFUSED"));
        QCOMPARE(waited, std::int64_t{1'000});
        QVERIFY(scene.link.isIdle());
    }

    void aPeerThatAlwaysHangsUpIsNotAskedForEver()
    {
        Scene scene({.path = {}, .patienceMs = 1'000});
        QVERIFY(scene.begin());
        int connections = 0;
        scene.peer.hangUp();
        for (int i = 0; i < 200 && !scene.link.isIdle(); ++i) {
            if (const int wait = scene.link.waitMs(); wait > 0)
                scene.clock.advance(wait);
            scene.turn();
            if (scene.peer.accept()) {
                ++connections;
                scene.peer.say(Scene::kStart); // nothing new
                scene.peer.hangUp();
            }
        }
        QVERIFY(scene.link.isIdle());
        QVERIFY2(connections > 2 && connections < 12, std::to_string(connections).c_str());
    }

    void aTemporaryConversationEndsWithItsConnection()
    {
        Scene scene({.path = {}, .conversation = {.scope = "temp"}});
        QVERIFY(scene.link.send({.id = "m1", .input = "hi"}).isOk());
        QCOMPARE(scene.turn(), QByteArray("connected"));
        QVERIFY(scene.peer.accept());
        scene.peer.hangUp();
        QCOMPARE(scene.turn(), QByteArray("lost end:m1:ECONNRESET"));
        QCOMPARE(scene.link.waitMs(), -1);
    }

    void anIdleConnectionThatIsLostIsLeftAlone()
    {
        Scene scene;
        QVERIFY(scene.begin());
        scene.peer.say(Scene::kDone);
        scene.turn();
        scene.peer.hangUp();
        QCOMPARE(scene.turn(), QByteArray("lost"));
        QCOMPARE(scene.link.waitMs(), -1);
        scene.link.ping();
        QCOMPARE(scene.turn(), QByteArray("connected"));
    }

    void whatCannotBeReachedSaysWhy_data()
    {
        QTest::addColumn<QByteArray>("kind");
        QTest::addColumn<int>("code");
        QTest::newRow("no socket") << QByteArray("none") << ENOENT;
        QTest::newRow("a socket without a program") << QByteArray("dead") << ECONNREFUSED;
        QTest::newRow("a socket of somebody else") << QByteArray("closed") << EACCES;
    }
    void whatCannotBeReachedSaysWhy()
    {
        QFETCH(QByteArray, kind);
        QFETCH(int, code);
        if (kind == "closed" && ::geteuid() == 0)
            QSKIP("root may use every socket");
        Scene scene;
        if (kind == "none")
            ::unlink(scene.directory.path(kPath).c_str());
        else if (kind == "dead")
            scene.peer.stopListening();
        else
            ::chmod(scene.directory.path(kPath).c_str(), 0);
        scene.link.ping();
        QCOMPARE(scene.turn(), QByteArray("end:ping-1:") + QByteArray::fromStdString(std::string(errnoName(code))));
    }

    void aProgramThatStartsUpIsWaitedForWhenAsked()
    {
        Scene scene({.path = {}, .firstPatienceMs = 5'000});
        ::unlink(scene.directory.path(kPath).c_str());
        scene.link.ping();
        QCOMPARE(scene.turn(), QByteArray());
        QVERIFY(scene.peer.listen());
        scene.clock.advance(scene.link.waitMs());
        QCOMPARE(scene.turn(), QByteArray("connected"));
    }

    void aPathLongerThanAnAddressWorks()
    {
        test::TempDir directory;
        std::string path = directory.path();
        for (int i = 0; i < 4; ++i) {
            path += "/" + std::string(60, 'd');
            ::mkdir(path.c_str(), 0700);
        }
        ObjectPeer peer(path + "/o.sock");
        ObjectLink link({.path = path + "/o.sock"});
        link.ping();
        (void)link.advance();
        QVERIFY(peer.accept());
    }

    void whilePausedNothingIsRead()
    {
        Scene scene;
        QVERIFY(scene.begin());
        scene.link.setPaused(true);
        scene.peer.say(Scene::kMessage);
        QVERIFY(!scene.link.wantsRead());
        QCOMPARE(scene.turn(), QByteArray());
        scene.link.setPaused(false);
        QCOMPARE(scene.turn(), QByteArray("message(lo)"));
    }

    void aRequestThatTheSocketDoesNotTakeAtOnceIsSentInPieces()
    {
        Scene scene;
        QVERIFY(scene.link.send({.id = "m1", .input = std::string(900 * limits::kKiB, 'x')}).isOk());
        scene.turn();
        QVERIFY(scene.peer.accept());
        QVERIFY(scene.link.wantsWrite());
        std::string line;
        for (int i = 0; i < 1000 && line.empty(); ++i) {
            line = scene.peer.line();
            scene.turn();
        }
        QVERIFY(line.size() > 900 * limits::kKiB);
        QVERIFY(!scene.link.wantsWrite());
    }

    void aFrameThatIsTooLongEndsEverything()
    {
        Scene scene;
        QVERIFY(scene.begin());
        const std::string piece(64 * limits::kKiB, 'x');
        QByteArray news;
        for (int i = 0; i < 20 && news.isEmpty(); ++i) {
            scene.peer.say(piece);
            news = scene.turn();
        }
        QCOMPARE(news, QByteArray("end:m1:EMSGSIZE"));
        QVERIFY(!scene.link.isConnected());
    }

    void idsAreNotGivenTwice()
    {
        const std::string id = randomId("ctx");
        QCOMPARE(id.size(), std::string("ctx-").size() + 32);
        QVERIFY(id != randomId("ctx"));
    }
};

QTEST_GUILESS_MAIN(ObjectLinkTest)
#include "object_link_test.moc"
