// Standard input: small, large, slow, broken, and while the daemon talks.
#include "tests/runner/scene.h"

#include <QTest>

#include <fcntl.h>
#include <unistd.h>

using namespace cortexfs;
using namespace cortexfs::runner::test;

namespace {

constexpr std::size_t kMiB = 1024 * 1024;

// Collects the input of one exec and answers it.
struct Listener {
    std::string input;
    bool isWhole = false;
    int frames = 1;
    std::size_t longest = 0;

    void attach(Scene &scene, std::size_t eventsFirst = 0)
    {
        scene.daemon.on("exec", [this, eventsFirst](Peer &peer, const json::Value &request) {
            input = request["stdin"].stringOr("?");
            bool isOpen = request["stdin_open"].asBool().value_or(false);
            peer.event(request, kStart);
            const std::string text(1000, 'x');
            for (std::size_t sent = 0; sent < eventsFirst; sent += text.size()) {
                if (!peer.event(request, "{\"type\":\"delta\",\"run\":\"r1\",\"text\":\"" + text + "\"}"))
                    return;
            }
            while (isOpen) {
                const auto piece = peer.next();
                if (!piece)
                    return;
                ++frames;
                input += piece->root()["data"].stringOr("?");
                isOpen = !piece->root()["eof"].asBool().value_or(true);
            }
            isWhole = true;
            peer.event(request, kDone);
            peer.result(request, "\"exit\":0");
        });
    }
};

std::string repeated(std::string_view text, std::size_t size)
{
    std::string out;
    out.reserve(size + text.size());
    while (out.size() < size)
        out += text;
    out.resize(size);
    return out;
}

} // namespace

class RunnerInputTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void inputArrivesWhole_data()
    {
        QTest::addColumn<QByteArray>("input");
        const auto row = [](const char *name, const std::string &input) {
            QTest::newRow(name) << QByteArray::fromStdString(input);
        };
        row("one line", "hello\n");
        row("nothing", "");
        row("a NUL byte is part of the text", std::string("a\0b", 3));
        row("a conversation", R"({"messages":[{"role":"user","content":"hi"}]})");
        row("exactly one piece", std::string(128 * 1024, 'a'));
        row("one byte more than a piece", std::string(128 * 1024 + 1, 'a'));
        row("a character across the border of a piece", std::string(128 * 1024 - 1, 'a') + "\xe4\xbd\xa0 end");
        row("the worst to escape", std::string(300 * 1024, '\x01'));
        row("sixteen MiB", repeated("0123456789\n", 16 * kMiB));
    }
    void inputArrivesWhole()
    {
        QFETCH(QByteArray, input);
        Listener listener; // outlives the scene, whose thread writes into it
        Scene scene;
        listener.attach(scene);
        RunnerProcess::Options options;
        options.input = RunnerProcess::Input::Pipe;
        RunnerProcess process(scene.object.path(), {}, options);
        process.feed({input.constData(), std::size_t(input.size())});
        const Ended ended = process.finish();
        QCOMPARE(ended.err, std::string());
        QCOMPARE(ended.exitCode, 0);
        QVERIFY(listener.isWhole);
        QVERIFY(listener.input == input.toStdString());
        for (const std::string &frame : scene.daemon.requests())
            QVERIFY(frame.size() < kMiB);
    }

    void inputFromAFileArrivesWhole()
    {
        Listener listener; // outlives the scene, whose thread writes into it
        Scene scene;
        listener.attach(scene);
        // A file gives more in one read than a pipe: the rest of the first read must not be forgotten.
        const std::string text = repeated("line of a file\n", 200 * 1024);
        const std::string file = scene.object.directory() + "/input";
        const UniqueFd out(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        QCOMPARE(::write(out.get(), text.data(), text.size()), ssize_t(text.size()));
        RunnerProcess::Options options;
        options.prefix = {"/bin/sh", "-c", "exec \"$0\" \"$1\" < \"$2\"", runnerPath(), scene.object.path(), file};
        options.program = "ignored";
        const Ended ended = RunnerProcess(scene.object.path(), {}, options).finish();
        QCOMPARE(ended.exitCode, 0);
        QVERIFY(listener.input == text);
    }

    void moreThanSixteenMiBIsRefused()
    {
        Listener listener; // outlives the scene, whose thread writes into it
        Scene scene;
        listener.attach(scene);
        RunnerProcess::Options options;
        options.input = RunnerProcess::Input::Pipe;
        RunnerProcess process(scene.object.path(), {}, options);
        process.feed(repeated("0123456789\n", 16 * kMiB + 1));
        const Ended ended = process.finish();
        QCOMPARE(ended.exitCode, 2);
        QCOMPARE(ended.types(), std::string("start error done"));
        QVERIFY(ended.out.find("EMSGSIZE") != std::string::npos);
        QCOMPARE(ended.err, std::string("echo: the input has more than 16 MiB\n"));
        QVERIFY(!listener.isWhole);
    }

    void whatIsNotUtf8IsRefused_data()
    {
        QTest::addColumn<QByteArray>("input");
        QTest::addColumn<bool>("isWord");
        QTest::newRow("a word") << QByteArray("caf\xe9") << true;
        QTest::newRow("input") << QByteArray("caf\xe9\n") << false;
        QTest::newRow("input that ends in half a character") << QByteArray("caf\xc3") << false;
        QTest::newRow("late in long input")
            << QByteArray(300 * 1024, 'a') + QByteArray("\xff") + QByteArray(300 * 1024, 'a') << false;
    }
    void whatIsNotUtf8IsRefused()
    {
        QFETCH(QByteArray, input);
        QFETCH(bool, isWord);
        Listener listener; // outlives the scene, whose thread writes into it
        Scene scene;
        listener.attach(scene);
        RunnerProcess::Options options;
        options.input = RunnerProcess::Input::Pipe;
        RunnerProcess process(scene.object.path(),
                              isWord ? std::vector<std::string>{input.toStdString()} : std::vector<std::string>(),
                              options);
        if (!isWord)
            process.feed({input.constData(), std::size_t(input.size())});
        const Ended ended = process.finish();
        QCOMPARE(ended.exitCode, 2);
        QCOMPARE(ended.types(), std::string("start error done"));
        QVERIFY(ended.out.find("EINVAL") != std::string::npos);
        QVERIFY(ended.err.find("not UTF-8\n") != std::string::npos);
        QVERIFY(!listener.isWhole);
    }

    void aDirectoryAsInputIsAnError()
    {
        Scene scene;
        scene.answerAll();
        RunnerProcess::Options options;
        options.prefix = {"/bin/sh", "-c", "exec \"$0\" \"$1\" < /", runnerPath(), scene.object.path()};
        options.program = "ignored";
        const Ended ended = RunnerProcess(scene.object.path(), {}, options).finish();
        QCOMPARE(ended.exitCode, 70);
        QCOMPARE(ended.types(), std::string("start error done"));
        QVERIFY2(ended.err.find("irectory") != std::string::npos, ended.err.c_str());
    }

    void withoutAStandardInputThereIsNone()
    {
        Listener listener; // outlives the scene, whose thread writes into it
        Scene scene;
        listener.attach(scene);
        RunnerProcess::Options options;
        options.input = RunnerProcess::Input::Closed;
        QCOMPARE(scene.run({}, options).exitCode, 0);
        QVERIFY(listener.isWhole);
        QCOMPARE(listener.input, std::string());
    }

    // Both directions full: the daemon does not read before it has said all of four megabytes.
    void inputAndOutputFlowAtOnce()
    {
        Listener listener; // outlives the scene, whose thread writes into it
        Scene scene;
        listener.attach(scene, 4 * kMiB);
        RunnerProcess::Options options;
        options.input = RunnerProcess::Input::Pipe;
        RunnerProcess process(scene.object.path(), {}, options);
        const std::string input = repeated("and some more\n", 3 * kMiB);
        process.feed(input);
        const Ended ended = process.finish();
        QCOMPARE(ended.exitCode, 0);
        QVERIFY(listener.input == input);
        QCOMPARE(ended.lines().size(), std::size_t(4 * kMiB / 1000 + 1 + 2));
    }

    void answersAreShownWhileInputIsStillOpen()
    {
        Listener listener; // outlives the scene, whose thread writes into it
        Scene scene;
        listener.attach(scene);
        RunnerProcess::Options options;
        options.input = RunnerProcess::Input::Pipe;
        RunnerProcess process(scene.object.path(), {}, options);
        process.feed(std::string(200 * 1024, 'a'));
        QVERIFY(process.waitForOutput("start"));
        process.feed("the end");
        const Ended ended = process.finish();
        QCOMPARE(ended.exitCode, 0);
        QCOMPARE(listener.input.size(), std::size_t(200 * 1024 + 7));
    }
};

QTEST_GUILESS_MAIN(RunnerInputTest)
#include "input_test.moc"
