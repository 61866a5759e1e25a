// Models as files: the main job, through a real mount, a real runner and a byte-level server.
#include "tests/e2e/daemon_process.h"
#include "tests/support/openai_script.h"
#include "tests/support/wire_replies.h"

#include <QTest>

#include <csignal>

#include <sys/stat.h>
#include <unistd.h>

using namespace cortexfs;
using namespace cortexfs::e2e;

namespace {

std::string localProvider(const test::WireServer &server, const std::string &extra = {})
{
    return "{\"name\":\"local\",\"base_url\":\"" + server.url("/v1")
           + "\",\"default_model\":\"custom-model\",\"formats\":[\"openai.chat\"]" + extra + "}";
}

std::string errorCodeOf(const Outcome &outcome)
{
    for (const json::Document &frame : outcome.frames()) {
        if (frame.root()["type"].stringOr("") == "error")
            return std::string(frame.root()["code"].stringOr(""));
    }
    return {};
}

} // namespace

class ModelFileTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void echoSpeaksTheCanonicalStream()
    {
        DaemonProcess daemon;
        QVERIFY2(daemon.start(), daemon.log().c_str());
        const Outcome outcome = run(daemon.path("model/debug/echo"), {QStringLiteral("hello")});
        QCOMPARE(outcome.exitCode, 0);
        QCOMPARE(outcome.err, std::string());
        QCOMPARE(outcome.types(), std::string("start delta message usage done"));
        const std::vector<json::Document> frames = outcome.frames();
        QCOMPARE(frames[0].root()["model"].stringOr(""), std::string_view("debug/echo"));
        QCOMPARE(frames[2].root()["content"].at(0)["text"].stringOr(""), std::string_view("hello"));
        QCOMPARE(frames[4].root()["status"].stringOr(""), std::string_view("ok"));
        for (const json::Document &frame : frames) {
            QVERIFY(frame.root()["id"].isMissing());
            QCOMPARE(frame.root()["run"].stringOr(""), frames[0].root()["run"].stringOr("?"));
        }
    }

    void argumentsWinOverInput()
    {
        DaemonProcess daemon;
        QVERIFY2(daemon.start(), daemon.log().c_str());
        const QString echo = daemon.path("model/debug/echo");
        QCOMPARE(run(echo, {QStringLiteral("two"), QStringLiteral("words")}, "stdin").deltaText(),
                 std::string("two words"));
        QCOMPARE(run(echo, {}, "from stdin").deltaText(), std::string("from stdin"));
        QCOMPARE(run(echo, {}, "{\"messages\":[{\"role\":\"user\",\"content\":\"as JSON\"}]}").deltaText(),
                 std::string("as JSON"));
        QCOMPARE(run(echo, {}, "{\"no\":\"messages\"}").deltaText(), std::string("{\"no\":\"messages\"}"));
        QCOMPARE(run(daemon.path("model/main"), {QStringLiteral("by alias")}).deltaText(), std::string("by alias"));
    }

    void largeInputArrivesWhole()
    {
        DaemonProcess daemon;
        QVERIFY2(daemon.start(), daemon.log().c_str());
        // Over one frame; the script answers with its last line only.
        std::string script(3 * 1024 * 1024, ' ');
        for (std::size_t i = 99; i < script.size(); i += 100)
            script[i] = '\n';
        const Outcome outcome = run(daemon.path("model/debug/echo"), {}, std::string(700 * 1024, 'x'));
        QCOMPARE(outcome.deltaText().size(), std::size_t(700 * 1024));
        const Outcome tooLarge = run(daemon.path("model/debug/echo"), {}, std::string(16 * 1024 * 1024 + 1, 'x'));
        QCOMPARE(tooLarge.exitCode, 2);
        QCOMPARE(errorCodeOf(tooLarge), std::string("EMSGSIZE"));
        QVERIFY(tooLarge.types().starts_with("start"));
        QVERIFY(tooLarge.types().ends_with("done"));
    }

    void providerStreamsThroughTheMount()
    {
        test::OpenAiOptions options;
        options.requiredKey = "sk-CANARY-5521";
        const test::WireServer server(test::openAiScript(options));
        DaemonProcess daemon;
        daemon.writeProvider(QStringLiteral("local.json"), localProvider(server));
        daemon.writeKey(QStringLiteral("local"), "sk-CANARY-5521\n");
        QVERIFY2(daemon.start(), daemon.log().c_str());
        const QString model = daemon.path("model/local/custom-model");

        const Outcome byArgument = run(model, {QStringLiteral("hello")});
        QCOMPARE(byArgument.exitCode, 0);
        QCOMPARE(byArgument.types(), std::string("start delta delta delta message usage done"));
        QCOMPARE(byArgument.deltaText(), std::string("hello hello hello "));
        QCOMPARE(run(model, {}, "hello").exitCode, 0);
        const Outcome conversation = run(
            model, {},
            "{\"system\":\"be brief\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"},"
            "{\"role\":\"assistant\",\"content\":\"b\"},{\"role\":\"user\",\"content\":\"c\"}],\"max_tokens\":7}");
        QCOMPARE(conversation.exitCode, 0);
        QCOMPARE(server.requests().size(), std::size_t(3));
        const Result<json::Document> body = json::parse(server.requests().back().body);
        QVERIFY(body);
        QCOMPARE(body->root()["model"].stringOr(""), std::string_view("custom-model"));
        QCOMPARE(body->root()["messages"].size(), std::size_t(4));
        QCOMPARE(body->root()["stream"].asBool(), std::optional<bool>(true));

        const std::string metadata = slurp(model).value_or("");
        QVERIFY2(metadata.starts_with("#!"), metadata.c_str());
        QVERIFY(metadata.find("# cortexfs.object=model/local/custom-model\n") != std::string::npos);
        QVERIFY(metadata.find("# cortexfs.context_length=unknown\n") != std::string::npos);
        QVERIFY(slurp(daemon.path("model/local/custom-model.d/log")).value_or("").find(" ok ") != std::string::npos);
        // The key is nowhere a reader could find it.
        const Outcome leak = shell(
            QStringLiteral("grep -rl CANARY '%1' '%2' 2>/dev/null").arg(daemon.mount(), daemon.runtime()));
        QCOMPARE(leak.out, std::string());
        QVERIFY(daemon.log().find("CANARY") == std::string::npos);
    }

    void mainPointsAtTheConfiguredDefaultModel()
    {
        const test::WireServer server(test::openAiScript({}));
        DaemonProcess daemon;
        daemon.writeProvider(QStringLiteral("local.json"), localProvider(server));
        QVERIFY2(daemon.start(), daemon.log().c_str());
        char target[512];
        const ssize_t size = ::readlink(daemon.path("model/main").toLocal8Bit().constData(), target, sizeof target);
        QVERIFY(size > 0);
        QCOMPARE(std::string(target, static_cast<std::size_t>(size)),
                 daemon.path("model/local/custom-model").toStdString());
        QCOMPARE(run(daemon.path("model/main"), {QStringLiteral("x")}).exitCode, 0);
    }

    void failuresHaveTheirErrnoAndExitCode_data()
    {
        QTest::addColumn<QString>("kind");
        QTest::addColumn<QString>("code");
        QTest::addColumn<int>("exitCode");
        QTest::newRow("a bad key") << "401"
                                   << "EACCES" << 13;
        QTest::newRow("a request the server refuses") << "400"
                                                      << "EINVAL" << 2;
        QTest::newRow("a model the server does not have") << "404"
                                                          << "ENOENT" << 1;
        QTest::newRow("a page where an answer should be") << "html"
                                                          << "EBADMSG" << 70;
        QTest::newRow("a stream that is cut") << "cut"
                                              << "ECONNRESET" << 69;
        QTest::newRow("garbage in the stream") << "garbage"
                                               << "EBADMSG" << 70;
        QTest::newRow("an error inside the stream") << "error"
                                                    << "EHOSTDOWN" << 69;
        QTest::newRow("a stream that stalls") << "stall"
                                              << "ETIMEDOUT" << 69;
        QTest::newRow("nobody listens") << "refused"
                                        << "ECONNREFUSED" << 69;
        QTest::newRow("a key is wanted and missing") << "nokey"
                                                     << "ENOKEY" << 69;
    }
    void failuresHaveTheirErrnoAndExitCode()
    {
        QFETCH(QString, kind);
        QFETCH(QString, code);
        QFETCH(int, exitCode);
        test::OpenAiOptions options;
        bool isNumber = false;
        if (const int status = kind.toInt(&isNumber); isNumber)
            options.status = status;
        else if (kind != QLatin1String("refused") && kind != QLatin1String("nokey"))
            options.failure = kind.toStdString();
        options.failAfter = kind == QLatin1String("html") ? 0 : 1;
        std::optional<test::WireServer> server(std::in_place, test::openAiScript(options));
        DaemonProcess daemon;
        std::string provider = localProvider(*server, ",\"timeouts\":{\"idle_ms\":300}");
        if (kind == QLatin1String("nokey"))
            provider =
                "{\"name\":\"local\",\"base_url\":\"https://models.example.test/v1\",\"models\":[\"custom-model\"]}";
        daemon.writeProvider(QStringLiteral("local.json"), provider);
        if (kind == QLatin1String("refused"))
            server.reset();
        QVERIFY2(daemon.start(), daemon.log().c_str());
        const Outcome outcome = run(daemon.path("model/local/custom-model"), {QStringLiteral("x")});
        QVERIFY2(errorCodeOf(outcome) == code.toStdString(), (outcome.out + outcome.err).c_str());
        QCOMPARE(outcome.exitCode, exitCode);
        QVERIFY(outcome.types().starts_with("start"));
        QVERIFY(outcome.types().ends_with("error done"));
        QVERIFY2(outcome.types().find("message") == std::string::npos, "a failed stream is never an answer");
        // One line for people.
        QVERIFY(!outcome.err.empty());
        QCOMPARE(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1);
    }

    void interruptCancelsUpstream()
    {
        test::OpenAiOptions options;
        options.failure = "stall";
        options.failAfter = 1;
        const test::WireServer server(test::openAiScript(options));
        DaemonProcess daemon;
        daemon.writeProvider(QStringLiteral("local.json"), localProvider(server));
        QVERIFY2(daemon.start(), daemon.log().c_str());
        QProcess client;
        client.start(daemon.path("model/local/custom-model"), {QStringLiteral("x")});
        std::string out;
        QVERIFY(waitFor([&] {
            client.waitForReadyRead(10);
            out += client.readAllStandardOutput().toStdString();
            return out.find("\"delta\"") != std::string::npos;
        }));
        ::kill(static_cast<pid_t>(client.processId()), SIGINT);
        QVERIFY(client.waitForFinished(10'000));
        out += client.readAllStandardOutput().toStdString();
        QCOMPARE(client.exitCode(), 130);
        QVERIFY2(out.find("\"cancelled\"") != std::string::npos, out.c_str());
        QVERIFY(waitFor([&] { return server.openConnections() == 0; }));
    }

    void readerThatLeavesCancelsUpstream()
    {
        test::OpenAiOptions options;
        options.chunks = 1'000'000;
        const test::WireServer server(test::openAiScript(options));
        DaemonProcess daemon;
        daemon.writeProvider(QStringLiteral("local.json"), localProvider(server));
        QVERIFY2(daemon.start(), daemon.log().c_str());
        const Outcome head = shell(QStringLiteral("'%1' x | head -n 2").arg(daemon.path("model/local/custom-model")));
        QCOMPARE(head.exitCode, 0);
        QCOMPARE(head.err, std::string());
        QVERIFY(waitFor([&] { return server.openConnections() == 0; }));
    }

    void modelsOfARefreshAppearAndVanish()
    {
        DaemonProcess daemon;
        QVERIFY2(daemon.start(), daemon.log().c_str());
        daemon.writeProvider(
            QStringLiteral("a.json"),
            "{\"name\":\"local\",\"base_url\":\"http://127.0.0.1:9/v1\",\"models\":[\"meta-llama/Llama-3\",\"m2\"],"
            "\"model_limits\":{\"m2\":32768},\"model_capabilities\":{\"m2\":[\"chat\",\"vision\"]}}");
        QCOMPARE(daemon.ctx({QStringLiteral("refresh")}).exitCode, 0);
        QCOMPARE(slurp(daemon.path("model/local/meta-llama_Llama-3.d/id")).value_or(""),
                 std::string("local/meta-llama/Llama-3\n"));
        QCOMPARE(slurp(daemon.path("model/local/m2.d/limit")).value_or(""), std::string("32768\n"));
        QCOMPARE(slurp(daemon.path("model/local/m2.d/cap")).value_or(""), std::string("chat\nvision\n"));
        QFile::remove(daemon.config() + QStringLiteral("/providers.d/a.json"));
        QCOMPARE(daemon.ctx({QStringLiteral("refresh")}).exitCode, 0);
        QVERIFY(!QFile::exists(daemon.path("model/local")));
        QCOMPARE(run(daemon.path("model/debug/echo"), {QStringLiteral("still")}).exitCode, 0);
    }
};

QTEST_GUILESS_MAIN(ModelFileTest)
#include "model_file_test.moc"
