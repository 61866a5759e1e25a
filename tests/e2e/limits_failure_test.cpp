// A refresh of the context limits that fails: the limits of before hold, in the tree, on the disk and over a restart.
#include "tests/e2e/daemon_process.h"
#include "tests/support/wire_replies.h"
#include "tests/support/wire_server.h"

#include <QDir>
#include <QFile>
#include <QScopeGuard>
#include <QTest>

#include <atomic>
#include <memory>

#include <sys/mount.h>
#include <unistd.h>

using namespace cortexfs;
using namespace cortexfs::e2e;

namespace {

// The second fetch is answered by this, every other one with a catalogue.
using Failure = std::function<void(test::WirePeer &)>;

std::string catalogue(int limit)
{
    return "{\"local\":{\"models\":{\"a\":{\"limit\":{\"context\":" + std::to_string(limit) + "}}}}}";
}

std::string jsonReply(const std::string &body)
{
    return test::closing(
        test::reply(200, "application/json", body, {"ETag: \"v" + std::to_string(body.size()) + "\""}));
}

class Fixture {
public:
    Fixture() : server(std::make_unique<test::WireServer>([this](test::WirePeer &peer) { answer(peer); })) {}

    // The daemon with the limit 777 from the first fetch; false when that fails already.
    bool start()
    {
        QFile file(daemon.config() + QStringLiteral("/cortexd.json"));
        if (!file.open(QIODevice::WriteOnly))
            return false;
        file.write(QByteArray::fromStdString("{\"models_dev_url\":\"" + server->url("/api.json") + "\"}"));
        file.close();
        daemon.writeProvider(QStringLiteral("local.json"),
                             "{\"name\":\"local\",\"base_url\":\"http://127.0.0.1:9\",\"default_model\":\"a\"}");
        return daemon.start() && refresh().exitCode == 0 && limitIsSoon("777\n");
    }

    Outcome refresh()
    {
        return daemon.ctx({QStringLiteral("model"), QStringLiteral("limits"), QStringLiteral("refresh")});
    }
    bool limitIsSoon(const std::string &text) const
    {
        return waitFor([&] { return slurp(daemon.path("model/local/a.d/limit")).value_or("") == text; });
    }
    QString cacheDirectory() const { return daemon.state() + QStringLiteral("/cache"); }
    // Names and contents of all that lies in the cache directory.
    std::string cache() const
    {
        std::string text;
        const QDir directory(cacheDirectory());
        for (const QString &name : directory.entryList(QDir::Files | QDir::Hidden | QDir::System, QDir::Name)) {
            if (name != QLatin1String("fill"))
                text += name.toStdString() + ":\n" + slurp(directory.filePath(name)).value_or("(unreadable)");
        }
        return text;
    }

    DaemonProcess daemon;
    Failure failure;
    std::unique_ptr<test::WireServer> server; // last: its threads use the rest

private:
    void answer(test::WirePeer &peer)
    {
        if (!peer.readRequest())
            return;
        const int number = ++m_fetches;
        if (number == 2 && failure)
            failure(peer);
        else
            peer.send(jsonReply(catalogue(number == 1 ? 777 : 999)));
    }

    std::atomic<int> m_fetches = 0;
};

} // namespace

Q_DECLARE_METATYPE(Failure)

class LimitsFailureTest : public QObject {
    Q_OBJECT

private:
    // After a refresh that has failed: nothing is different, and the limits outlive a restart.
    static void verifyOldLimits(Fixture &fixture, const std::string &cache)
    {
        QCOMPARE(fixture.cache(), cache);
        QCOMPARE(slurp(fixture.daemon.path("model/local/a.d/limit")).value_or(""), std::string("777\n"));
        QCOMPARE(fixture.daemon.stop(), 0);
        QVERIFY2(fixture.daemon.start(), fixture.daemon.log().c_str());
        QVERIFY(fixture.limitIsSoon("777\n"));
        QCOMPARE(fixture.cache(), cache);
    }

