#include "daemon/sockets/unix_listener.h"
#include "tests/common/test_strings.h"
#include "tests/sockets/echo_server.h"
#include "tests/sockets/raw_client.h"
#include "tests/support/temp_dir.h"

#include <QTest>

#include <csignal>
#include <list>
#include <memory>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace cortexfs;
using namespace cortexfs::sockets;
using test::answers;
using test::DescriptorLimit;
using test::EchoServer;
using test::RawClient;

namespace {

mode_t modeOf(const std::string &path)
{
    struct stat info = {};
    return ::lstat(path.c_str(), &info) == 0 ? info.st_mode : 0;
}

} // namespace

class UnixListenerTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void serves();
    void modes_data();
    void modes();
    void aStaleSocketIsReplaced();
    void aKilledListenerIsReplaced();
    void aLiveListenerIsNotReplaced();
    void aFullBacklogIsAlive();
    void whatIsNoSocketStays_data();
    void whatIsNoSocketStays();
    void pathLengths_data();
    void pathLengths();
    void missingDirectory();
    void closeRemovesItsOwnPathOnly();
    void closeFromWithinASignal();
    void threeHundredClients();
    void furtherClientsWait();
    void outOfDescriptors();
    void peersAreWhoTheKernelSays();
    void groups();
    void destroyedWithClients();
};

void UnixListenerTest::serves()
{
    const test::TempDir dir;
    EchoServer server;
    QVERIFY(server.listener.listen(dir.path("s.sock"), 0600));
    QVERIFY(server.listener.isListening());
    QCOMPARE(server.listener.path(), dir.path("s.sock"));
    RawClient client(dir.path("s.sock"));
    QVERIFY(answers(client));
    QCOMPARE(server.listener.clientCount(), 1);
    client.close();
    QTRY_COMPARE(server.listener.clientCount(), 0);
    QVERIFY(!QFile::exists(QString::fromStdString(dir.path("s.sock.new"))));
}

void UnixListenerTest::modes_data()
{
    QTest::addColumn<uint>("mode");
    QTest::addColumn<uint>("mask");
    QTest::newRow("open to all whatever the umask") << 0666u << 077u;
    QTest::newRow("closed whatever the umask") << 0600u << 0u;
    QTest::newRow("group") << 0660u << 022u;
}

void UnixListenerTest::modes()
{
    QFETCH(uint, mode);
    QFETCH(uint, mask);
    const test::TempDir dir;
    UnixListener listener;
    const mode_t before = ::umask(mask);
    const Result<void> listening = listener.listen(dir.path("s"), mode);
    ::umask(before);
    QVERIFY(listening);
    QVERIFY(S_ISSOCK(modeOf(dir.path("s"))));
    QCOMPARE(modeOf(dir.path("s")) & 07777, mode);
}

void UnixListenerTest::aStaleSocketIsReplaced()
{
    const test::TempDir dir;
    for (const char *name : {"s", "s.new"}) { // also one that a crash left half-way
        const UniqueFd dead(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_un address = {};
        address.sun_family = AF_UNIX;
        dir.path(name).copy(address.sun_path, sizeof address.sun_path - 1);
        QCOMPARE(::bind(dead.get(), reinterpret_cast<const sockaddr *>(&address), sizeof address), 0);
    }
    QCOMPARE(RawClient().connectTo(dir.path("s")), ECONNREFUSED);
    EchoServer server;
    QVERIFY(server.listener.listen(dir.path("s"), 0600));
    RawClient client(dir.path("s"));
    QVERIFY(answers(client));
}

void UnixListenerTest::aKilledListenerIsReplaced()
{
    const test::TempDir dir;
    const std::string path = dir.path("s");
    int ready[2] = {};
    QCOMPARE(::pipe(ready), 0);
    const pid_t child = ::fork();
    QVERIFY(child >= 0);
    if (child == 0) {
        const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM, 0));
        sockaddr_un address = {};
        address.sun_family = AF_UNIX;
        path.copy(address.sun_path, sizeof address.sun_path - 1);
        if (::bind(fd.get(), reinterpret_cast<const sockaddr *>(&address), sizeof address) != 0
            || ::listen(fd.get(), 1) != 0)
            ::_exit(1);
        if (::write(ready[1], "r", 1) != 1)
            ::_exit(1);
        for (;;)
            ::pause();
    }
    char byte = 0;
    QCOMPARE(::read(ready[0], &byte, 1), ssize_t(1));
    EchoServer server;
    const Result<void> busy = server.listener.listen(path, 0600);
    QVERIFY(!busy);
    QCOMPARE(busy.error().number(), EADDRINUSE);
    ::kill(child, SIGKILL);
    QCOMPARE(::waitpid(child, nullptr, 0), child);
    ::close(ready[0]);
    ::close(ready[1]);
    QVERIFY(server.listener.listen(path, 0600));
    RawClient client(path);
    QVERIFY(answers(client));
}

