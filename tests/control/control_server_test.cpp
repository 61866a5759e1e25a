// The control socket itself: framing, requests that are none, authority, clients that misbehave, shutting down.
#include "common/base/limits.h"
#include "common/json/json.h"
#include "tests/common/test_strings.h"
#include "tests/control/control_fixture.h"

#include <QTest>
#include <QTimer>

#include <random>

#include <grp.h>
#include <sys/wait.h>

using namespace cortexfs;
using namespace cortexfs::test;
using control::Authority;
using control::Request;
using control::Responder;

namespace {

const std::string kPing = "{\"op\":\"ping\",\"id\":\"p\"}\n";
const std::string kPong = "{\"id\":\"p\",\"type\":\"result\",\"pong\":true}\n";

void addPing(control::ControlServer &server, Authority authority = Authority::Anyone)
{
    server.addHandler("ping", authority,
                      [](const Request &, const Responder &responder) { responder.result("\"pong\":true"); });
}

// What a process of another identity gets for one request; the parent's event loop turns meanwhile.
std::string askAs(uid_t uid, gid_t gid, const std::string &path, const std::string &request)
{
    int ends[2] = {};
    if (::pipe2(ends, O_CLOEXEC) != 0)
        return "pipe";
    const pid_t child = ::fork();
    if (child == 0) {
        if (::setgroups(0, nullptr) != 0 || ::setgid(gid) != 0 || ::setuid(uid) != 0)
            ::_exit(1);
        RawClient client(path);
        client.send(request);
        client.halfClose();
        while (!client.isAtEnd())
            ::usleep(500);
        const std::string text = client.take();
        ::_exit(::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 2);
    }
    ::close(ends[1]);
    int status = -1;
    turnUntil([&] { return ::waitpid(child, &status, WNOHANG) == child; });
    std::string out(65536, '\0');
    const ssize_t got = ::read(ends[0], out.data(), out.size());
    ::close(ends[0]);
    out.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return out;
}

} // namespace

class ControlServerTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void noRequests_data();
    void noRequests();
    void emptyLinesAreNothing();
    void theSocketIsForEverybody();
    void theLargestFrame();
    void aFrameThatIsTooLarge();
    void randomBytes();
    void requestsCutAnywhere();
    void authority_data();
    void authority();
    void lateAnswersReachAHalfClosedClient();
    void lateAnswersToNobody();
    void answersOfOneConnectionDoNotMix();
    void anAnswerThatIsTooLarge();
    void aLongErrorIsCut();
    void secondServerOnTheSamePath();
    void shutDownEndsRunsAndRefusesNewOnes();
    void destroyedWithLiveExecutions();
    void clientsThatComeAndGo();
};

