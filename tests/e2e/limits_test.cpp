// Providers and limits from the command line to the tree: a real daemon, real files, a byte-level server.
#include "tests/e2e/daemon_process.h"
#include "tests/support/wire_replies.h"
#include "tests/support/wire_server.h"

#include <QDir>
#include <QFile>
#include <QProcess>
#include <QTest>

#include <cerrno>

using namespace cortexfs;
using namespace cortexfs::e2e;

namespace {

constexpr char kCatalogue[] =
    "{\"local\":{\"models\":{\"a\":{\"limit\":{\"context\":777}},\"b/c\":{\"limit\":{\"context\":888}}}}}";

test::WireServer::Script catalogueAndList()
{
    return [](test::WirePeer &peer) {
        while (const auto request = peer.readRequest()) {
            if (request->target == "/api.json")
                peer.send(test::reply(200, "application/json", kCatalogue, {"ETag: \"v1\""}));
            else if (request->target == "/v1/models")
                peer.send(test::reply(200, "application/json", "{\"data\":[{\"id\":\"a\"},{\"id\":\"b/c\"}]}"));
            else
                peer.send(test::reply(404, "text/plain", ""));
        }
    };
}

void writeDaemonConfig(const DaemonProcess &daemon, const std::string &json)
{
    QDir().mkpath(daemon.config());
    QFile file(daemon.config() + QStringLiteral("/cortexd.json"));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(QByteArray::fromStdString(json));
}

// The line of the metadata that must agree with the control file.
std::string contextLength(const DaemonProcess &daemon, const char *model)
{
    const std::string text = slurp(daemon.path(model)).value_or("");
    const std::string key = "# cortexfs.context_length=";
    const std::size_t at = text.find(key);
    return at == std::string::npos ? std::string("(none)")
                                   : text.substr(at + key.size(), text.find('\n', at) + 1 - at - key.size());
}

} // namespace

class LimitsTest : public QObject {
    Q_OBJECT

private:
    // Waits: the kernel is told of a change after the answer.
    static bool limitBecomes(const DaemonProcess &daemon, const char *model, const std::string &text)
    {
        const std::string control = std::string(model) + ".d/limit";
        return waitFor([&] {
            return slurp(daemon.path(control.c_str())).value_or("") == text && contextLength(daemon, model) == text;
        });
    }

private Q_SLOTS:
    void aProviderFromNothingToItsLimits()
    {
        const test::WireServer server(catalogueAndList());
        DaemonProcess daemon;
        writeDaemonConfig(daemon, "{\"models_dev_url\":\"" + server.url("/api.json") + "\"}");
        QVERIFY2(daemon.start(), daemon.log().c_str());
        const QString base = QString::fromStdString(server.url("/v1"));
        const Outcome added = daemon.ctx({QStringLiteral("provider"), QStringLiteral("add"), QStringLiteral("local"),
                                          QStringLiteral("--base-url"), base, QStringLiteral("--model"),
                                          QStringLiteral("a")});
        QVERIFY2(added.exitCode == 0, added.err.c_str());
        QVERIFY(limitBecomes(daemon, "model/local/a", "unknown\n"));

        const Outcome saved = daemon.ctx(
            {QStringLiteral("provider"), QStringLiteral("models"), QStringLiteral("local"), QStringLiteral("--save")});
        QVERIFY2(saved.exitCode == 0, saved.err.c_str());
        QVERIFY(limitBecomes(daemon, "model/local/b_c", "unknown\n"));

        const Outcome refreshed = daemon.ctx(
            {QStringLiteral("model"), QStringLiteral("limits"), QStringLiteral("refresh")});
        QVERIFY2(refreshed.exitCode == 0, refreshed.err.c_str());
        QVERIFY(limitBecomes(daemon, "model/local/a", "777\n"));
        QVERIFY(limitBecomes(daemon, "model/local/b_c", "888\n")); // by the native id

        // The file's own limit counts more.
        const Outcome edited = daemon.ctx({QStringLiteral("provider"), QStringLiteral("edit"), QStringLiteral("local"),
                                           QStringLiteral("--set"), QStringLiteral("/model_limits/a=5")});
        QVERIFY2(edited.exitCode == 0, edited.err.c_str());
        QVERIFY(limitBecomes(daemon, "model/local/a", "5\n"));
        // Nobody writes it, whoever it is.
        QCOMPARE(putText(daemon.path("model/local/a.d/limit"), "9\n"), EROFS);

        // What is wrong is refused with its place, and nothing changes.
        const Outcome wrong = daemon.ctx({QStringLiteral("provider"), QStringLiteral("edit"), QStringLiteral("local"),
                                          QStringLiteral("--set"), QStringLiteral("/model_limits/a=0")});
        QCOMPARE(wrong.exitCode, 2);
        QVERIFY2(wrong.err.find("/model_limits/a") != std::string::npos, wrong.err.c_str());
        QVERIFY(limitBecomes(daemon, "model/local/a", "5\n"));

        // The cache outlives the daemon.
        QCOMPARE(daemon.stop(), 0);
        QVERIFY2(daemon.start(), daemon.log().c_str());
        QVERIFY(limitBecomes(daemon, "model/local/b_c", "888\n"));
    }

