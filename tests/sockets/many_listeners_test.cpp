#include "daemon/sockets/unix_listener.h"
#include "tests/sockets/echo_server.h"
#include "tests/sockets/raw_client.h"
#include "tests/support/temp_dir.h"

#include <QDir>
#include <QTest>

#include <algorithm>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

using namespace cortexfs;
using namespace cortexfs::sockets;
using test::answers;
using test::DescriptorLimit;
using test::EchoServer;
using test::RawClient;

namespace {

int openDescriptors()
{
    return static_cast<int>(QDir(QStringLiteral("/proc/self/fd")).entryList(QDir::AllEntries | QDir::System).size());
}

// In a process of its own: so many clients connect, half of them to each path; once `served` were answered all go, and one
// more at each path must be answered. 0 when it went so.
int crowd(const std::string &first, const std::string &second, int count, int served)
{
    const auto until = [](const std::function<bool()> &condition) {
        for (int i = 0; i < 30'000 && !condition(); ++i)
            ::usleep(1000);
        return condition();
    };
    std::list<RawClient> clients;
    for (int i = 0; i < count; ++i) {
        clients.emplace_back();
        if (clients.back().connectTo(i % 2 == 0 ? first : second) != 0 || !clients.back().send("ping\n"))
            return 1;
    }
    const auto answered = [&] {
        return std::count_if(clients.begin(), clients.end(),
                             [](RawClient &client) { return !client.received().empty(); });
    };
    if (!until([&] { return answered() >= served; }))
        return 2;
    if (answered() != served)
        return 3;
    clients.clear();
    for (const std::string &path : {first, second}) {
        RawClient late(path);
        if (!late.send("ping\n") || !until([&] { return late.received() == "ping\n"; }))
            return 4;
    }
    return 0;
}

} // namespace

class ManyListenersTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aThousandClientsLeaveNothingBehind();
    void listenersShareALoop();
    void aSharedBudgetIsDividedFairly();
    void aSharedBudgetKeepsDescriptorsFree();
    void aBudgetOutlivesItsListener();
};

void ManyListenersTest::aThousandClientsLeaveNothingBehind()
{
    const test::TempDir dir;
    const auto loop = *SocketLoop::create();
    EchoServer server(4096, {loop, nullptr});
    QVERIFY(server.listener.listen(dir.path("s"), 0600));
    const int before = openDescriptors();
    for (int i = 0; i < 1000; ++i) {
        RawClient client(dir.path("s"));
        QVERIFY(client.isConnected());
        if (i % 10 == 0)
            QVERIFY(answers(client));
        else if (i % 3 == 0)
            QVERIFY(client.send("ping\n"));
    }
    QTRY_COMPARE(server.accepted, 1000);
    QTRY_COMPARE(server.listener.clientCount(), 0);
    QCOMPARE(openDescriptors(), before);
    QCOMPARE(loop->watchedCount(), 1);
}

void ManyListenersTest::listenersShareALoop()
{
    const test::TempDir dir;
    const auto loop = *SocketLoop::create();
    std::list<EchoServer> servers;
    std::list<RawClient> clients;
    const int before = openDescriptors();
    for (int i = 0; i < 100; ++i) {
        servers.emplace_back(4096, SharedSockets{loop, nullptr});
        const std::string path = dir.path("s" + std::to_string(i));
        QVERIFY(servers.back().listener.listen(path, 0600));
        clients.emplace_back(path);
    }
    for (RawClient &client : clients)
        QVERIFY(answers(client));
    QCOMPARE(loop->watchedCount(), 200);
    QCOMPARE(openDescriptors(), before + 300); // a listener, and both ends of a client
    servers.pop_front();
    QTRY_VERIFY(clients.front().isAtEnd());
    clients.pop_front();
    for (RawClient &client : clients)
        QVERIFY(answers(client));
    servers.clear();
    QCOMPARE(loop->watchedCount(), 0);
}