void ControlServerTest::noRequests_data()
{
    QTest::addColumn<std::string>("frame");
    QTest::addColumn<std::string>("id"); // as JSON
    QTest::addColumn<std::string>("word");
    const auto row = [](const char *title, std::string frame, const char *id, const char *word) {
        QTest::newRow(title) << std::move(frame) << std::string(id) << std::string(word);
    };
    row("no JSON", "hello", "null", "invalid JSON");
    row("JSON cut short", "{\"op\":\"ping\"", "null", "invalid JSON");
    row("two objects in a line", "{\"op\":\"ping\",\"id\":\"p\"}{}", "null", "invalid JSON");
    row("a list", "[1]", "null", "JSON object");
    row("a string", "\"ping\"", "null", "JSON object");
    row("null", "null", "null", "JSON object");
    row("blanks", "  ", "null", "invalid JSON");
    row("invalid UTF-8", "{\"op\":\"ping\",\"id\":\"\xff\"}", "null", "invalid JSON");
    row("a BOM", "\xef\xbb\xbf{\"op\":\"ping\",\"id\":\"p\"}", "null", "invalid JSON");
    row("a NUL", std::string("{\"op\":\"ping\",\"id\":\"p\"}\0", 23), "null", "invalid JSON");
    row("nested without end", std::string(100'000, '['), "null", "nested");
    row("nested inside", "{\"op\":\"ping\",\"id\":\"p\",\"x\":" + std::string(500, '[') + std::string(500, ']') + "}",
        "null", "nested");
    row("no op", "{\"id\":\"7\"}", "\"7\"", "op: ");
    row("an op that is no string", "{\"op\":1,\"id\":\"7\"}", "\"7\"", "op: ");
    row("no id", "{\"op\":\"ping\"}", "null", "id: ");
    row("an id that is null", "{\"op\":\"ping\",\"id\":null}", "null", "id: ");
    row("an id that is an object", "{\"op\":\"ping\",\"id\":{}}", "null", "id: ");
    row("an id that is true", "{\"op\":\"ping\",\"id\":true}", "null", "id: ");
    row("an id that is too long", "{\"op\":\"ping\",\"id\":\"" + std::string(255, 'i') + "\"}", "null", "id: ");
    row("an unknown op", "{\"op\":\"pong\",\"id\":\"7\"}", "\"7\"", "unknown op: pong");
    row("an empty op", "{\"op\":\"\",\"id\":\"7\"}", "\"7\"", "unknown op: ");
    row("an op in upper case", "{\"op\":\"PING\",\"id\":\"7\"}", "\"7\"", "unknown op: PING");
    row("an op with a line feed", "{\"op\":\"a\\nb\",\"id\":\"7\"}", "\"7\"", "unknown op: a\\\\nb");
    row("an op of a megabyte", "{\"op\":\"" + std::string(1'000'000, 'x') + "\",\"id\":\"7\"}", "\"7\"",
        "unknown op: xxx");
}

void ControlServerTest::noRequests()
{
    QFETCH(std::string, frame);
    QFETCH(std::string, id);
    QFETCH(std::string, word);
    ControlFixture fixture;
    QVERIFY(fixture.start());
    addPing(*fixture.server);
    RawClient client = fixture.client();
    const std::string reply = ask(client, frame + "\n");
    QVERIFY2(reply.starts_with("{\"id\":" + id + ",\"type\":\"error\",\"code\":\"EINVAL\",\"message\":\""),
             reply.substr(0, 300).c_str());
    QVERIFY2(reply.find(word) != std::string::npos, reply.substr(0, 300).c_str());
    QCOMPARE(countOf(reply, "\n"), std::size_t(1));
    QVERIFY(reply.size() < 1000);
    QVERIFY(json::parse(reply.substr(0, reply.size() - 1)));
    QCOMPARE(ask(client, kPing), kPong); // the connection stays
}

void ControlServerTest::emptyLinesAreNothing()
{
    ControlFixture fixture;
    QVERIFY(fixture.start());
    addPing(*fixture.server);
    RawClient client = fixture.client();
    QCOMPARE(ask(client, "\n\r\n\n" + kPing + "\n\n"), kPong);
    const std::string longId = std::string(254, 'i');
    QCOMPARE(ask(client, "{\"op\":\"ping\",\"id\":\"" + longId + "\"}\r\n"),
             "{\"id\":\"" + longId + "\",\"type\":\"result\",\"pong\":true}\n");
    QCOMPARE(ask(client, "{\"op\":\"ping\",\"id\":-1.5e3}\n"),
             std::string("{\"id\":-1500.0,\"type\":\"result\",\"pong\":true}\n"));
}

void ControlServerTest::theSocketIsForEverybody()
{
    ControlFixture fixture;
    const mode_t before = ::umask(077);
    const bool started = fixture.start();
    ::umask(before);
    QVERIFY(started);
    struct stat info = {};
    QCOMPARE(::stat(fixture.places.controlSocket().c_str(), &info), 0);
    QCOMPARE(info.st_mode & 07777, mode_t(0666)); // SO_PEERCRED decides, not the mode
}

void ControlServerTest::theLargestFrame()
{
    ControlFixture fixture;
    QVERIFY(fixture.start());
    addPing(*fixture.server);
    RawClient client = fixture.client();
    const std::string head = "{\"op\":\"ping\",\"id\":\"p\",\"x\":\"";
    const std::string frame = head + std::string(limits::kFrame - head.size() - 3, 'x') + "\"}\n";
    QCOMPARE(frame.size(), limits::kFrame);
    QCOMPARE(ask(client, frame), kPong);
}

void ControlServerTest::aFrameThatIsTooLarge()
{
    ControlFixture fixture;
    QVERIFY(fixture.start());
    addPing(*fixture.server);
    RawClient client = fixture.client();
    const std::string head = "{\"op\":\"ping\",\"id\":\"p\",\"x\":\"";
    const std::string frame = head + std::string(limits::kFrame - head.size() - 2, 'x') + "\"}\n";
    QCOMPARE(frame.size(), limits::kFrame + 1);
    const std::string reply = ask(client, kPing + frame + kPing, 3);
    QVERIFY2(reply.starts_with(kPong + "{\"id\":null,\"type\":\"error\",\"code\":\"EMSGSIZE\""), reply.c_str());
    QCOMPARE(countOf(reply, "\n"), std::size_t(2));
    QVERIFY(turnUntil([&] { return client.isAtEnd() && fixture.sockets().empty(); }));
    RawClient next = fixture.client();
    QCOMPARE(ask(next, kPing), kPong);
}

void ControlServerTest::randomBytes()
{
    ControlFixture fixture;
    QVERIFY(fixture.start());
    addPing(*fixture.server);
    std::mt19937 random(42);
    const std::vector<std::string> words = {
        "{",     "}",
        "[",     "]",
        "\"",    "op",
        "exec",  "cancel",
        "stdin", "id",
        ":",     ",",
        "1",     "\\u0000",
        "\n",    "\r",
        "\xff",  "\xc3\xa9",
        "null",  "model/debug/echo",
        "argv",  "{\"op\":\"exec\",\"id\":\"1\",\"object\":\"model/debug/script\",\"stdin\":\"wait 5\"}\n"};
    for (int round = 0; round < 40; ++round) {
        RawClient client = fixture.client();
        std::string bytes;
        while (bytes.size() < 20'000) {
            if (round % 2 == 0)
                bytes += static_cast<char>(random() & 0xff);
            else
                bytes += words[random() % words.size()];
        }
        client.send(bytes + "\n");
        QVERIFY(turnUntil([&] { return !client.received().empty(); }));
        const std::string reply = ask(client, kPing); // whatever it was, the next request is served
        QVERIFY2(reply.find("\"type\":") != std::string::npos, reply.c_str());
        QVERIFY(turnUntil([&] {
            return reply.find(kPong) != std::string::npos || client.received().find(kPong) != std::string::npos;
        }));
    }
}

void ControlServerTest::requestsCutAnywhere()
{
    ControlFixture fixture;
    QVERIFY(fixture.start());
    addPing(*fixture.server);
    const std::string bytes = kPing + "x\n" + kPing;
    for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
        RawClient client = fixture.client();
        QVERIFY(client.send(bytes.substr(0, cut)));
        for (int i = 0; i < 3; ++i)
            QCoreApplication::processEvents();
        QVERIFY(client.send(bytes.substr(cut)));
        client.halfClose();
        QVERIFY(turnUntil([&] { return client.isAtEnd(); }));
        const std::string reply = client.take();
        QVERIFY(reply.starts_with(kPong) && reply.ends_with(kPong));
        QCOMPARE(countOf(reply, "\n"), std::size_t(3));
    }
}

void ControlServerTest::authority_data()
{
    QTest::addColumn<uint>("uid");
    QTest::addColumn<uint>("daemonUid");
    QTest::addColumn<bool>("administrator");
    QTest::newRow("root") << 0u << 12345u << true;
    QTest::newRow("the daemon's own uid") << 54322u << 54322u << true;
    QTest::newRow("another uid") << 54322u << 0u << false;
    QTest::newRow("another uid than the daemon's") << 54323u << 54322u << false;
}

void ControlServerTest::authority()
{
    QFETCH(uint, uid);
    QFETCH(uint, daemonUid);
    QFETCH(bool, administrator);
    if (::geteuid() != 0)
        QSKIP("only root can take another identity");
    ControlFixture fixture(daemonUid);
    QVERIFY(fixture.start());
    addPing(*fixture.server, Authority::Administrator);
    uid_t seen = 1;
    fixture.server->addHandler("who", Authority::Anyone, [&](const Request &request, const Responder &responder) {
        seen = request.peer.uid;
        responder.result("");
    });
    const std::string path = fixture.places.controlSocket();
    const std::string reply = askAs(uid, 54321, path, kPing);
    if (administrator)
        QCOMPARE(reply, kPong);
    else
        QVERIFY2(reply.starts_with("{\"id\":\"p\",\"type\":\"error\",\"code\":\"EACCES\""), reply.c_str());
    QCOMPARE(askAs(uid, 54321, path, "{\"op\":\"who\",\"id\":1}\n"), std::string("{\"id\":1,\"type\":\"result\"}\n"));
    QCOMPARE(seen, uid_t(uid));
    // Everybody may execute.
    const std::string exec = R"({"op":"exec","id":"1","object":"model/debug/echo","argv":["hi"]})";
    const std::string run = askAs(uid, 54321, path, exec + "\n");
    QVERIFY2(run.ends_with("\"exit\":0}\n"), run.c_str());
}

void ControlServerTest::lateAnswersReachAHalfClosedClient()
{
    ControlFixture fixture;
    QVERIFY(fixture.start());
    QTimer timer;
    timer.setSingleShot(true);
    fixture.server->addHandler("late", Authority::Anyone, [&](const Request &, const Responder &responder) {
        QObject::connect(&timer, &QTimer::timeout, fixture.server.get(),
                         [responder] { responder.result("\"late\":1"); });
        timer.start(100);
    });
    RawClient client = fixture.client();
    QVERIFY(client.send("{\"op\":\"late\",\"id\":\"a\"}\n"));
    client.halfClose();
    QVERIFY(turnUntil([&] { return client.isAtEnd(); }));
    QCOMPARE(client.take(), std::string("{\"id\":\"a\",\"type\":\"result\",\"late\":1}\n"));
    QVERIFY(turnUntil([&] { return fixture.sockets().empty(); }));
}

void ControlServerTest::lateAnswersToNobody()
{
    ControlFixture fixture;
    QVERIFY(fixture.start());
    std::vector<Responder> waiting;
    fixture.server->addHandler("late", Authority::Anyone,
                               [&](const Request &, const Responder &responder) { waiting.push_back(responder); });
    RawClient client = fixture.client();
    QVERIFY(client.send("{\"op\":\"late\",\"id\":\"a\"}\n{\"op\":\"late\",\"id\":\"b\"}\n"));
    QVERIFY(turnUntil([&] { return waiting.size() == 2; }));
    client.close();
    QVERIFY(turnUntil([&] { return fixture.sockets().empty(); }));
    waiting[0].result("\"x\":1");
    waiting[0].error(errors::io("x"));
    fixture.server.reset();
    waiting[1].error(errors::io("x")); // nobody is there, nothing happens
}

void ControlServerTest::answersOfOneConnectionDoNotMix()
{
    ControlFixture fixture;
    QVERIFY(fixture.start());
    std::vector<Responder> waiting;
    fixture.server->addHandler("late", Authority::Anyone,
                               [&](const Request &, const Responder &responder) { waiting.push_back(responder); });
    RawClient first = fixture.client();
    RawClient second = fixture.client();
    QVERIFY(first.send("{\"op\":\"late\",\"id\":\"a\"}\n"));
    QVERIFY(turnUntil([&] { return waiting.size() == 1; }));
    QVERIFY(second.send("{\"op\":\"late\",\"id\":\"a\"}\n{\"op\":\"late\",\"id\":\"b\"}\n"));
    QVERIFY(turnUntil([&] { return waiting.size() == 3; }));
    waiting[2].result("\"n\":3");
    waiting[1].result("\"n\":2");
    waiting[0].result("\"n\":1");
    QVERIFY(turnUntil([&] { return !first.received().empty() && countOf(second.received(), "\n") == 2; }));
    QCOMPARE(first.take(), std::string("{\"id\":\"a\",\"type\":\"result\",\"n\":1}\n"));
    QCOMPARE(second.take(),
             std::string("{\"id\":\"b\",\"type\":\"result\",\"n\":3}\n{\"id\":\"a\",\"type\":\"result\",\"n\":2}\n"));
}

void ControlServerTest::anAnswerThatIsTooLarge()
{
    ControlFixture fixture;
    QVERIFY(fixture.start());
    fixture.server->addHandler("large", Authority::Anyone, [](const Request &request, const Responder &responder) {
        responder.result("\"x\":\"" + std::string(static_cast<std::size_t>(request.body["n"].asInt().value_or(0)), 'x')
                         + "\"");
    });
    RawClient client = fixture.client();
    const std::size_t around = std::string("{\"id\":\"a\",\"type\":\"result\",\"x\":\"\"}\n").size();
    const auto large = [](std::size_t n) {
        return "{\"op\":\"large\",\"id\":\"a\",\"n\":" + std::to_string(n) + "}\n";
    };
    QCOMPARE(ask(client, large(limits::kFrame - around)).size(), limits::kFrame);
    const std::string reply = ask(client, large(limits::kFrame - around + 1));
    QVERIFY2(reply.starts_with("{\"id\":\"a\",\"type\":\"error\",\"code\":\"EMSGSIZE\""), reply.substr(0, 200).c_str());
}

void ControlServerTest::aLongErrorIsCut()
{
    ControlFixture fixture;
    QVERIFY(fixture.start());
    fixture.server->addHandler("bad", Authority::Anyone, [](const Request &, const Responder &responder) {
        std::string text = "x";
        for (int i = 0; i < 100'000; ++i)
            text += "\xc3\xa9\x01";
        responder.error(errors::invalid(text + "\xff"));
    });
    RawClient client = fixture.client();
    const std::string reply = ask(client, "{\"op\":\"bad\",\"id\":\"a\"}\n");
    QVERIFY(reply.size() < 30'000);
    const Result<json::Document> document = json::parse(reply.substr(0, reply.size() - 1));
    QVERIFY(document);
    QVERIFY(json::isValidUtf8(document->root()["message"].stringOr("\xff")));
}

void ControlServerTest::secondServerOnTheSamePath()
{
    ControlFixture fixture;
    QVERIFY(fixture.start());
    addPing(*fixture.server);
    control::ControlServer second(control::ExecServices{*fixture.models, fixture.runtime->snapshot()}, 0);
    const Result<void> listening = second.listen(fixture.places.controlSocket());
    QVERIFY(!listening);
    QCOMPARE(listening.error().number(), EADDRINUSE);
    RawClient client = fixture.client();
    QCOMPARE(ask(client, kPing), kPong);
}

void ControlServerTest::shutDownEndsRunsAndRefusesNewOnes()
{
    ControlFixture fixture;
    QVERIFY(fixture.start());
    int idle = 0;
    QObject::connect(fixture.server.get(), &control::ControlServer::becameIdle, fixture.server.get(), [&] { ++idle; });
    RawClient client = fixture.client();
    const std::string wait = R"({"op":"exec","id":"1","object":"model/debug/script","argv":["wait 60000"]})";
    const std::string open = R"({"op":"exec","id":"2","object":"model/debug/echo","stdin":"","stdin_open":true})";
    QVERIFY(client.send(wait + "\n" + open + "\n"));
    QVERIFY(turnUntil([&] { return fixture.server->liveExecutions() == 2 && !client.received().empty(); }));
    fixture.server->shutDown();
    QVERIFY(turnUntil([&] { return countOf(client.received(), "\"exit\":130") == 2; }));
    QCOMPARE(countOf(client.received(), "\"status\":\"cancelled\""), std::size_t(2));
    QVERIFY(turnUntil([&] { return idle == 1; }));
    QCOMPARE(fixture.server->liveExecutions(), 0);
    const std::string late = ask(client, wait + "\n");
    QVERIFY2(late.starts_with("{\"id\":\"1\",\"type\":\"error\",\"code\":\"EHOSTDOWN\""), late.c_str());
    QCOMPARE(RawClient().connectTo(fixture.places.controlSocket()), ENOENT);
}

void ControlServerTest::destroyedWithLiveExecutions()
{
    ControlFixture fixture;
    QVERIFY(fixture.start());
    std::vector<RawClient> clients;
    for (int i = 0; i < 5; ++i) {
        clients.push_back(fixture.client());
        const std::string text = i % 2 == 0 ? "wait 60000" : "repeat 500000 x";
        QVERIFY(clients.back().send("{\"op\":\"exec\",\"id\":\"1\",\"object\":\"model/debug/script\",\"argv\":[\""
                                    + text + "\"]}\n"));
    }
    QVERIFY(turnUntil([&] { return fixture.server->liveExecutions() == 5; }));
    for (int i = 0; i < 20; ++i)
        QCoreApplication::processEvents();
    fixture.server.reset();
    for (RawClient &client : clients)
        QVERIFY(turnUntil([&] { return client.isAtEnd(); }));
    for (int i = 0; i < 20; ++i)
        QCoreApplication::processEvents();
}

void ControlServerTest::clientsThatComeAndGo()
{
    ControlFixture fixture;
    QVERIFY(fixture.start());
    addPing(*fixture.server);
    for (int i = 0; i < 300; ++i) {
        RawClient client = fixture.client();
        QVERIFY(client.isConnected());
        if (i % 3 > 0)
            client.send(kPing.substr(0, static_cast<std::size_t>(i) % kPing.size()));
        if (i % 50 == 0)
            QCoreApplication::processEvents();
    }
    QVERIFY(turnUntil([&] { return fixture.sockets().empty(); }));
    RawClient client = fixture.client();
    QCOMPARE(ask(client, kPing), kPong);
}

QTEST_GUILESS_MAIN(ControlServerTest)
#include "control_server_test.moc"
