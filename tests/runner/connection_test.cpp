// Lines out of a socket, whatever way the kernel cuts them.
#include "app/runner/connection.h"
#include "common/base/unique_fd.h"

#include <QTemporaryDir>
#include <QTest>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

using namespace cortexfs;
using namespace cortexfs::runner;

namespace {

// A connection and its other end.
struct Pair {
    QTemporaryDir directory;
    std::string path = directory.filePath(QStringLiteral("s")).toStdString();
    UniqueFd listener;
    Connection connection;
    UniqueFd peer;

    Pair()
    {
        sockaddr_un address = {};
        address.sun_family = AF_UNIX;
        path.copy(address.sun_path, sizeof address.sun_path - 1);
        listener = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        if (::bind(listener.get(), reinterpret_cast<sockaddr *>(&address), sizeof address) != 0
            || ::listen(listener.get(), 1) != 0 || !connection.open(path.c_str()))
            qFatal("no unix socket");
        peer = UniqueFd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    }

    void say(std::string_view bytes) const
    {
        QCOMPARE(::write(peer.get(), bytes.data(), bytes.size()), ssize_t(bytes.size()));
    }

    // What comes of one receive.
    std::vector<std::string> take()
    {
        std::vector<std::string> lines;
        if (!connection.receiveSome())
            return {"(gone)"};
        for (Text line = connection.nextLine(); line.data; line = connection.nextLine())
            lines.emplace_back(line.data, line.size);
        return lines;
    }
};

} // namespace

class RunnerConnectionTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void linesCutAnywhereArriveWhole()
    {
        const std::string stream = "{\"id\":\"1\",\"a\":\"\xe4\xbd\xa0\"}\n\n{\"b\":2}\n{\"c\":3}\n";
        const std::vector<std::string> expected = {"{\"id\":\"1\",\"a\":\"\xe4\xbd\xa0\"}", "", "{\"b\":2}",
                                                   "{\"c\":3}"};
        for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
            Pair pair;
            std::vector<std::string> lines;
            for (const std::string_view part :
                 {std::string_view(stream).substr(0, cut), std::string_view(stream).substr(cut)}) {
                pair.say(part);
                if (part.empty())
                    continue;
                const std::vector<std::string> some = pair.take();
                lines.insert(lines.end(), some.begin(), some.end());
            }
            QCOMPARE(lines, expected);
        }
    }

    void linesThatComeByteByByteArriveWhole()
    {
        Pair pair;
        std::vector<std::string> lines;
        for (const char byte : std::string("{\"a\":1}\n{\"b\":2}\n")) {
            pair.say(std::string_view(&byte, 1));
            const std::vector<std::string> some = pair.take();
            lines.insert(lines.end(), some.begin(), some.end());
        }
        QCOMPARE(lines, (std::vector<std::string>{"{\"a\":1}", "{\"b\":2}"}));
    }

    void theLongestFrameArrivesAndALineWithoutEndDoesNot()
    {
        Pair pair;
        const auto push = [&](std::size_t count) {
            const std::string piece(16 * 1024, 'x');
            bool isThere = true;
            for (std::size_t sent = 0; sent < count && isThere; sent += piece.size()) {
                pair.say(piece);
                isThere = pair.connection.receiveSome();
                if (pair.connection.nextLine().data)
                    return false;
            }
            return isThere;
        };
        QVERIFY(push(1024 * 1024));
        pair.say("\n");
        QVERIFY(pair.connection.receiveSome());
        QCOMPARE(pair.connection.nextLine().size, std::size_t(1024 * 1024));
        QVERIFY(!push(2 * Connection::kLongestLine));
    }

    void whatWasSaidBeforeTheEndIsStillReadAfterAFailedSend()
    {
        Pair pair;
        pair.connection.outgoing().append("never read");
        pair.connection.sendSome();
        pair.say("last words\n");
        pair.peer.reset();
        pair.connection.outgoing().append("too late");
        pair.connection.sendSome();
        QVERIFY(!pair.connection.canSend());
        QVERIFY(!pair.connection.wantsToSend());
        QCOMPARE(pair.take(), (std::vector<std::string>{"last words"}));
        QCOMPARE(pair.take(), (std::vector<std::string>{"(gone)"}));
    }

    void aFullPeerIsNoFailure()
    {
        Pair pair;
        const std::string much(4 * 1024 * 1024, 'x');
        pair.connection.outgoing().append(much.data(), much.size());
        for (int i = 0; i < 3; ++i)
            pair.connection.sendSome();
        QVERIFY(pair.connection.canSend());
        QVERIFY(pair.connection.wantsToSend());
    }

    void noListenerAndNoFileAreToldApartFromOthers()
    {
        const QTemporaryDir directory;
        Connection missing;
        QVERIFY(!missing.open(directory.filePath(QStringLiteral("nothing")).toUtf8().constData()));
        QCOMPARE(errno, ENOENT);
        const std::string tooLong(200, 'x');
        Connection longPath;
        QVERIFY(!longPath.open(tooLong.c_str()));
        QCOMPARE(errno, ENAMETOOLONG);
    }
};

QTEST_GUILESS_MAIN(RunnerConnectionTest)
#include "connection_test.moc"