    void presetsAreInstalledOnceAndForced()
    {
        DaemonProcess daemon;
        QVERIFY2(daemon.start(), daemon.log().c_str());
        const auto install = [&](const QStringList &more = {}) {
            return daemon.ctx(QStringList{QStringLiteral("provider"), QStringLiteral("preset"),
                                          QStringLiteral("install"), QStringLiteral("codex")}
                              + more);
        };
        const Outcome first = install();
        QVERIFY2(first.exitCode == 0, first.err.c_str());
        QVERIFY(first.out.find("ctx provider key set openai") != std::string::npos);
        QVERIFY(waitFor([&] { return QFile::exists(daemon.path("model/openai/gpt-5.6")); }));
        QVERIFY(!QFile::exists(daemon.path("model/codex")));
        const Outcome again = install();
        QCOMPARE(again.exitCode, 0);
        QVERIFY(again.out.find("unchanged") != std::string::npos);
        // The key is all that was missing.
        QCOMPARE(daemon
                     .ctx({QStringLiteral("provider"), QStringLiteral("key"), QStringLiteral("set"),
                           QStringLiteral("openai")},
                          "sk-1\n")
                     .exitCode,
                 0);
        QVERIFY(waitFor([&] {
            return slurp(daemon.path("model/openai/gpt-5.6.d/status")).value_or("").find("unconfigured")
                   == std::string::npos;
        }));

        QCOMPARE(daemon.ctx({QStringLiteral("provider"), QStringLiteral("disable"), QStringLiteral("openai")}).exitCode,
                 0);
        QVERIFY(waitFor([&] { return !QFile::exists(daemon.path("model/openai/gpt-5.6")); }));
        QCOMPARE(install().exitCode, 1);
        QCOMPARE(install({QStringLiteral("--force")}).exitCode, 0);
        QVERIFY(waitFor([&] { return QFile::exists(daemon.path("model/openai/gpt-5.6")); }));
        QCOMPARE(daemon
                     .ctx({QStringLiteral("provider"), QStringLiteral("remove"), QStringLiteral("openai"),
                           QStringLiteral("--yes")})
                     .exitCode,
                 0);
        QVERIFY(!QFile::exists(daemon.config() + QStringLiteral("/providers.d/openai.json")));
        QVERIFY(waitFor([&] { return !QFile::exists(daemon.path("model/openai")); }));
    }

    void aDaemonThatIsKilledLeavesTheOldFileOrTheNewOne()
    {
        DaemonProcess daemon;
        daemon.writeProvider(QStringLiteral("local.json"), "{\"name\":\"local\",\"base_url\":\"http://127.0.0.1:9\"}");
        const QString directory = daemon.config() + QStringLiteral("/providers.d");
        for (int round = 0; round < 4; ++round) {
            QVERIFY2(daemon.start(), daemon.log().c_str());
            QProcess edits; // one after the other, so that the end comes in the middle of one
            QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
            environment.insert(QStringLiteral("CTX_ROOT"), daemon.mount());
            environment.insert(QStringLiteral("CORTEXFS_RUNTIME_DIR"), daemon.runtime());
            edits.setProcessEnvironment(environment);
            edits.start(QStringLiteral("/bin/sh"),
                        {QStringLiteral("-c"), QStringLiteral("i=1; while '%1' provider edit local --set /extra=$i "
                                                              "> /dev/null; do echo $i; i=$((i+1)); done")
                                                   .arg(binary("ctx"))});
            QByteArray said;
            QVERIFY(waitFor([&] {
                edits.waitForReadyRead(10);
                said += edits.readAllStandardOutput();
                return said.count('\n') > 2 + round;
            }));
            daemon.kill();
            QVERIFY(edits.waitForFinished(30'000));
            said += edits.readAllStandardOutput();
            const std::int64_t last = said.trimmed().split('\n').last().toLongLong();
            const Result<json::Document> left = json::parse(
                slurp(directory + QStringLiteral("/local.json")).value_or(""));
            QVERIFY(left.isOk());
            const std::int64_t kept = left->root()["extra"].asInt().value_or(-1);
            QVERIFY2(kept == last || kept == last + 1, (std::to_string(kept) + " " + said.toStdString()).c_str());
        }
        QVERIFY2(daemon.start(), daemon.log().c_str());
        QCOMPARE(daemon.ctx({QStringLiteral("provider"), QStringLiteral("show"), QStringLiteral("local")}).exitCode, 0);
        QCOMPARE(QDir(directory).entryList(QDir::Files | QDir::Hidden), QStringList{QStringLiteral("local.json")});
    }

    void anInvalidFileIsRepaired()
    {
        DaemonProcess daemon;
        daemon.writeProvider(QStringLiteral("broken.json"), "{\"name\":\"broken\",");
        QVERIFY2(daemon.start(), daemon.log().c_str());
        const Outcome list = daemon.ctx({QStringLiteral("provider"), QStringLiteral("list")});
        QVERIFY2(list.out.find("broken.json") != std::string::npos, list.out.c_str());
        const QString editor = daemon.base() + QStringLiteral("/editor");
        QFile script(editor);
        QVERIFY(script.open(QIODevice::WriteOnly));
        script.write("#!/bin/sh\nprintf '{\"name\":\"broken\",\"base_url\":\"http://127.0.0.1:9\"}' > \"$1\"\n");
        script.close();
        QVERIFY(script.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner));
        const Outcome edited = shell(QStringLiteral("CTX_ROOT='%1' CORTEXFS_RUNTIME_DIR='%2' EDITOR='%3' "
                                                    "'%4' provider edit broken")
                                         .arg(daemon.mount(), daemon.runtime(), editor, binary("ctx")));
        QVERIFY2(edited.exitCode == 0, (edited.err + edited.out).c_str());
        QCOMPARE(slurp(daemon.config() + QStringLiteral("/providers.d/broken.json")).value_or(""),
                 std::string("{\"name\":\"broken\",\"base_url\":\"http://127.0.0.1:9\"}"));
    }
};

QTEST_GUILESS_MAIN(LimitsTest)
#include "limits_test.moc"