void ManyListenersTest::aSharedBudgetIsDividedFairly()
{
    const test::TempDir dir;
    const auto loop = *SocketLoop::create();
    const auto budget = ClientBudget::create(1);
    std::list<EchoServer> servers;
    std::list<RawClient> clients;
    for (int i = 0; i < 3; ++i) {
        servers.emplace_back(4096, SharedSockets{loop, budget});
        QVERIFY(servers.back().listener.listen(dir.path(std::to_string(i)), 0600));
    }
    for (int round = 0; round < 12; ++round) {
        for (int i = 0; i < 3; ++i) {
            clients.emplace_back(dir.path(std::to_string(i)));
            QVERIFY(clients.back().send("ping\n"));
        }
    }
    // Who was answered leaves: the next is served, of each listener as many.
    for (int done = 1; done <= 36; ++done) {
        QVERIFY(QTest::qWaitFor([&] {
            return std::any_of(clients.begin(), clients.end(), [](RawClient &c) { return !c.received().empty(); });
        }));
        QCOMPARE(budget->taken(), 1);
        if (done % 3 == 0) {
            for (const EchoServer &server : servers)
                QCOMPARE(server.accepted, done / 3);
        }
        std::erase_if(clients, [](RawClient &client) { return !client.received().empty(); });
    }
    QTRY_COMPARE(budget->taken(), 0);
}

void ManyListenersTest::aSharedBudgetKeepsDescriptorsFree()
{
    QTest::failOnWarning(QRegularExpression(QStringLiteral("accept on")));
    const test::TempDir dir;
    const auto loop = *SocketLoop::create();
    const auto budget = ClientBudget::create(64);
    EchoServer first(4096, {loop, budget});
    EchoServer second(4096, {loop, budget});
    QVERIFY(first.listener.listen(dir.path("a"), 0600));
    QVERIFY(second.listener.listen(dir.path("b"), 0600));
    const pid_t child = ::fork();
    QVERIFY(child >= 0);
    if (child == 0)
        ::_exit(crowd(dir.path("a"), dir.path("b"), 300, 64));
    DescriptorLimit limit;
    limit.lower(128);
    int status = -1;
    QVERIFY(QTest::qWaitFor([&] { return ::waitpid(child, &status, WNOHANG) == child; }, 60'000));
    limit.restore();
    QCOMPARE(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
    QTRY_COMPARE(budget->taken(), 0);
    QCOMPARE(first.listener.clientCount() + second.listener.clientCount(), 0);
}

void ManyListenersTest::aBudgetOutlivesItsListener()
{
    const test::TempDir dir;
    const auto budget = ClientBudget::create(1);
    EchoServer lasting(4096, {nullptr, budget});
    QVERIFY(lasting.listener.listen(dir.path("b"), 0600));
    auto ending = std::make_unique<EchoServer>(4096, SharedSockets{nullptr, budget});
    QVERIFY(ending->listener.listen(dir.path("a"), 0600));
    QObject holder;
    QObject::connect(&ending->listener, &UnixListener::clientConnected, &holder,
                     [&](FrameSocket *socket) { socket->setParent(&holder); });
    RawClient taken(dir.path("a"));
    QVERIFY(answers(taken));
    RawClient alsoThere(dir.path("a")); // whose listener waits for a seat when it goes
    RawClient waiting(dir.path("b"));
    QVERIFY(waiting.send("ping\n"));
    QVERIFY(answers(taken));
    ending.reset();
    QCOMPARE(budget->taken(), 1); // its client stays, and counts
    QVERIFY(answers(taken));
    QVERIFY(waiting.received().empty());
    taken.close();
    QTRY_COMPARE(waiting.received(), std::string("ping\n"));
    QCOMPARE(budget->taken(), 1);
}

QTEST_GUILESS_MAIN(ManyListenersTest)
#include "many_listeners_test.moc"
