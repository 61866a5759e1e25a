// Providers of every format through a real mount: the same answer is the same stream, and the failure of one server does
// not stop the user.
#include "tests/e2e/daemon_process.h"
#include "tests/support/openai_script.h"
#include "tests/support/wire_replies.h"

#include <QTest>

#include <algorithm>

using namespace cortexfs;
using namespace cortexfs::e2e;

namespace {

constexpr char kQuestion[] = "{\"messages\":[{\"role\":\"user\",\"content\":\"2+2, and the weather?\"}],\"tools\":[{"
                             "\"name\":\"get_weather\",\"description\":\"d\",\"parameters\":{\"type\":\"object\","
                             "\"properties\":{\"city\":{\"type\":\"string\"}}}}]}";

std::string providerFile(const std::string &name, const std::string &baseUrl, const std::string &format,
                         const std::string &model = "m")
{
    return "{\"name\":\"" + name + "\",\"base_url\":\"" + baseUrl + "\",\"default_model\":\"" + model
           + "\",\"formats\":[\"" + format + "\"]}";
}

// The stored reply of the format that the path asks for, in pieces of `size` bytes.
test::WireServer::Script storedReplies(std::size_t size)
{
    return [size](test::WirePeer &peer) {
        while (const auto request = peer.readRequest()) {
            const char *format = request->target.ends_with("/messages")    ? "anthropic.messages"
                                 : request->target.ends_with("/responses") ? "openai.responses"
                                                                           : "openai.chat";
            const auto body = slurp(
                QStringLiteral(CORTEXFS_TEST_DATA "/e2e/replies/%1.sse").arg(QLatin1String(format)));
            if (!body || !peer.sendSplit(test::streamHead() + test::chunk(*body) + test::chunk({}), size))
                return;
        }
    };
}

// The lines without what differs between two runs of one question.
std::string canonical(const Outcome &outcome)
{
    std::string text;
    for (const json::Document &frame : outcome.frames()) {
        json::Writer writer;
        writer.beginObject();
        for (const auto &[key, value] : frame.root().members()) {
            if (key != "run" && key != "model")
                writer.key(key).value(value);
        }
        writer.endObject();
        text += writer.take() + "\n";
    }
    return text;
}

std::string_view lastModel(const std::vector<json::Document> &frames)
{
    return frames.empty() ? std::string_view() : frames.back().root()["model"].stringOr("");
}

} // namespace

class ProvidersTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void oneAnswerIsOneStreamInEveryFormat_data()
    {
        QTest::addColumn<int>("piece");
        QTest::newRow("whole") << 1'000'000;
        QTest::newRow("byte by byte") << 1;
        QTest::newRow("in pieces of seven bytes") << 7;
    }
    void oneAnswerIsOneStreamInEveryFormat()
    {
        QFETCH(int, piece);
        const test::WireServer server(storedReplies(static_cast<std::size_t>(piece)));
        DaemonProcess daemon;
        const std::vector<std::string> formats = {"openai.chat", "openai.responses", "anthropic.messages"};
        for (std::size_t i = 0; i < formats.size(); ++i) {
            const std::string name = "p" + std::to_string(i);
            daemon.writeProvider(QString::fromStdString(name + ".json"),
                                 providerFile(name, server.url("/v1"), formats[i]));
        }
        QVERIFY2(daemon.start(), daemon.log().c_str());
        std::vector<std::string> streams;
        for (const char *model : {"model/p0/m", "model/p1/m", "model/p2/m"}) {
            const Outcome outcome = run(daemon.path(model), {}, kQuestion);
            QVERIFY2(outcome.exitCode == 0, (outcome.out + outcome.err + daemon.log()).c_str());
            const std::vector<json::Document> frames = outcome.frames();
            QVERIFY(!frames.empty());
            QCOMPARE("model/" + std::string(lastModel(frames)), std::string(model));
            streams.push_back(canonical(outcome));
        }
        QCOMPARE(streams[1], streams[0]);
        QCOMPARE(streams[2], streams[0]);
        const std::string &stream = streams[0];
        QVERIFY2(stream.find("\"type\":\"reasoning_message\",\"text\":\"Let me see.\"") != std::string::npos,
                 stream.c_str());
        QVERIFY2(stream.find("\"text\":\"It is 4 \xE2\x9C\x93.\"") != std::string::npos, stream.c_str());
        QVERIFY2(stream.find("\"call_id\":\"call_2\",\"name\":\"get_weather\",\"arguments\":{\"city\":\"Oslo\","
                             "\"units\":\"metric\"}")
                     != std::string::npos,
                 stream.c_str());
        QVERIFY2(stream.find("\"input_tokens\":60,\"output_tokens\":40,\"cached_tokens\":20,\"cache_write_tokens\":5")
                     != std::string::npos,
                 stream.c_str());
        QVERIFY2(stream.ends_with("\"status\":\"ok\",\"reason\":\"tool_calls\"}\n"), stream.c_str());
    }

    void aServerThatDiesMidHeadersIsReplaced()
    {
        const test::WireServer dying([](test::WirePeer &peer) {
            peer.readRequest();
            peer.send("HTTP/1.1 200 OK\r\nContent-Ty");
            peer.reset();
        });
        const test::WireServer other(test::openAiScript({}));
        DaemonProcess daemon;
        daemon.writeProvider(QStringLiteral("first.json"), providerFile("first", dying.url("/v1"), "openai.chat"));
        daemon.writeProvider(QStringLiteral("second.json"),
                             providerFile("second", other.url("/v1"), "openai.chat", "custom-model"));
        QVERIFY2(daemon.start(), daemon.log().c_str());
        QCOMPARE(putText(daemon.path("model/first/m.d/fallback"), "second/custom-model\n"), 0);
        const Outcome outcome = run(daemon.path("model/first/m"), {QStringLiteral("hello")});
        QVERIFY2(outcome.exitCode == 0, (outcome.out + outcome.err).c_str());
        QCOMPARE(outcome.deltaText(), std::string("hello hello hello "));
        const std::vector<json::Document> frames = outcome.frames();
        QCOMPARE(frames.front().root()["model"].stringOr(""), std::string_view("first/m"));
        QCOMPARE(lastModel(frames), std::string_view("second/custom-model"));
        QCOMPARE(frames[1].root()["code"].stringOr(""), std::string_view("ECONNRESET"));
        QCOMPARE(frames[1].root()["recoverable"].asBool(), std::optional<bool>(true));
        QCOMPARE(outcome.err, std::string());
    }

    void afterTheFirstWordNobodyElseIsAsked()
    {
        test::OpenAiOptions options;
        options.failure = "cut";
        options.failAfter = 1;
        const test::WireServer dying(test::openAiScript(options));
        const test::WireServer other(test::openAiScript({}));
        DaemonProcess daemon;
        daemon.writeProvider(QStringLiteral("first.json"), providerFile("first", dying.url("/v1"), "openai.chat"));
        daemon.writeProvider(QStringLiteral("second.json"),
                             providerFile("second", other.url("/v1"), "openai.chat", "custom-model"));
        QVERIFY2(daemon.start(), daemon.log().c_str());
        QCOMPARE(putText(daemon.path("model/first/m.d/fallback"), "second/custom-model\n"), 0);
        const Outcome outcome = run(daemon.path("model/first/m"), {QStringLiteral("hello")});
        QCOMPARE(outcome.exitCode, 69);
        QCOMPARE(outcome.types(), std::string("start delta error done"));
        QCOMPARE(dying.requests().size(), std::size_t(1));
        QCOMPARE(other.accepted(), 0);
    }

    // What a user with a key does. The host of the preset is answered by a server of ours, by way of the route table.
    void aPresetAndAKeyAreAllOneNeeds_data()
    {
        QTest::addColumn<QString>("preset");
        QTest::addColumn<QString>("provider");
        QTest::newRow("by its name") << "openai"
                                     << "openai";
        QTest::newRow("by its other name") << "codex"
                                           << "openai";
        QTest::newRow("Claude") << "anthropic"
                                << "anthropic";
        QTest::newRow("Gemini") << "gemini"
                                << "google";
    }
    void aPresetAndAKeyAreAllOneNeeds()
    {
        QFETCH(QString, preset);
        QFETCH(QString, provider);
        const test::WireServer server(storedReplies(100));
        DaemonProcess daemon;
        QVERIFY2(daemon.start(), daemon.log().c_str());
        QCOMPARE(putNew(daemon.path("model/route"), "group(here) -> http(" + server.url("/v1") + ")\nfallback: here\n"),
                 0);
        const Outcome installed = daemon.ctx(
            {QStringLiteral("provider"), QStringLiteral("preset"), QStringLiteral("install"), preset});
        QVERIFY2(installed.exitCode == 0, (installed.out + installed.err).c_str());
        const Outcome key = daemon.ctx(
            {QStringLiteral("provider"), QStringLiteral("key"), QStringLiteral("set"), provider}, "sk-of-a-user\n");
        QVERIFY2(key.exitCode == 0, (key.out + key.err).c_str());
        const Outcome answer = run(daemon.path("model/main"), {}, kQuestion);
        QVERIFY2(answer.exitCode == 0, (answer.out + answer.err).c_str());
        QVERIFY(lastModel(answer.frames()).starts_with(provider.toStdString() + "/"));
        QCOMPARE(server.requests().size(), std::size_t(1));
        const test::CapturedRequest request = server.requests().front();
        QVERIFY(request.header("authorization") == "Bearer sk-of-a-user"
                || request.header("x-api-key") == "sk-of-a-user");
        const Outcome again = daemon.ctx(
            {QStringLiteral("provider"), QStringLiteral("preset"), QStringLiteral("install"), preset});
        QCOMPARE(again.exitCode, 0);
    }

private:
    // As a shell's `>` does for a file that may be new.
    static int putNew(const QString &path, const std::string &text)
    {
        QFile file(path);
        if (!file.open(QIODevice::WriteOnly | QIODevice::Truncate))
            return EIO;
        const bool isWritten = file.write(text.data(), static_cast<qint64>(text.size())) == qint64(text.size())
                               && file.flush();
        file.close();
        return isWritten && file.error() == QFileDevice::NoError ? 0 : EIO;
    }
};

QTEST_GUILESS_MAIN(ProvidersTest)
#include "providers_test.moc"
