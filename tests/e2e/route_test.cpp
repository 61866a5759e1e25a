// The route table through a real mount, a real runner and real servers.
#include "tests/e2e/daemon_process.h"
#include "tests/support/openai_script.h"
#include "tests/support/wire_replies.h"

#include <QTest>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace cortexfs;
using namespace cortexfs::e2e;

namespace {

constexpr char kDirectKey[] = "sk-CANARY-direct-77";
constexpr char kOfficeKey[] = "sk-CANARY-office-78";

std::string errorOf(const Outcome &outcome)
{
    for (const json::Document &frame : outcome.frames()) {
        if (frame.root()["type"].stringOr("") == "error")
            return std::string(frame.root()["code"].stringOr("")) + " "
                   + std::string(frame.root()["message"].stringOr(""));
    }
    return {};
}

// A service, a gateway beside it, and a daemon with two providers that both mean the service.
class Scene {
public:
    Scene() : service(test::openAiScript({})), gateway(test::openAiScript({}))
    {
        for (const char *name : {"local", "other"})
            daemon.writeProvider(QString::fromUtf8(name) + QStringLiteral(".json"),
                                 std::string("{\"name\":\"") + name + "\",\"base_url\":\"" + service.url("/v1")
                                     + "\",\"models\":[\"custom-model\",\"embedding-1\"],\"default_model\":"
                                       "\"custom-model\",\"formats\":[\"openai.chat\"]}");
        daemon.writeKey(QStringLiteral("local"), kDirectKey);
    }
    bool start() { return daemon.start(); }
    // As a shell's `printf > route` does; 0 or an errno.
    int table(const std::string &text) const
    {
        const int fd = ::open(daemon.path("model/route").toUtf8().constData(), O_WRONLY | O_TRUNC | O_CREAT, 0644);
        if (fd < 0)
            return errno;
        const bool isWritten = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
        const int number = isWritten ? 0 : errno;
        return ::close(fd) == 0 ? number : errno;
    }
    std::string gatewayGroup(const std::string &key = {}) const
    {
        return "group(gate) -> http(" + gateway.url("/gw") + ")" + (key.empty() ? "" : ", key(" + key + ")") + "\n";
    }
    Outcome ask(const char *model = "model/local/custom-model")
    {
        return run(daemon.path(model), {QStringLiteral("hi")});
    }
    // Requests so far: "service gateway".
    std::string counts() const
    {
        return std::to_string(service.requests().size()) + " " + std::to_string(gateway.requests().size());
    }

    test::WireServer service;
    test::WireServer gateway;
    DaemonProcess daemon;
};

} // namespace

class RouteTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void anHttpGroupTakesTheRequestElsewhere()
    {
        Scene scene;
        QVERIFY2(scene.start(), scene.daemon.log().c_str());
        QCOMPARE(scene.ask().exitCode, 0);
        QCOMPARE(scene.counts(), std::string("1 0"));
        QCOMPARE(scene.service.requests().back().header("Authorization"), std::string("Bearer ") + kDirectKey);
        QCOMPARE(scene.table(scene.gatewayGroup() + "fallback: gate\n"), 0);
        const Outcome outcome = scene.ask();
        QVERIFY2(outcome.exitCode == 0, outcome.err.c_str());
        QCOMPARE(scene.counts(), std::string("1 1"));
        QCOMPARE(scene.gateway.requests().back().target, std::string("/gw/chat/completions"));
        QCOMPARE(scene.gateway.requests().back().header("Authorization"), std::string("Bearer ") + kDirectKey);
        QCOMPARE(::unlink(scene.daemon.path("model/route").toUtf8().constData()), 0);
        QCOMPARE(scene.ask().exitCode, 0);
        QCOMPARE(scene.counts(), std::string("2 1"));
        QCOMPARE(::access(scene.daemon.path("model/route").toUtf8().constData(), F_OK), -1);
    }

    void aSlotBringsItsOwnKey()
    {
        Scene scene;
        QVERIFY2(scene.start(), scene.daemon.log().c_str());
        QCOMPARE(scene.table(scene.gatewayGroup("office") + "fallback: gate\n"), 0);
        const Outcome missing = scene.ask();
        QCOMPARE(missing.exitCode, 69);
        QVERIFY2(errorOf(missing).starts_with("ENOKEY "), errorOf(missing).c_str());
        QVERIFY(errorOf(missing).find("local") != std::string::npos
                && errorOf(missing).find("office") != std::string::npos);
        QCOMPARE(scene.counts(), std::string("0 0"));
        QCOMPARE(scene.daemon
                     .ctx({QStringLiteral("provider"), QStringLiteral("key"), QStringLiteral("set"),
                           QStringLiteral("local"), QStringLiteral("--slot"), QStringLiteral("office")},
                          kOfficeKey)
                     .exitCode,
                 0);
        QCOMPARE(scene.ask().exitCode, 0);
        QCOMPARE(scene.gateway.requests().back().header("Authorization"), std::string("Bearer ") + kOfficeKey);
        QCOMPARE(scene.table(scene.gatewayGroup("none") + "fallback: gate\n"), 0);
        QCOMPARE(scene.ask().exitCode, 0);
        QVERIFY(!scene.gateway.requests().back().hasHeader("Authorization"));
        for (const char *key : {kDirectKey, kOfficeKey})
            QVERIFY(scene.daemon.log().find(key) == std::string::npos);
    }

    void providerAndModelRules()
    {
        Scene scene;
        QVERIFY2(scene.start(), scene.daemon.log().c_str());
        QCOMPARE(scene.table(scene.gatewayGroup("none")
                             + "provider(other) && !model(embedding-*) -> must_direct\nmodel(embedding-*) -> gate\n"),
                 0);
        QCOMPARE(scene.ask("model/other/custom-model").exitCode, 0);
        QCOMPARE(scene.counts(), std::string("1 0"));
        QCOMPARE(scene.ask("model/local/custom-model").exitCode, 0);
        QCOMPARE(scene.counts(), std::string("2 0"));
        scene.ask("model/local/embedding-1");
        QCOMPARE(scene.counts(), std::string("2 1"));
        scene.ask("model/other/embedding-1");
        QCOMPARE(scene.counts(), std::string("2 2"));
    }

    void pnameMeansWhoExecutesTheObject()
    {
        Scene scene;
        QVERIFY2(scene.start(), scene.daemon.log().c_str());
        const std::string own = QFileInfo(QCoreApplication::applicationFilePath()).fileName().toStdString();
        QCOMPARE(scene.table(scene.gatewayGroup("none") + "pname(" + own + ") -> gate\n"), 0);
        QCOMPARE(scene.ask().exitCode, 0); // the runner's parent is this test
        QCOMPARE(scene.counts(), std::string("0 1"));
        // A shell that forks: its name, not ours.
        const QString model = scene.daemon.path("model/local/custom-model");
        QCOMPARE(shell(QStringLiteral("'%1' hi; :").arg(model)).exitCode, 0);
        QCOMPARE(scene.counts(), std::string("1 1"));
        // ctx speaks for itself.
        QCOMPARE(scene.table(scene.gatewayGroup("none") + "pname(ctx) -> gate\n"), 0);
        QCOMPARE(scene.daemon.ctx({QStringLiteral("exec"), QStringLiteral("local/custom-model"), QStringLiteral("hi")})
                     .exitCode,
                 0);
        QCOMPARE(scene.counts(), std::string("1 2"));
    }

    void aBadWriteKeepsTheTable_data()
    {
        // In model/, would make the table bad. A shell's own redirection does not look at the outcome of close(2).
        QTest::addColumn<QString>("command");
        QTest::newRow("written over") << QStringLiteral("echo 'model(a) -> gone' | cp /dev/stdin route");
        QTest::newRow("renamed over") << QStringLiteral("echo nonsense > r.tmp && mv r.tmp route");
        QTest::newRow("appended to") << QStringLiteral(
            "echo nonsense | dd of=route oflag=append conv=notrunc status=none");
        QTest::newRow("by ctx") << QStringLiteral("\"$CTX\" set model/route nonsense");
        QTest::newRow("no text") << QStringLiteral("printf '\\377' | dd of=route status=none");
        QTest::newRow("too large") << QStringLiteral("head -c 1048577 /dev/zero | tr '\\0' '#' | cat > route");
    }
    void aBadWriteKeepsTheTable()
    {
        QFETCH(QString, command);
        Scene scene;
        QVERIFY2(scene.start(), scene.daemon.log().c_str());
        const std::string text = scene.gatewayGroup("none") + "fallback: gate\n";
        QCOMPARE(scene.table(text), 0);
        const Outcome written = shell(
            QStringLiteral("cd '%1/model' && export CTX='%2' CTX_ROOT='%1' CORTEXFS_RUNTIME_DIR='%3' && %4")
                .arg(scene.daemon.mount(), binary("ctx"), scene.daemon.runtime(), command));
        QVERIFY(written.exitCode != 0);
        QCOMPARE(slurp(scene.daemon.path("model/route")).value_or("(absent)"), text);
        QCOMPARE(scene.ask().exitCode, 0);
        QCOMPARE(scene.counts(), std::string("0 1"));
    }

    void tenThousandRulesAreWrittenAndAsked()
    {
        Scene scene;
        QVERIFY2(scene.start(), scene.daemon.log().c_str());
        std::string text = scene.gatewayGroup("none");
        for (int i = 0; i < 10'000; ++i)
            text += "domain(host-" + std::to_string(i) + ".example.com) -> must_direct\n";
        text += "fallback: gate\n";
        const QString source = scene.daemon.base() + QStringLiteral("/table");
        QFile file(source);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(text.data(), static_cast<qint64>(text.size()));
        file.close();
        QCOMPARE(shell(QStringLiteral("cp '%1' '%2'").arg(source, scene.daemon.path("model/route"))).exitCode, 0);
        QCOMPARE(scene.ask().exitCode, 0);
        QCOMPARE(scene.counts(), std::string("0 1"));
    }

    void aTableThatWentBadOnDiskIsNoWayOut()
    {
        Scene scene;
        QVERIFY2(scene.start(), scene.daemon.log().c_str());
        QFile file(scene.daemon.installedTree() + QStringLiteral("/model/route"));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("# x\nmodel(a) -> gone\n");
        file.close();
        const Outcome outcome = scene.ask();
        QCOMPARE(outcome.exitCode, 2);
        QCOMPARE(errorOf(outcome), std::string("EINVAL model/route, line 2, column 13: no such group: gone"));
        QCOMPARE(scene.counts(), std::string("0 0"));
        const Outcome checked = scene.daemon.ctx({QStringLiteral("route"), QStringLiteral("check")});
        QCOMPARE(checked.exitCode, 2);
        QCOMPARE(checked.out, std::string("model/route:2:13: no such group: gone\n"));
        QVERIFY(scene.daemon.ctx({QStringLiteral("doctor")}).out.find("model/route") != std::string::npos);
        QCOMPARE(run(scene.daemon.path("model/debug/echo"), {QStringLiteral("hi")}).exitCode, 0);
    }

    void ctxExplainsChecksAndEdits()
    {
        Scene scene;
        QVERIFY2(scene.start(), scene.daemon.log().c_str());
        qputenv("EDITOR", QByteArray("sed -i -e '$a model(custom-model) -> must_direct'"));
        const Outcome edited = scene.daemon.ctx({QStringLiteral("route"), QStringLiteral("edit")});
        QVERIFY2(edited.exitCode == 0, edited.err.c_str());
        const Outcome shown = scene.daemon.ctx({QStringLiteral("route"), QStringLiteral("show")});
        QVERIFY(shown.out.ends_with("model(custom-model) -> must_direct\n"));
        QCOMPARE(slurp(scene.daemon.path("model/route")).value_or(""), shown.out);
        const Outcome explained = scene.daemon.ctx({QStringLiteral("route"), QStringLiteral("explain"),
                                                    QStringLiteral("local/custom-model"), QStringLiteral("--json")});
        const Result<json::Document> facts = json::parse(explained.out);
        QVERIFY(facts);
        QCOMPARE(facts->root()["group"].stringOr(""), std::string_view("must_direct"));
        QCOMPARE(facts->root()["rule"].stringOr(""), std::string_view("model(custom-model) -> must_direct"));
        QCOMPARE(facts->root()["key"].stringOr(""), std::string_view("filled"));
        QCOMPARE(scene.counts(), std::string("0 0"));
        const Outcome tested = scene.daemon.ctx(
            {QStringLiteral("provider"), QStringLiteral("test"), QStringLiteral("local"), QStringLiteral("--json")});
        QVERIFY2(tested.out.find("\"rule\":\"model(custom-model) -> must_direct\"") != std::string::npos,
                 tested.out.c_str());
    }

    void aUnixGroupSpeaksOverTheSocket()
    {
        Scene scene;
        QVERIFY2(scene.start(), scene.daemon.log().c_str());
        const QString socket = scene.daemon.base() + QStringLiteral("/gateway.sock");
        QProcess bridge;
        bridge.start(QStringLiteral("socat"), {QStringLiteral("UNIX-LISTEN:%1,fork").arg(socket),
                                               QStringLiteral("TCP:127.0.0.1:%1").arg(scene.gateway.port())});
        QVERIFY(waitFor([&] { return QFileInfo::exists(socket); }));
        const std::string path = socket.toStdString();
        QCOMPARE(scene.table("group(s) -> unix(" + path + ", http://inside.example/base), key(none)\nfallback: s\n"),
                 0);
        const Outcome outcome = scene.ask();
        QVERIFY2(outcome.exitCode == 0, outcome.err.c_str());
        QCOMPARE(scene.counts(), std::string("0 1"));
        const test::CapturedRequest request = scene.gateway.requests().back();
        QCOMPARE(request.target, std::string("/base/chat/completions"));
        QCOMPARE(request.header("Host"), std::string("inside.example"));
        QVERIFY(!request.hasHeader("Authorization"));
        bridge.kill();
        QVERIFY(bridge.waitForFinished());
        // Another path: the connection of before is alive and would serve once more.
        QCOMPARE(scene.table("group(s) -> unix(" + path + ".gone), key(none)\nfallback: s\n"), 0);
        const Outcome gone = scene.ask();
        QCOMPARE(gone.exitCode, 69);
        QVERIFY2(gone.err.find(path + ".gone") != std::string::npos, gone.err.c_str());
        QCOMPARE(scene.counts(), std::string("0 1"));
    }
};

QTEST_GUILESS_MAIN(RouteTest)
#include "route_test.moc"
