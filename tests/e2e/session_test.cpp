// Conversations over the socket of a model, with a real daemon: order, retries, resume, cancel, crashes, full disks.
#include "tests/e2e/daemon_process.h"

#include "tests/sockets/raw_client.h"

#include <QDir>
#include <QFileInfo>
#include <QScopeGuard>
#include <QTest>

#include <algorithm>
#include <list>

#include <unistd.h>

using namespace cortexfs;
using namespace cortexfs::e2e;

namespace {

constexpr char kScript[] = "model/debug/script";

struct Talk {
    test::RawClient client;
    std::string pending;
    std::vector<std::string> lines;

    explicit Talk(DaemonProcess &daemon, const char *object = kScript)
        : client(daemon.runtime().toStdString() + "/" + object + ".sock")
    {}

    void say(std::string frame)
    {
        std::replace(frame.begin(), frame.end(), '\'', '"');
        frame += '\n';
        std::size_t sent = 0;
        const auto offerRest = [&] {
            sent += client.offer(std::string_view(frame).substr(sent));
            pump(); // who does not read is not read
            return sent == frame.size();
        };
        if (!waitFor(offerRest))
            qWarning("a frame was not taken");
    }
    void pump()
    {
        pending += client.take();
        for (std::size_t end; (end = pending.find('\n')) != std::string::npos; pending.erase(0, end + 1))
            lines.push_back(pending.substr(0, end));
    }
    // The daemon closed; every line before that is in `lines`.
    bool isAtEnd()
    {
        const bool isOver = client.isAtEnd();
        pump();
        return isOver;
    }
    // The first line that holds the text, waited for; empty when none comes.
    std::string await(std::string text)
    {
        std::replace(text.begin(), text.end(), '\'', '"');
        std::string found;
        waitFor([&] {
            pump();
            for (const std::string &line : lines) {
                if (found.empty() && line.find(text) != std::string::npos)
                    found = line;
            }
            return !found.empty();
        });
        return found;
    }
    // The lines so far without the deltas, each cut short.
    std::string all() const
    {
        std::string text;
        for (const std::string &line : lines) {
            if (line.find("delta\"") == std::string::npos)
                text += line.substr(0, 160) + "\n";
        }
        return text;
    }
    // Types of the lines so far, joined by blanks.
    std::string types() const
    {
        std::string text;
        for (const std::string &line : lines) {
            const auto document = json::parse(line);
            text += (text.empty() ? "" : " ") + std::string(document ? document->root()["type"].stringOr("?") : "?");
        }
        return text;
    }
};

std::string field(const std::string &line, const char *key)
{
    const auto document = json::parse(line);
    return document ? std::string(document->root()[key].stringOr("")) : std::string();
}

// KiB of memory that the daemon had at most.
std::int64_t peakOf(DaemonProcess &daemon)
{
    const std::string status = slurp(QStringLiteral("/proc/%1/status").arg(daemon.pid())).value_or("");
    const std::size_t at = status.find("VmHWM:");
    return at == std::string::npos ? 0 : std::stoll(status.substr(at + 6));
}

// A reader that places text where its offset says, as clients do.
void place(std::string &text, const std::string &line)
{
    const auto document = json::parse(line);
    if (!document || document->root()["type"].stringOr("") != "delta")
        return;
    text.resize(static_cast<std::size_t>(document->root()["offset"].asInt().value_or(0)), '?');
    text += document->root()["text"].stringOr("");
}

} // namespace

class SessionTest : public QObject {
    Q_OBJECT

private:
    static QString sessions(DaemonProcess &daemon, const char *object = kScript)
    {
        return daemon.installedTree()
               + QStringLiteral("/home/%1/%2.d/session/").arg(::geteuid()).arg(QString::fromUtf8(object));
    }
    static bool startWithSockets(DaemonProcess &daemon)
    {
        if (!daemon.start())
            return false;
        for (const char *object : {"model/debug/script", "model/debug/echo"}) {
            const QString control = daemon.path(object) + QStringLiteral(".d/session");
            if (putText(control, "socket\n") != 0)
                return false;
        }
        return true;
    }

private Q_SLOTS:
    void aHalfClosedClientGetsItsWholeAnswer()
    {
        DaemonProcess daemon;
        QVERIFY2(startWithSockets(daemon), daemon.log().c_str());
        QVERIFY(QFileInfo(daemon.path("model/debug/echo.sock")).isSymLink());
        Talk talk(daemon, "model/debug/echo");
        talk.say("{'op':'ping','id':'p'}");
        talk.say("{'op':'send','id':'m1','input':'hello'}");
        talk.client.halfClose();
        QVERIFY(waitFor([&] { return talk.isAtEnd(); }));
        talk.pump();
        QCOMPARE(talk.types(), std::string("pong start delta message usage done"));
        QCOMPARE(field(talk.lines.back(), "request"), std::string("m1"));
        QCOMPARE(daemon.stop(), 0);
    }

