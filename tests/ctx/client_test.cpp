// The blocking client of the control socket, against a socket that behaves well and badly.
#include "common/base/limits.h"
#include "common/control_client/client.h"
#include "tests/ctx/ctx_run.h"

#include <QTest>

#include <chrono>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

using namespace cortexfs;
using namespace cortexfs::control;
using cortexfs::ctx::test::Peer;
using cortexfs::ctx::test::World;
using namespace std::chrono_literals;

namespace {

constexpr auto kSoon = 200ms;

std::string socketOf(const World &world) { return world.runtime() + "/control.sock"; }

} // namespace

class ClientTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aReplyIsFoundAmongOtherFrames()
    {
        World world;
        world.daemon().on("op", [](Peer &peer, const json::Value &request) {
            peer.raw("{\"id\":\"somebody-else\",\"type\":\"result\",\"n\":1}\n");
            peer.raw("\n{\"id\":\"somebody-else\",\"type\":\"error\",\"code\":\"EIO\",\"message\":\"x\"}\r\n");
            peer.event(request, R"({"type":"delta","n":2})");
            peer.event(request, R"({"type":"error","run":"r1","code":"EIO"})");
            peer.result(request, "\"n\":3");
        });
        Result<Client> client = Client::connect(socketOf(world));
        QVERIFY(client.isOk());
        std::string stream;
        const Result<json::Document> reply = client->call("op", "\"a\":1", kReplyTime,
                                                          [&](const json::Value &frame) -> Result<void> {
                                                              stream += std::string(frame["type"].stringOr("?")) + " ";
                                                              return {};
                                                          });
        QVERIFY2(reply.isOk(), reply ? "" : reply.error().text().c_str());
        QCOMPARE(reply->root()["n"].asInt().value_or(0), std::int64_t{3});
        QCOMPARE(stream, std::string("delta error "));
        QCOMPARE(world.daemon().requests().front(), std::string(R"({"op":"op","id":"c1","a":1})"));
    }

    void oneConnectionCarriesManyCalls()
    {
        World world;
        world.daemon().reply("op", "\"ok\":true");
        Result<Client> client = Client::connect(socketOf(world));
        QVERIFY(client.isOk());
        for (int i = 0; i < 100; ++i)
            QVERIFY(client->call("op").isOk());
        QVERIFY(world.daemon().requests().back().find("\"c100\"") != std::string::npos);
    }

    void framesMayComeInAnyPieces_data()
    {
        QTest::addColumn<int>("size");
        for (const int size : {1, 2, 3, 7, 64, 1000})
            QTest::newRow(std::to_string(size).append(" bytes at a time").c_str()) << size;
    }
    void framesMayComeInAnyPieces()
    {
        QFETCH(int, size);
        World world;
        world.daemon().on("op", [size](Peer &peer, const json::Value &request) {
            const std::string id = request["id"].toJson();
            const std::string text = "{\"id\":" + id + ",\"type\":\"delta\",\"text\":\"\u6a21\"}\n{\"id\":" + id
                                     + ",\"type\":\"result\",\"text\":\"\u578b\"}\n";
            for (std::size_t at = 0; at < text.size(); at += static_cast<std::size_t>(size))
                peer.raw(std::string_view(text).substr(at, static_cast<std::size_t>(size)));
        });
        Result<Client> client = Client::connect(socketOf(world));
        const Result<json::Document> reply = client->call("op");
        QVERIFY(reply.isOk());
        QCOMPARE(std::string(reply->root()["text"].stringOr("")), std::string("\u578b"));
    }

    void theDaemonsErrorKeepsItsNameAndText()
    {
        World world;
        world.daemon().fail("op", "EDQUOT", "used up");
        const Result<json::Document> reply = Client::connect(socketOf(world))->call("op");
        QVERIFY(!reply);
        QCOMPARE(reply.error().number(), EDQUOT);
        QCOMPARE(reply.error().message(), std::string("used up"));
    }

    void anUnknownErrorNameIsAnIoError()
    {
        World world;
        world.daemon().fail("op", "EWHATEVER", "");
        const Result<json::Document> reply = Client::connect(socketOf(world))->call("op");
        QCOMPARE(reply.error().number(), EIO);
        QVERIFY(!reply.error().message().empty());
    }

    void badPeersGiveNamedErrors_data()
    {
        QTest::addColumn<QByteArray>("sends");
        QTest::addColumn<bool>("closes");
        QTest::addColumn<int>("number");
        QTest::newRow("text that is no JSON") << QByteArray("HTTP/1.1 400 Bad Request\r\n\r\n") << false << EBADMSG;
        QTest::newRow("JSON that is no object") << QByteArray("[1,2]\n") << false << EBADMSG;
        QTest::newRow("an object without a type") << QByteArray("{\"id\":\"c1\"}\n") << false << EBADMSG;
        QTest::newRow("invalid UTF-8") << QByteArray("{\"id\":\"c1\",\"type\":\"\xff\"}\n") << false << EBADMSG;
        QTest::newRow("binary") << QByteArray("\0\1\2\n", 4) << false << EBADMSG;
        QTest::newRow("an error of no request")
            << QByteArray("{\"id\":null,\"type\":\"error\",\"code\":\"EINVAL\"}\n") << false << EINVAL;
        QTest::newRow("nothing, then the end") << QByteArray() << true << ECONNRESET;
        QTest::newRow("half a frame, then the end") << QByteArray("{\"id\":\"c1\",\"ty") << true << ECONNRESET;
        QTest::newRow("an error, then the end")
            << QByteArray("{\"id\":null,\"type\":\"error\",\"code\":\"EMSGSIZE\"}\n") << true << EMSGSIZE;
        QTest::newRow("silence") << QByteArray() << false << ETIMEDOUT;
        QTest::newRow("half a frame, then silence") << QByteArray("{\"id\":") << false << ETIMEDOUT;
        QTest::newRow("an endless frame") << QByteArray(2 << 20, 'x') << false << EMSGSIZE;
    }
    void badPeersGiveNamedErrors()
    {
        QFETCH(QByteArray, sends);
        QFETCH(bool, closes);
        QFETCH(int, number);
        World world;
        world.daemon().on("op", [&](Peer &peer, const json::Value &) {
            peer.raw(std::string_view(sends.constData(), static_cast<std::size_t>(sends.size())));
            if (closes)
                peer.close();
        });
        Result<Client> client = Client::connect(socketOf(world));
        QVERIFY(client.isOk());
        // Patience runs out only where nothing else ends the wait, however busy the machine is.
        constexpr std::chrono::milliseconds kLong = 60s;
        const auto before = std::chrono::steady_clock::now();
        const Result<json::Document> reply = client->call("op", {}, number == ETIMEDOUT ? kSoon : kLong);
        QVERIFY(!reply);
        QCOMPARE(std::string(reply.error().name()), std::string(errnoName(number)));
        QVERIFY(std::chrono::steady_clock::now() - before < kLong);
    }

    void everyFrameRenewsThePatience()
    {
        World world;
        world.daemon().on("op", [](Peer &peer, const json::Value &request) {
            for (int i = 0; i < 8; ++i) {
                ::poll(nullptr, 0, 100); // slower in sum than the patience, faster one by one
                if (!peer.event(request, R"({"type":"delta"})"))
                    return;
            }
            peer.result(request, {});
        });
        QVERIFY(Client::connect(socketOf(world))->call("op", {}, 500ms).isOk());
    }

    void absentDaemonsAreTold_data()
    {
        QTest::addColumn<QByteArray>("what");
        QTest::newRow("no socket") << QByteArray("none");
        QTest::newRow("no directory") << QByteArray("nowhere");
        QTest::newRow("a socket that a killed daemon left") << QByteArray("stale");
        QTest::newRow("a file in its place") << QByteArray("file");
    }
    void absentDaemonsAreTold()
    {
        QFETCH(QByteArray, what);
        World world;
        std::string path = socketOf(world);
        if (what == "nowhere")
            path = world.runtime() + "/not/there/control.sock";
        if (what == "file")
            QVERIFY(::mknod(path.c_str(), S_IFREG | 0666, 0) == 0);
        if (what == "stale") {
            world.daemon();
            world.stopDaemon(); // closes, and leaves the name
        }
        const Result<Client> client = Client::connect(path, kSoon);
        QVERIFY(!client);
        QCOMPARE(std::string(client.error().name()), std::string("EHOSTDOWN"));
    }

    void aPathTooLongForTheAddressWorks()
    {
        World world;
        std::string directory = world.base();
        while (directory.size() < 200) {
            directory += "/long-directory-name";
            QVERIFY(::mkdir(directory.c_str(), 0755) == 0);
        }
        world.daemon().reply("op", {});
        QVERIFY(::rename(socketOf(world).c_str(), (directory + "/control.sock").c_str()) == 0);
        Result<Client> client = Client::connect(directory + "/control.sock");
        QVERIFY2(client.isOk(), client ? "" : client.error().text().c_str());
        QVERIFY(client->call("op").isOk());
    }

    void aFullQueueIsWaitedForAndThenGivenUp()
    {
        World world;
        const std::string path = socketOf(world);
        sockaddr_un address = {};
        address.sun_family = AF_UNIX;
        std::strcpy(address.sun_path, path.c_str());
        const UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM, 0));
        QVERIFY(::bind(listener.get(), reinterpret_cast<sockaddr *>(&address), sizeof address) == 0);
        QVERIFY(::listen(listener.get(), 0) == 0);
        std::vector<Client> held;
        for (;;) {
            Result<Client> client = Client::connect(path, 50ms);
            if (!client) {
                QCOMPARE(client.error().number(), ETIMEDOUT);
                break;
            }
            held.push_back(std::move(*client));
            QVERIFY(held.size() < 64);
        }
    }

    void aRequestOverOneFrameIsNotSent()
    {
        World world;
        world.daemon().reply("op", {});
        Result<Client> client = Client::connect(socketOf(world));
        const Result<json::Document> big = client->call("op", "\"a\":\"" + std::string(limits::kFrame, 'x') + "\"");
        QCOMPARE(big.error().number(), EMSGSIZE);
        QVERIFY2(client->call("op").isOk(), "and the connection is as good as before");
        QCOMPARE(world.daemon().requests().size(), std::size_t{1});
    }

    void aPeerThatAnswersWhileWeSendDoesNotBlockUs()
    {
        World world;
        // It writes a megabyte before it reads on: both sides' buffers are full at once unless the client reads too.
        world.daemon().on("first", [](Peer &peer, const json::Value &) {
            const std::string filler = "{\"id\":\"other\",\"type\":\"delta\",\"x\":\"" + std::string(60'000, 'y')
                                       + "\"}\n";
            for (int i = 0; i < 20; ++i)
                peer.raw(filler);
        });
        world.daemon().reply("second", "\"ok\":true");
        Result<Client> client = Client::connect(socketOf(world));
        QVERIFY(client->send(requestFrame("first", client->nextId(), {})).isOk());
        const Result<json::Document> reply = client->call("second", "\"a\":\"" + std::string(900'000, 'x') + "\"", 5s);
        QVERIFY2(reply.isOk(), reply ? "" : reply.error().text().c_str());
    }

    void signalsDoNotDisturbAWait()
    {
        struct sigaction action = {};
        action.sa_handler = [](int) {};
        ::sigaction(SIGUSR1, &action, nullptr);
        World world;
        const pthread_t waiting = ::pthread_self();
        world.daemon().on("op", [waiting](Peer &peer, const json::Value &request) {
            for (int i = 0; i < 20; ++i) {
                ::pthread_kill(waiting, SIGUSR1);
                ::poll(nullptr, 0, 5);
            }
            peer.result(request, {});
        });
        QVERIFY(Client::connect(socketOf(world))->call("op").isOk());
    }

    void aGonePeerIsNoSignal()
    {
        ::signal(SIGPIPE, SIG_DFL); // it would end this test program
        World world;
        world.daemon().on("op", [](Peer &peer, const json::Value &) { peer.close(); });
        Result<Client> client = Client::connect(socketOf(world));
        QCOMPARE(client->call("op").error().number(), ECONNRESET);
        QCOMPARE(client->call("op").error().number(), ECONNRESET);
    }
};

QTEST_GUILESS_MAIN(ClientTest)
#include "client_test.moc"