void UnixListenerTest::aLiveListenerIsNotReplaced()
{
    const test::TempDir dir;
    EchoServer first;
    QVERIFY(first.listener.listen(dir.path("s"), 0600));
    RawClient early(dir.path("s"));
    EchoServer second;
    const Result<void> listening = second.listener.listen(dir.path("s"), 0600);
    QVERIFY(!listening);
    QCOMPARE(listening.error().number(), EADDRINUSE);
    QVERIFY(listening.error().text().find(dir.path("s")) != std::string::npos);
    QVERIFY(!second.listener.isListening());
    second.listener.close(); // must not take the path of the first one away
    RawClient late(dir.path("s"));
    QVERIFY(answers(early));
    QVERIFY(answers(late));
}

void UnixListenerTest::aFullBacklogIsAlive()
{
    const test::TempDir dir;
    const UniqueFd busy(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    dir.path("s").copy(address.sun_path, sizeof address.sun_path - 1);
    QCOMPARE(::bind(busy.get(), reinterpret_cast<const sockaddr *>(&address), sizeof address), 0);
    QCOMPARE(::listen(busy.get(), 0), 0);
    RawClient filling(dir.path("s"));
    QVERIFY(filling.isConnected());
    UnixListener listener;
    const Result<void> listening = listener.listen(dir.path("s"), 0600);
    QVERIFY(!listening);
    QCOMPARE(listening.error().number(), EADDRINUSE);
}

void UnixListenerTest::whatIsNoSocketStays_data()
{
    QTest::addColumn<std::string>("kind");
    QTest::newRow("a file") << std::string("file");
    QTest::newRow("a directory") << std::string("directory");
    QTest::newRow("a FIFO") << std::string("fifo");
    QTest::newRow("a dangling link") << std::string("link");
}

void UnixListenerTest::whatIsNoSocketStays()
{
    QFETCH(std::string, kind);
    const test::TempDir dir;
    const std::string path = dir.path("s");
    if (kind == "file")
        dir.write("s", "precious");
    if (kind == "directory")
        QCOMPARE(::mkdir(path.c_str(), 0700), 0);
    if (kind == "fifo")
        QCOMPARE(::mkfifo(path.c_str(), 0600), 0);
    if (kind == "link")
        QCOMPARE(::symlink("/nowhere/at/all", path.c_str()), 0);
    const mode_t before = modeOf(path);
    UnixListener listener;
    const Result<void> listening = listener.listen(path, 0600);
    QVERIFY(!listening);
    QCOMPARE(listening.error().number(), EEXIST);
    QCOMPARE(modeOf(path), before);
    if (kind == "file")
        QCOMPARE(dir.read("s"), std::string("precious"));
}

void UnixListenerTest::pathLengths_data()
{
    QTest::addColumn<int>("length");
    QTest::addColumn<bool>("ok");
    for (const int length : {90, 102, 103, 104, 105, 106, 107})
        QTest::addRow("%d bytes", length) << length << true;
    for (const int length : {108, 109, 150, 300})
        QTest::addRow("%d bytes", length) << length << false;
}

void UnixListenerTest::pathLengths()
{
    QFETCH(int, length);
    QFETCH(bool, ok);
    const test::TempDir dir;
    std::string path = dir.path();
    while (static_cast<int>(path.size()) + 40 < length) {
        path += "/" + std::string(30, 'd');
        QCOMPARE(::mkdir(path.c_str(), 0700), 0);
    }
    path += "/" + std::string(static_cast<std::size_t>(length) - path.size() - 1, 's');
    QCOMPARE(static_cast<int>(path.size()), length);
    EchoServer server;
    const Result<void> listening = server.listener.listen(path, 0600);
    QCOMPARE(listening.isOk(), ok);
    if (!ok) {
        QCOMPARE(listening.error().number(), ENAMETOOLONG);
        return;
    }
    RawClient client;
    QCOMPARE(client.connectTo(path), 0);
    QVERIFY(answers(client));
    QCOMPARE(modeOf(path + ".new"), mode_t(0));
    server.listener.close();
    QCOMPARE(modeOf(path), mode_t(0));
}

void UnixListenerTest::missingDirectory()
{
    const test::TempDir dir;
    UnixListener listener;
    const Result<void> listening = listener.listen(dir.path("gone/s"), 0600);
    QVERIFY(!listening);
    QCOMPARE(listening.error().number(), ENOENT);
    QVERIFY(!listener.isListening());
}

void UnixListenerTest::closeRemovesItsOwnPathOnly()
{
    const test::TempDir dir;
    EchoServer first;
    QVERIFY(first.listener.listen(dir.path("s"), 0600));
    RawClient client(dir.path("s"));
    QVERIFY(answers(client));
    QCOMPARE(::unlink(dir.path("s").c_str()), 0);
    EchoServer second;
    QVERIFY(second.listener.listen(dir.path("s"), 0600));
    first.listener.close();
    first.listener.close(); // twice is fine
    QVERIFY(!first.listener.isListening());
    QVERIFY(answers(client)); // clients stay
    RawClient other(dir.path("s"));
    QVERIFY(answers(other));
    second.listener.close();
    QCOMPARE(modeOf(dir.path("s")), mode_t(0));
    QCOMPARE(RawClient().connectTo(dir.path("s")), ENOENT);
}

void UnixListenerTest::closeFromWithinASignal()
{
    const test::TempDir dir;
    EchoServer server;
    QVERIFY(server.listener.listen(dir.path("s"), 0600));
    QObject::connect(&server.listener, &UnixListener::clientConnected, &server.listener,
                     [&] { server.listener.close(); });
    RawClient first(dir.path("s"));
    RawClient second(dir.path("s"));
    QVERIFY(answers(first));
    QTRY_VERIFY(second.isAtEnd());
    QCOMPARE(server.accepted, 1);
    QVERIFY(server.listener.listen(dir.path("s"), 0600)); // it can start again
    RawClient third(dir.path("s"));
    QVERIFY(answers(third));
}

void UnixListenerTest::threeHundredClients()
{
    const test::TempDir dir;
    EchoServer server;
    QVERIFY(server.listener.listen(dir.path("s"), 0600));
    std::list<RawClient> clients;
    for (int i = 0; i < 300; ++i) {
        clients.emplace_back();
        QCOMPARE(clients.back().connectTo(dir.path("s")), 0); // none is refused before the loop turns
    }
    int number = 0;
    for (RawClient &client : clients)
        QVERIFY(client.send("hello " + std::to_string(number++) + "\n"));
    number = 0;
    for (RawClient &client : clients) {
        QTRY_COMPARE(client.received(), "hello " + std::to_string(number) + "\n");
        ++number;
    }
    QCOMPARE(server.listener.clientCount(), 300);
    clients.clear();
    QTRY_COMPARE(server.listener.clientCount(), 0);
}

void UnixListenerTest::furtherClientsWait()
{
    const test::TempDir dir;
    EchoServer server(2);
    QVERIFY(server.listener.listen(dir.path("s"), 0600));
    RawClient first(dir.path("s"));
    RawClient second(dir.path("s"));
    QVERIFY(answers(first));
    QVERIFY(answers(second));
    RawClient third(dir.path("s"));
    QVERIFY(third.send("ping\n"));
    QVERIFY(answers(first)); // the loop turned; the third was not accepted
    QCOMPARE(server.listener.clientCount(), 2);
    QCOMPARE(server.accepted, 2);
    QVERIFY(third.received().empty());
    second.close();
    QTRY_COMPARE(third.received(), std::string("ping\n"));
    QCOMPARE(server.listener.clientCount(), 2);
}

void UnixListenerTest::outOfDescriptors()
{
    const test::TempDir dir;
    EchoServer server;
    QVERIFY(server.listener.listen(dir.path("s"), 0600));
    RawClient before(dir.path("s"));
    QVERIFY(answers(before));
    std::list<RawClient> waiting;
    for (int i = 0; i < 8; ++i)
        waiting.emplace_back(dir.path("s"));
    DescriptorLimit limit;
    // No new descriptor can be had: everything below the lowest free one is taken.
    const int lowestFree = ::dup(0);
    ::close(lowestFree);
    limit.lower(static_cast<rlim_t>(lowestFree));
    QTest::ignoreMessage(QtWarningMsg, QRegularExpression(QStringLiteral("^accept on .*Too many open files")));
    QVERIFY(answers(before)); // the loop turns and does not spin on the listener
    QCOMPARE(server.listener.clientCount(), 1);
    QVERIFY(server.listener.isListening());
    QVERIFY(S_ISSOCK(modeOf(dir.path("s"))));
    QTest::ignoreMessage(QtWarningMsg, QRegularExpression(QStringLiteral("^accept on .*Too many open files")));
    // One client leaves and its descriptor serves the next that waits, without waiting for a timer of ours.
    limit.lower(static_cast<rlim_t>(lowestFree) + 3);
    QTRY_COMPARE(server.listener.clientCount(), 4);
    QTest::ignoreMessage(QtWarningMsg, QRegularExpression(QStringLiteral("^accept on .*Too many open files")));
    before.close();
    QTRY_VERIFY(server.accepted >= 5);
    limit.restore();
    for (RawClient &client : waiting)
        QVERIFY(answers(client));
    RawClient late(dir.path("s"));
    QVERIFY(answers(late));
}

void UnixListenerTest::peersAreWhoTheKernelSays()
{
    const test::TempDir dir;
    QCOMPARE(::chmod(dir.path().c_str(), 0755), 0);
    EchoServer server;
    QVERIFY(server.listener.listen(dir.path("s"), 0666));
    RawClient own(dir.path("s"));
    QVERIFY(answers(own));
    QCOMPARE(server.lastPeer.uid, ::geteuid());
    QCOMPARE(server.lastPeer.gid, ::getegid());
    QCOMPARE(server.lastPeer.pid, ::getpid());
    if (::geteuid() != 0)
        return; // another uid needs root
    const std::string path = dir.path("s");
    const pid_t child = ::fork();
    QVERIFY(child >= 0);
    if (child == 0) {
        if (::setgid(54321) != 0 || ::setuid(54322) != 0)
            ::_exit(1);
        RawClient client(path);
        while (client.isConnected())
            ::usleep(1000);
        ::_exit(2);
    }
    QTRY_COMPARE(server.accepted, 2);
    QCOMPARE(server.lastPeer.uid, uid_t(54322));
    QCOMPARE(server.lastPeer.gid, gid_t(54321));
    QCOMPARE(server.lastPeer.pid, child);
    ::kill(child, SIGKILL);
    QCOMPARE(::waitpid(child, nullptr, 0), child);
}

void UnixListenerTest::groups()
{
    QVERIFY(isInGroup(0, "root"));
    QVERIFY(!isInGroup(0, "no-such-group-here"));
    QVERIFY(!isInGroup(54321, "root")); // a uid without an entry is in none
    QVERIFY(!isInGroup(0, ""));
}

void UnixListenerTest::destroyedWithClients()
{
    const test::TempDir dir;
    RawClient client;
    {
        EchoServer server;
        QVERIFY(server.listener.listen(dir.path("s"), 0600));
        QCOMPARE(client.connectTo(dir.path("s")), 0);
        QVERIFY(answers(client));
    }
    QTRY_VERIFY(client.isAtEnd());
    QCOMPARE(modeOf(dir.path("s")), mode_t(0));
}

QTEST_GUILESS_MAIN(UnixListenerTest)
#include "unix_listener_test.moc"
