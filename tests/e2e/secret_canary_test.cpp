// A key is put into the store and then every road that handles it is driven, with servers that throw it back. After that it
// is nowhere but in the store: no output, no log, no file, no environment, no argument list, no core.
#include "tests/e2e/daemon_process.h"
#include "tests/support/wire_replies.h"
#include "tests/support/wire_server.h"

#include <QTest>

#include <algorithm>

#include <sys/stat.h>
#include <unistd.h>

using namespace cortexfs;
using namespace cortexfs::e2e;

namespace {

constexpr char kKey[] = "sk-CANARY-5521-aGVsbG8";
constexpr char kNeedle[] = "CANARY";

// Of the first needle.
std::string surroundings(const std::string &text)
{
    constexpr std::size_t kMargin = 200;
    const std::size_t at = std::min(text.find(kNeedle), text.size());
    return text.substr(at < kMargin ? 0 : at - kMargin, 2 * kMargin);
}

// Says the key back in every place a reply has, as a careless gateway does: the path picks how.
void echoKey(test::WirePeer &peer)
{
    while (const auto request = peer.readRequest()) {
        std::string key = request->header("authorization") + request->header("x-api-key");
        const bool lists = request->target.ends_with("/models")
                           || request->target.find("/models?") != std::string::npos;
        const std::string quoted = "you sent " + key;
        const auto has = [&](const char *word) { return request->target.find(word) != std::string::npos; };
        if (has("/refuse"))
            peer.send(test::reply(401, "application/json", test::chatError(quoted, key), {"X-Echo: " + key}));
        else if (has("/html"))
            peer.send(test::reply(200, "text/html", "<html>" + quoted + "</html>"));
        else if (has("/redirect"))
            peer.send(test::reply(302, "text/plain", quoted, {"Location: http://127.0.0.1:9/" + key}));
        else if (has("/instream"))
            peer.send(test::streamHead() + test::chunk("data: " + test::chatError(quoted, "server_error") + "\n\n")
                      + test::chunk({}));
        else if (has("/broken"))
            peer.send(test::streamHead() + test::chunk("data: {\"broken\": " + quoted + "\n\n") + test::chunk({}));
        else if (lists)
            peer.send(test::reply(500, "application/json", test::chatError(quoted, key)));
        else
            peer.send(test::streamHead() + test::chunk(test::chatBody({"fine"})) + test::chunk({}));
    }
}

std::string provider(const std::string &name, const std::string &baseUrl, const char *format = "openai.chat")
{
    return "{\"name\":\"" + name + "\",\"base_url\":\"" + baseUrl + "\",\"models\":[\"m\"],\"formats\":[\"" + format
           + "\"],\"timeouts\":{\"first_byte_ms\":5000}}";
}

} // namespace

class SecretCanaryTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aKeyStaysInTheStore()
    {
        const test::WireServer server(echoKey);
        DaemonProcess daemon;
        const std::vector<std::string> names = {"fine", "refuse", "html", "redirect", "instream", "broken"};
        for (const std::string &name : names) {
            daemon.writeProvider(QString::fromStdString(name + ".json"),
                                 provider(name, server.url("/" + name + "/v1")));
            daemon.writeProvider(QString::fromStdString(name + "-r.json"),
                                 provider(name + "-r", server.url("/" + name + "/v1"), "openai.responses"));
            daemon.writeProvider(QString::fromStdString(name + "-m.json"),
                                 provider(name + "-m", server.url("/" + name + "/v1"), "anthropic.messages"));
        }
        QFile settings(daemon.config() + QStringLiteral("/cortexd.json"));
        QVERIFY(settings.open(QIODevice::WriteOnly));
        settings.write(("{\"models_dev_url\":\"" + server.url("/refuse/api.json") + "\"}").c_str());
        settings.close();
        QVERIFY2(daemon.start({QStringLiteral("--log-level"), QStringLiteral("debug")}), daemon.log().c_str());
        std::string seen; // everything that anybody could read
        const auto ctx = [&](const QStringList &arguments, const std::string &input = {}) {
            const Outcome outcome = daemon.ctx(arguments, input);
            seen += outcome.out + outcome.err;
            return outcome.exitCode;
        };
        const auto words = [](const std::string &text) { return QString::fromStdString(text).split(QLatin1Char(' ')); };

        std::vector<std::string> all;
        for (const std::string &name : names) {
            for (const char *suffix : {"", "-r", "-m"})
                all.push_back(name + suffix);
        }
        for (const std::string &name : all)
            QCOMPARE(ctx(words("provider key set " + name), std::string(kKey) + "\n"), 0);
        int answered = 0;
        for (const std::string &name : all) {
            const Outcome outcome = run(daemon.path(("model/" + name + "/m").c_str()), {QStringLiteral("hello")});
            seen += outcome.out + outcome.err;
            answered += outcome.exitCode == 0 ? 1 : 0;
            ctx(words("exec model/" + name + "/m hello"));
            ctx(words("provider test " + name));
            ctx(words("provider test --json " + name));
            ctx(words("provider models " + name));
            ctx(words("provider show " + name));
            ctx(words("provider show --json " + name));
            ctx(words("route explain " + name + "/m"));
        }
        QVERIFY2(answered >= 1, seen.c_str());
        const std::vector<test::CapturedRequest> requests = server.requests();
        QVERIFY(std::count_if(
                    requests.begin(), requests.end(),
                    [](const test::CapturedRequest &request) { return request.head.find(kKey) != std::string::npos; })
                >= 18 * 3);
        for (const char *command : {"status", "status --json", "doctor", "doctor --json", "provider list", "refresh",
                                    "provider list --json", "model ls --json", "model limits refresh", "route show"})
            ctx(words(command));
        // A route that names a slot, one that has no file, and bad input with a key in it.
        QCOMPARE(ctx(words("set model/route -"), "group(g) -> direct, key(office)\nfallback: g\n"), 0);
        ctx(words("exec model/fine/m hello"));
        ctx(words("route explain fine/m --json"));
        QVERIFY(ctx(words("provider key set fine"), std::string(kKey) + "\n" + kKey + "\n") != 0);
        QVERIFY(ctx(words("provider key set fine"), std::string(kKey) + "\x01\n") != 0);
        QVERIFY(ctx(words("provider key set ../fine"), std::string(kKey) + "\n") != 0);

        QVERIFY2(seen.find(kNeedle) == std::string::npos, surroundings(seen).c_str());
        QVERIFY2(daemon.log().find(kNeedle) == std::string::npos, daemon.log().c_str());
        const QString pid = QString::number(daemon.pid());
        for (const char *file : {"environ", "cmdline", "comm", "maps"}) {
            const std::string text = slurp(QStringLiteral("/proc/%1/%2").arg(pid, QLatin1String(file))).value_or("");
            QVERIFY2(text.find(kNeedle) == std::string::npos, file);
        }
        // The tree, the configuration, the sockets, and all of the state but the store itself.
        const Outcome found = shell(
            QStringLiteral("grep -rla %1 '%2' '%3' '%4' '%5' --exclude-dir=secrets 2>/dev/null")
                .arg(QLatin1String(kNeedle), daemon.mount(), daemon.config(), daemon.runtime(), daemon.state()));
        QCOMPARE(found.out, std::string());
        const Outcome attributes = shell(QStringLiteral("getfattr -Rd '%1' 2>/dev/null | grep %2")
                                             .arg(daemon.mount() + QStringLiteral("/model"), QLatin1String(kNeedle)));
        QCOMPARE(attributes.out, std::string());
        const Outcome stored = shell(
            QStringLiteral("grep -rla %1 '%2/secrets' | wc -l").arg(QLatin1String(kNeedle), daemon.state()));
        QCOMPARE(stored.out, std::string("18\n")); // the search finds what is there
        QCOMPARE(daemon.stop(), 0);
        QVERIFY2(daemon.log().find(kNeedle) == std::string::npos, daemon.log().c_str());
    }

    // No core file, and its memory is closed to other programs of the same user.
    void theDaemonCannotBeReadByItsOwnUser()
    {
        DaemonProcess daemon;
        QVERIFY2(daemon.start(), daemon.log().c_str());
        const std::string limits = slurp(QStringLiteral("/proc/%1/limits").arg(daemon.pid())).value_or("");
        QVERIFY2(limits.find("Max core file size        0 ") != std::string::npos, limits.c_str());
        if (::geteuid() != 0)
            return; // another user is needed
        // Of a process that may not be dumped the kernel gives the files in /proc to root.
        DaemonProcess other;
        QVERIFY(other.startAs(12345));
        struct stat info = {};
        QCOMPARE(::stat(QStringLiteral("/proc/%1").arg(other.pid()).toLocal8Bit().constData(), &info), 0);
        const std::string status = slurp(QStringLiteral("/proc/%1/status").arg(other.pid())).value_or("");
        QVERIFY2(status.find("Uid:\t12345\t12345") != std::string::npos, status.c_str());
        QCOMPARE(::stat(QStringLiteral("/proc/%1/mem").arg(other.pid()).toLocal8Bit().constData(), &info), 0);
        QCOMPARE(info.st_uid, uid_t(0));
    }
};

QTEST_GUILESS_MAIN(SecretCanaryTest)
#include "secret_canary_test.moc"