    void theFileAndTheSocketAgree()
    {
        DaemonProcess daemon;
        QVERIFY2(startWithSockets(daemon), daemon.log().c_str());
        Talk talk(daemon);
        talk.say("{'op':'send','id':'a','cwd':'/tmp','input':'think hm\\nsay one\\nsay two'}");
        QVERIFY(!talk.await("'type':'done'").empty());
        std::string expected;
        for (const std::string &line : talk.lines) {
            if (line.find("delta\"") == std::string::npos)
                expected += line + "\n";
        }
        QCOMPARE(slurp(sessions(daemon) + QStringLiteral("default/events.jsonl")).value_or(""), expected);
        QCOMPARE(slurp(sessions(daemon) + QStringLiteral("default/latest.md")).value_or(""), std::string("onetwo\n"));
        QCOMPARE(slurp(sessions(daemon) + QStringLiteral("index/current")).value_or(""), std::string("default\n"));
        // The same through the mount, for its owner.
        const QString mounted = daemon.path("home/") + QString::number(::geteuid())
                                + QStringLiteral("/model/debug/script.d/session/default/events.jsonl");
        QCOMPARE(slurp(mounted).value_or(""), expected);
    }

    void theSameIdRunsOnceAlsoAfterARestart()
    {
        DaemonProcess daemon;
        QVERIFY2(startWithSockets(daemon), daemon.log().c_str());
        const char *frame = "{'op':'send','id':'a','input':'say one'}";
        std::string run;
        {
            Talk talk(daemon);
            talk.say(frame);
            run = field(talk.await("'type':'done'"), "run");
            Talk again(daemon);
            again.say(frame);
            QCOMPARE(field(again.await("'type':'done'"), "run"), run);
            QCOMPARE(again.types(), std::string("start message usage done"));
        }
        QCOMPARE(daemon.stop(), 0);
        QVERIFY2(daemon.start(), daemon.log().c_str());
        Talk talk(daemon);
        talk.say(frame);
        QCOMPARE(field(talk.await("'type':'done'"), "run"), run);
        talk.say("{'op':'send','id':'a','input':'say another'}");
        QCOMPARE(field(talk.await("'type':'error'"), "code"), std::string("EINVAL"));
        // The conversation goes on with what was said before.
        talk.say("{'op':'send','id':'b','input':'say two'}");
        QVERIFY(!talk.await("'type':'done','id':'e000000000010'").empty());
    }

    void aReaderThatComesBackMissesNothing()
    {
        DaemonProcess daemon;
        QVERIFY2(startWithSockets(daemon), daemon.log().c_str());
        std::string script = "{'op':'send','id':'a','input':'";
        for (int i = 0; i < 40; ++i) {
            const std::string word = "word" + std::to_string(i) + "äß ";
            script += "say " + word + "\\nwait 5\\n";
        }
        Talk first(daemon);
        first.say(script + "'}");
        QVERIFY(!first.await("word3").empty());
        std::string text;
        std::string last;
        for (const std::string &line : first.lines) {
            place(text, line);
            last = field(line, "id");
        }
        first.client.close();
        Talk second(daemon);
        second.say("{'op':'resume','id':'r','after':'" + last + "'}");
        QVERIFY(!second.await("'type':'done'").empty());
        std::string previous = last;
        for (const std::string &line : second.lines) {
            place(text, line);
            if (field(line, "type") == "resumed")
                continue;
            QVERIFY2(field(line, "id") > previous, second.all().c_str());
            previous = field(line, "id");
        }
        const std::string message = second.await("'type':'message'");
        const auto document = json::parse(message);
        QCOMPARE(text, std::string(document->root()["content"].at(0)["text"].stringOr("")));
        QVERIFY2(text.find("word39") != std::string::npos, text.c_str());
    }