    static void verifyRefused(const Outcome &refused, int exitCode, const std::string &complaint)
    {
        const std::string said = "exit " + std::to_string(refused.exitCode) + ": " + refused.out + refused.err;
        QVERIFY2(refused.exitCode == exitCode, said.c_str());
        QVERIFY2(refused.err.find(complaint) != std::string::npos, said.c_str());
        QVERIFY2(refused.err.find("the limits of before hold") != std::string::npos, said.c_str());
        QCOMPARE(refused.out, std::string());
    }

private Q_SLOTS:
    void aBadAnswerKeepsTheLimits_data()
    {
        QTest::addColumn<Failure>("failure");
        QTest::addColumn<int>("exitCode");
        const auto bytes = [](const char *title, std::string sent, int exitCode) {
            QTest::newRow(title) << Failure([sent](test::WirePeer &peer) { peer.send(sent); }) << exitCode;
        };
        bytes("text that is no JSON", jsonReply("<html>sign in</html>"), 70);
        bytes("half a catalogue", jsonReply(catalogue(888).substr(0, 40)), 70);
        bytes("an empty object", jsonReply("{}"), 70);
        bytes("a list", jsonReply("[]"), 70);
        bytes("no bytes", jsonReply(""), 70);
        bytes("models without a limit", jsonReply("{\"local\":{\"models\":{\"a\":{}}}}"), 70);
        bytes("not found", test::closing(test::reply(404, "text/plain", "gone")), 1);
        bytes("a failure of the server", test::closing(test::reply(503, "text/plain", "")), 69);
        bytes("the connection ends within the body",
              "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n" + catalogue(888), 69);
        QTest::newRow("the connection breaks") << Failure([](test::WirePeer &peer) { peer.reset(); }) << 69;
    }
    void aBadAnswerKeepsTheLimits()
    {
        QFETCH(Failure, failure);
        QFETCH(int, exitCode);
        Fixture fixture;
        fixture.failure = failure;
        QVERIFY2(fixture.start(), fixture.daemon.log().c_str());
        const std::string cache = fixture.cache();
        QVERIFY2(cache.find("777") != std::string::npos, cache.c_str());
        const Outcome refused = fixture.refresh();
        verifyRefused(refused, exitCode, {});
        verifyOldLimits(fixture, cache);
        // The next answer counts again.
        QCOMPARE(fixture.refresh().exitCode, 0);
        QVERIFY(fixture.limitIsSoon("999\n"));
    }

    void aServerThatIsDownKeepsTheLimits()
    {
        Fixture fixture;
        QVERIFY2(fixture.start(), fixture.daemon.log().c_str());
        const std::string cache = fixture.cache();
        fixture.server.reset();
        verifyRefused(fixture.refresh(), 69, {});
        verifyOldLimits(fixture, cache);
    }

    void aDirectoryThatTakesNothingKeepsTheLimits_data()
    {
        QTest::addColumn<bool>("isFull");
        QTest::addColumn<QString>("complaint");
        QTest::newRow("a full disk") << true << "No space left";
        QTest::newRow("a read-only one") << false << "Read-only";
    }
    void aDirectoryThatTakesNothingKeepsTheLimits()
    {
        QFETCH(bool, isFull);
        QFETCH(QString, complaint);
        if (::geteuid() != 0)
            QSKIP("needs root: mounts a small tmpfs");
        Fixture fixture;
        QVERIFY2(fixture.start(), fixture.daemon.log().c_str());
        const std::string cache = fixture.cache();
        const QString directory = fixture.cacheDirectory();
        // The old cache on a disk of its own.
        QVERIFY(QFile::rename(directory, directory + QStringLiteral(".old")));
        QVERIFY(QDir().mkdir(directory));
        const QByteArray path = directory.toLocal8Bit();
        QCOMPARE(::mount("none", path.constData(), "tmpfs", 0, "size=64k,mode=0755"), 0);
        const auto unmount = qScopeGuard([&] {
            fixture.daemon.stop();
            ::umount2(path.constData(), MNT_DETACH);
        });
        QCOMPARE(shell(QStringLiteral("cp -p '%1.old'/* '%1'/").arg(directory)).exitCode, 0);
        if (isFull)
            shell(QStringLiteral("dd if=/dev/zero of='%1/fill' bs=1k count=1024 2>/dev/null").arg(directory));
        else
            QCOMPARE(::mount("none", path.constData(), "tmpfs", MS_REMOUNT | MS_RDONLY, "size=64k,mode=0755"), 0);
        QCOMPARE(fixture.cache(), cache);

        verifyRefused(fixture.refresh(), 1, complaint.toStdString());
        verifyOldLimits(fixture, cache);

        // With room again it works.
        if (isFull)
            QVERIFY(QFile::remove(directory + QStringLiteral("/fill")));
        else
            QCOMPARE(::mount("none", path.constData(), "tmpfs", MS_REMOUNT, "size=64k,mode=0755"), 0);
        const Outcome refreshed = fixture.refresh();
        QVERIFY2(refreshed.exitCode == 0, refreshed.err.c_str());
        QVERIFY(fixture.limitIsSoon("999\n"));
    }

    void aFileInPlaceOfTheDirectoryKeepsTheLimitsUntilTheNextStart()
    {
        Fixture fixture;
        QVERIFY2(fixture.start(), fixture.daemon.log().c_str());
        const QString directory = fixture.cacheDirectory();
        QVERIFY(QFile::rename(directory, directory + QStringLiteral(".old")));
        QVERIFY(QFile(directory).open(QIODevice::WriteOnly));
        verifyRefused(fixture.refresh(), 1, {});
        QVERIFY(fixture.limitIsSoon("777\n"));
        QVERIFY(QFile::remove(directory));
        QVERIFY(QFile::rename(directory + QStringLiteral(".old"), directory));
        QCOMPARE(fixture.refresh().exitCode, 0);
        QVERIFY(fixture.limitIsSoon("999\n"));
    }
};

QTEST_GUILESS_MAIN(LimitsFailureTest)
#include "limits_failure_test.moc"
