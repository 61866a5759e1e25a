// What a run asks of the daemon, and what becomes of the answer.
#include "tests/runner/scene.h"

#include <QTest>

using namespace cortexfs;
using namespace cortexfs::runner::test;

class RunnerRunTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void wordsReachTheDaemonAsGiven_data()
    {
        QTest::addColumn<std::vector<std::string>>("words");
        QTest::newRow("one word") << std::vector<std::string>{"hello"};
        QTest::newRow("several") << std::vector<std::string>{"hello", "big world"};
        QTest::newRow("an empty one") << std::vector<std::string>{""};
        QTest::newRow("quotes, backslashes, control characters")
            << std::vector<std::string>{"\"a\\b\"", "\x01\t\n\x1b"};
        QTest::newRow("other scripts") << std::vector<std::string>{"\xe4\xbd\xa0\xe5\xa5\xbd", "\xf0\x9f\x98\x80"};
        QTest::newRow("options are words") << std::vector<std::string>{"--version", "-h", "--"};
    }
    void wordsReachTheDaemonAsGiven()
    {
        QFETCH(std::vector<std::string>, words);
        Scene scene;
        scene.answerAll();
        RunnerProcess::Options options;
        options.input = RunnerProcess::Input::Pipe; // open and silent: argv wins, so nothing waits for it
        RunnerProcess process(scene.object.path(), words, options);
        QVERIFY(process.waitForOutput("done"));
        const Ended ended = process.finish();
        QCOMPARE(ended.exitCode, 0);
        const Result<json::Document> frame = json::parse(scene.execFrame());
        QVERIFY(frame.isOk());
        std::vector<std::string> sent;
        for (const json::Value &word : frame->root()["argv"].elements())
            sent.emplace_back(word.stringOr("?"));
        QCOMPARE(sent, words);
        QVERIFY(frame->root()["stdin"].isNull());
        QCOMPARE(std::string(frame->root()["object"].stringOr("?")), std::string("model/debug/echo"));
    }

    void theWorkingDirectoryIsSent()
    {
        Scene scene;
        scene.answerAll();
        RunnerProcess::Options options;
        options.directory = scene.object.directory();
        QCOMPARE(scene.run({"hi"}, options).exitCode, 0);
        const Result<json::Document> frame = json::parse(scene.execFrame());
        QCOMPARE(std::string(frame->root()["cwd"].stringOr("?")), scene.object.directory());
    }

    void wordsTooLongForOneFrameAreSentInPieces()
    {
        Scene scene;
        std::string input;
        scene.daemon.on("exec", [&](Peer &peer, const json::Value &request) {
            input = request["stdin"].stringOr("?");
            bool isOpen = request["stdin_open"].asBool().value_or(false);
            while (isOpen) {
                const auto piece = peer.next();
                if (!piece)
                    return;
                input += piece->root()["data"].stringOr("?");
                isOpen = !piece->root()["eof"].asBool().value_or(true);
            }
            peer.event(request, kStart);
            peer.event(request, kDone);
            peer.result(request, "\"exit\":0");
        });
        // The kernel takes 128 KiB a word; quotes and characters of three bytes sit on every border.
        std::string word;
        while (word.size() < 90'000)
            word += "\"\xe4\xbd\xa0";
        const std::vector<std::string> words(5, word);
        QCOMPARE(scene.run(words).exitCode, 0);
        std::string joined = word;
        for (int i = 1; i < 5; ++i)
            joined += " " + word;
        QVERIFY(input == joined);
        for (const std::string &frame : scene.daemon.requests())
            QVERIFY(frame.size() < 1024 * 1024);
    }

    void eventsAreCopiedWithoutTheId()
    {
        Scene scene;
        scene.daemon.on("exec", [](Peer &peer, const json::Value &request) {
            peer.event(request, kStart);
            peer.event(request,
                       "{\"type\":\"delta\",\"run\":\"r1\",\"text\":\"\\\"id\\\":\\\"1\\\", é\",\"offset\":0}");
            peer.event(request, R"({"type":"weather","id":"e1","sun":true})");
            peer.event(request, kDone);
            peer.result(request, "\"exit\":0");
        });
        const Ended ended = scene.run({"hi"});
        const std::string expected =
            std::string(kStart) + "\n"
            + "{\"type\":\"delta\",\"run\":\"r1\",\"text\":\"\\\"id\\\":\\\"1\\\", é\",\"offset\":0}"
              "\n"
              R"({"type":"weather","id":"e1","sun":true})"
              "\n"
            + kDone + "\n";
        QCOMPARE(ended.out, expected);
        QCOMPARE(ended.err, std::string());
        QCOMPARE(ended.exitCode, 0);
    }

    void theResultEndsTheProgram_data()
    {
        QTest::addColumn<QByteArray>("result");
        QTest::addColumn<int>("exitCode");
        QTest::addColumn<QByteArray>("err");
        const auto row = [](const char *name, const char *result, int exitCode, const char *err) {
            QTest::newRow(name) << QByteArray(result) << exitCode << QByteArray(err);
        };
        row("well", R"("exit":0)", 0, "");
        row("denied, with a line for people", R"("exit":13,"diagnostic":"key refused")", 13, "echo: key refused\n");
        row("unavailable", "\"exit\":69,\"diagnostic\":\"no \\\"key\\\" for local\\nset one\"", 69,
            "echo: no \"key\" for local\\x0aset one\n");
        row("internal", R"("exit":70)", 70, "");
        row("an exit code that is none", R"("exit":"x")", 70, "");
        row("a usage", R"("exit":2,"usage":"usage: echo TEXT...\nmore")", 2, "usage: echo TEXT...\nmore\n");
    }
    void theResultEndsTheProgram()
    {
        QFETCH(QByteArray, result);
        QFETCH(int, exitCode);
        QFETCH(QByteArray, err);
        Scene scene;
        scene.daemon.on("exec", [result](Peer &peer, const json::Value &request) {
            peer.event(request, kStart);
            peer.event(request, kDone);
            peer.result(request, result.toStdString());
        });
        const Ended ended = scene.run({"hi"});
        QCOMPARE(ended.exitCode, exitCode);
        QCOMPARE(QByteArray::fromStdString(ended.err), err);
        QCOMPARE(ended.types(), std::string("start done"));
    }

    void onATerminalWithoutWordsTheUsageIsShown()
    {
        Scene scene;
        scene.daemon.on("exec", [](Peer &peer, const json::Value &request) {
            const bool isAsked = request["tty"].asBool().value_or(false) && request["stdin"].isNull()
                                 && request["argv"].size() == 0;
            peer.result(request, isAsked ? R"("exit":2,"usage":"usage: model/debug/echo TEXT...")" : R"("exit":70)");
        });
        RunnerProcess::Options options;
        options.input = RunnerProcess::Input::Terminal;
        const Ended ended = scene.run({}, options);
        QCOMPARE(ended.out, std::string());
        QCOMPARE(ended.err, std::string("usage: model/debug/echo TEXT...\n"));
        QCOMPARE(ended.exitCode, 2);
    }

    void theKernelStartsItFromTheFirstLine()
    {
        Scene scene;
        scene.answerAll();
        RunnerProcess::Options options;
        options.program = scene.object.path();
        const Ended ended = RunnerProcess(scene.object.path(), {"hello", "world"}, options).finish();
        QCOMPARE(ended.exitCode, 0);
        QCOMPARE(ended.types(), std::string("start done"));
        const char argv[] = R"("argv":["hello","world"])";
        QVERIFY(scene.execFrame().find(argv) != std::string::npos);
    }

    void aLinkIsFollowed()
    {
        Scene scene;
        scene.answerAll();
        const std::string link = scene.object.directory() + "/main";
        QCOMPARE(::symlink("echo", link.c_str()), 0);
        QCOMPARE(RunnerProcess(link, {"hi"}).finish().exitCode, 0);
        const char object[] = R"("object":"model/debug/echo")";
        QVERIFY(scene.execFrame().find(object) != std::string::npos);
    }

    void itSaysWhatItIs()
    {
        RunnerProcess::Options options;
        options.program = runnerPath();
        const Ended bare = RunnerProcess({}, {}, options).finish();
        QCOMPARE(bare.exitCode, 2);
        QCOMPARE(bare.out, std::string());
        QVERIFY(bare.err.starts_with("usage: cortexfs-object-runner OBJECT"));
        const Ended help = RunnerProcess({}, {"--help"}, options).finish();
        QCOMPARE(help.exitCode, 0);
        QCOMPARE(help.out, bare.err);
        const Ended version = RunnerProcess({}, {"--version"}, options).finish();
        QCOMPARE(version.exitCode, 0);
        QCOMPARE(version.out, std::string("cortexfs-object-runner " CORTEXFS_VERSION "\n"));
    }
};

QTEST_GUILESS_MAIN(RunnerRunTest)
#include "run_test.moc"