    void sendsWaitInLineAndTooManyAreRefused()
    {
        DaemonProcess daemon;
        QVERIFY2(startWithSockets(daemon), daemon.log().c_str());
        Talk talk(daemon);
        talk.say("{'op':'send','id':'first','input':'say go\\nwait 60000'}");
        QVERIFY(!talk.await("'type':'delta'").empty());
        for (int i = 0; i < 17; ++i)
            talk.say("{'op':'send','id':'w" + std::to_string(i) + "','input':'say " + std::to_string(i) + "'}");
        QCOMPARE(field(talk.await("'request':'w16'"), "code"), std::string("EBUSY"));
        talk.say("{'op':'cancel','id':'w3'}");
        QCOMPARE(field(talk.await("'request':'w3','code'"), "code"), std::string("ECANCELED"));
        QCOMPARE(field(talk.await("'status':'cancelled','request':'w3'"), "type"), std::string("done"));
        talk.say("{'op':'status','id':'s'}");
        QVERIFY(talk.await("'type':'status'").find("\"state\":\"active\"") != std::string::npos);
        talk.say("{'op':'cancel','id':'first'}");
        QCOMPARE(field(talk.await("'request':'first'"), "type"), std::string("start"));
        QVERIFY(!talk.await("'request':'w15'").empty());
        QVERIFY(waitFor([&] {
            talk.pump();
            return field(talk.lines.back(), "request") == "w15" && field(talk.lines.back(), "type") == "done";
        }));
        // In the order in which they came.
        std::string starts;
        for (const std::string &line : talk.lines) {
            if (field(line, "type") == "start")
                starts += field(line, "request") + " ";
        }
        QCOMPARE(starts, std::string("first w0 w1 w2 w4 w5 w6 w7 w8 w9 w10 w11 w12 w13 w14 w15 "));
    }

    void aKilledDaemonClosesTheRunAtItsNextStart()
    {
        DaemonProcess daemon;
        QVERIFY2(startWithSockets(daemon), daemon.log().c_str());
        Talk talk(daemon);
        talk.say("{'op':'send','id':'k','input':'say half\\nwait 60000'}");
        QVERIFY(!talk.await("'type':'delta'").empty());
        const std::string lastId = field(talk.lines.back(), "id");
        daemon.kill();
        QVERIFY2(daemon.start(), daemon.log().c_str());
        // Without anybody asking.
        const QString state = sessions(daemon) + QStringLiteral("default/state");
        QVERIFY(waitFor([&] { return slurp(state).value_or("") == "error\n"; }));
        const Outcome doctor = daemon.ctx({QStringLiteral("doctor")});
        QVERIFY2(doctor.out.find("cut short") != std::string::npos, doctor.out.c_str());
        Talk again(daemon);
        again.say("{'op':'send','id':'k','input':'say half\\nwait 60000'}");
        const std::string done = again.await("'type':'done'");
        QCOMPARE(again.types(), std::string("start error done"));
        QCOMPARE(field(again.lines.at(1), "code"), std::string("EINTR"));
        QVERIFY(field(done, "id") > lastId);
        again.say("{'op':'resume','id':'r','after':'" + lastId + "'}");
        QVERIFY(!again.await("'type':'resumed'").empty());
    }

    void aTempSessionLeavesNothing()
    {
        DaemonProcess daemon;
        QVERIFY2(startWithSockets(daemon), daemon.log().c_str());
        {
            Talk talk(daemon);
            talk.say("{'op':'send','id':'a','scope':'temp','session':'t','input':'say one'}");
            QVERIFY(!talk.await("'type':'done'").empty());
            talk.say("{'op':'resume','id':'r','session':'t'}");
            QVERIFY(!talk.await("'type':'resumed'").empty());
            talk.say("{'op':'send','id':'b','scope':'temp','session':'t','input':'say two\\nwait 60000'}");
            QVERIFY(!talk.await("two").empty());
        }
        // Its run goes with the connection.
        QVERIFY(waitFor([&] {
            return daemon.ctx({QStringLiteral("status"), QStringLiteral("--json")}).out.find("\"runs\":0")
                   != std::string::npos;
        }));
        QVERIFY(!QFileInfo::exists(sessions(daemon)));
        Talk other(daemon);
        other.say("{'op':'status','id':'s','session':'t'}");
        QCOMPARE(field(other.await("'id':'s'"), "code"), std::string("ENOENT"));
    }

    void aFullDiskRefusesAndKeepsWhatWasThere()
    {
        if (::geteuid() != 0)
            QSKIP("needs root to mount a small file system");
        DaemonProcess daemon;
        QVERIFY2(startWithSockets(daemon), daemon.log().c_str());
        const QString home = daemon.installedTree() + QStringLiteral("/home/0");
        const Outcome mounted = shell(
            QStringLiteral("mkdir -p '%1' && mount -t tmpfs -o size=64k,mode=700 none '%1'").arg(home));
        if (mounted.exitCode != 0)
            QSKIP("no tmpfs can be mounted here");
        const auto unmount = qScopeGuard([&] { shell(QStringLiteral("umount -l '%1'").arg(home)); });
        Talk talk(daemon);
        talk.say("{'op':'send','id':'a','input':'say one'}");
        QVERIFY(!talk.await("'type':'done'").empty());
        const QString messages = sessions(daemon) + QStringLiteral("default/messages.jsonl");
        const std::string before = slurp(messages).value_or("");
        talk.say("{'op':'send','id':'b','input':'say " + std::string(200'000, 'x') + "'}");
        QCOMPARE(field(talk.await("'request':'b'"), "code"), std::string("ENOSPC"));
        QCOMPARE(slurp(messages).value_or(""), before);
        // The answer does not fit: said as an error, and the message stays.
        talk.say("{'op':'send','id':'c','input':'repeat 90000 x'}");
        // What waits behind it is served.
        talk.say("{'op':'send','id':'d','input':'say small'}");
        QVERIFY(!talk.await("'status':'error','request':'c'").empty());
        QVERIFY2(talk.all().find("ENOSPC") != std::string::npos, talk.all().c_str());
        const auto isDone = [&](const char *request) {
            return std::any_of(talk.lines.begin(), talk.lines.end(), [&](const std::string &line) {
                return field(line, "type") == "done" && field(line, "request") == request
                       && field(line, "status") == "ok";
            });
        };
        const auto pumped = [&] {
            talk.pump();
            return isDone("d");
        };
        QVERIFY2(waitFor(pumped), talk.all().c_str());
        QVERIFY(!isDone("c"));
    }

    void aSessionRemovedUnderAReaderBeginsAnew()
    {
        DaemonProcess daemon;
        QVERIFY2(startWithSockets(daemon), daemon.log().c_str());
        Talk talk(daemon);
        // More than a reader takes at once, so that it is in the middle of it.
        for (int i = 0; i < 12; ++i) {
            const std::string id = "m" + std::to_string(i);
            talk.say("{'op':'send','id':'" + id + "','input':'say " + std::string(100'000, 'x') + "'}");
        }
        QVERIFY(waitFor([&] {
            talk.pump();
            return field(talk.lines.empty() ? "" : talk.lines.back(), "request") == "m11"
                   && field(talk.lines.back(), "type") == "done";
        }));
        Talk slow(daemon);
        QVERIFY(slow.client.send("{\"op\":\"resume\",\"id\":\"r\"}\n"));
        // It waits with something to take: the first byte is looked at, and nothing is taken yet.
        char byte = 0;
        QVERIFY(waitFor([&] { return ::recv(slow.client.fd(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1; }));
        QDir(sessions(daemon) + QStringLiteral("default")).removeRecursively();
        talk.say("{'op':'send','id':'m1','input':'say new'}");
        QVERIFY2(!talk.await("'text':'new'").empty(), talk.all().c_str());
        QVERIFY(!slow.await("'id':'r'").empty()); // its error, or the end of what it had begun
        QCOMPARE(daemon.stop(), 0);
    }

    void aSharedSessionBelongsToItsSpace()
    {
        DaemonProcess daemon;
        QVERIFY2(startWithSockets(daemon), daemon.log().c_str());
        QVERIFY(QDir().mkpath(daemon.installedTree() + QStringLiteral("/shared/team")));
        Talk talk(daemon);
        talk.say("{'op':'send','id':'a','scope':'shared','shared':'team','input':'say one'}");
        QVERIFY(!talk.await("'status':'ok'").empty());
        QVERIFY(
            QFileInfo::exists(daemon.installedTree()
                              + QStringLiteral("/shared/team/model/debug/script.d/session/default/messages.jsonl")));
        QVERIFY(!QFileInfo::exists(sessions(daemon)));
        talk.say("{'op':'send','id':'b','scope':'shared','shared':'nobody','input':'say one'}");
        QCOMPARE(field(talk.await("'request':'b'"), "code"), std::string("ENOENT"));
    }

    void aReadOnlyBackingRefuses()
    {
        if (::geteuid() != 0)
            QSKIP("needs root to mount a file system");
        DaemonProcess daemon;
        QVERIFY2(startWithSockets(daemon), daemon.log().c_str());
        const QString home = daemon.installedTree() + QStringLiteral("/home/0");
        if (shell(QStringLiteral("mkdir -p '%1' && mount -t tmpfs -o ro,mode=700 none '%1'").arg(home)).exitCode != 0)
            QSKIP("no tmpfs can be mounted here");
        const auto unmount = qScopeGuard([&] { shell(QStringLiteral("umount -l '%1'").arg(home)); });
        Talk talk(daemon);
        talk.say("{'op':'send','id':'a','input':'say one'}");
        QCOMPARE(field(talk.await("'request':'a'"), "code"), std::string("EROFS"));
    }

    void aHugeFrameIsRefusedAndOthersAreServed()
    {
        DaemonProcess daemon;
        QVERIFY2(startWithSockets(daemon), daemon.log().c_str());
        Talk flood(daemon);
        const std::string piece(64 * 1024, 'x');
        std::size_t offered = 0;
        QVERIFY(waitFor([&] {
            offered += offered > (1 << 20) ? 0 : flood.client.offer(piece);
            return flood.isAtEnd();
        }));
        QCOMPARE(field(flood.lines.at(0), "code"), std::string("EMSGSIZE"));
        Talk talk(daemon);
        talk.say("not json");
        QCOMPARE(field(talk.await("'type':'error'"), "code"), std::string("EINVAL"));
        talk.say("{'op':'ping'}");
        QVERIFY(!talk.await("'type':'pong'").empty());
    }

    void aCrowdKeepsNobodyOutForGood()
    {
        DaemonProcess daemon;
        daemon.setDescriptorLimit(128);
        QVERIFY2(startWithSockets(daemon), daemon.log().c_str());
        std::list<Talk> crowd;
        for (int i = 0; i < 300; ++i) {
            crowd.emplace_back(daemon);
            QVERIFY(crowd.back().client.isConnected());
            crowd.back().say("{'op':'ping'}");
        }
        // Some have a seat, the others wait; whoever administers the daemon is not among them.
        const auto served = [&crowd] {
            return std::count_if(crowd.begin(), crowd.end(), [](Talk &talk) {
                talk.pump();
                return !talk.lines.empty();
            });
        };
        QVERIFY(waitFor([&] { return served() > 0; }));
        const Outcome status = daemon.ctx({QStringLiteral("status")});
        QVERIFY2(status.exitCode == 0, status.err.c_str());
        QVERIFY(served() < 128);
        crowd.clear();
        Talk late(daemon);
        late.say("{'op':'ping'}");
        QVERIFY(!late.await("'type':'pong'").empty());
    }

    void aReaderThatStopsHoldsTheRun()
    {
        DaemonProcess daemon;
        QVERIFY2(startWithSockets(daemon), daemon.log().c_str());
        const std::int64_t before = peakOf(daemon);
        Talk lazy(daemon);
        lazy.say("{'op':'send','id':'a','input':'repeat 700000 x'}");
        Talk talk(daemon);
        talk.say("{'op':'status','id':'s0'}");
        // Held, and the daemon serves others; what is there comes once the reader goes on.
        QVERIFY(!talk.await("'state':'active'").empty());
        std::size_t bytes = 0;
        std::string tail;
        QVERIFY(waitFor(
            [&] {
                const std::string got = lazy.client.take();
                bytes += got.size();
                tail = (tail + got).substr(tail.size() + got.size() > 600 ? tail.size() + got.size() - 600 : 0);
                return tail.find("\"type\":\"done\"") != std::string::npos;
            },
            60'000));
        QVERIFY(bytes > 700'000);
        QVERIFY2(tail.find("\"status\":\"ok\"") != std::string::npos, tail.c_str());
#ifndef __SANITIZE_ADDRESS__
        // The stream has more than 60 MiB. What the daemon held of it is the text of one message, in a few copies.
        QVERIFY2(peakOf(daemon) - before < 16 * 1024, std::to_string(peakOf(daemon) - before).c_str());
#else
        QVERIFY(before > 0);
#endif
    }

    void withoutTheControlThereIsNoSocket()
    {
        DaemonProcess daemon;
        QVERIFY2(startWithSockets(daemon), daemon.log().c_str());
        const QString link = daemon.path("model/debug/echo.sock");
        QVERIFY(QFileInfo(link).isSymLink());
        QCOMPARE(putText(daemon.path("model/debug/echo.d/session"), "none\n"), 0);
        QVERIFY(waitFor([&] { return !QFileInfo(link).isSymLink(); }));
        QCOMPARE(test::RawClient().connectTo(daemon.runtime().toStdString() + "/model/debug/echo.sock"), ENOENT);
        QCOMPARE(daemon.stop(), 0);
        QVERIFY2(daemon.start(), daemon.log().c_str());
        QVERIFY(QFileInfo(daemon.path("model/debug/script.sock")).isSymLink()); // kept across restarts
    }
};

QTEST_GUILESS_MAIN(SessionTest)
#include "session_test.moc"
