// `ctx provider key`: the key reaches the daemon and nothing else.
#include "tests/ctx/ctx_run.h"

#include <QTest>

#include <atomic>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

using namespace cortexfs;
using namespace cortexfs::ctx::test;

namespace {

constexpr char kCanary[] = "CANARY-sk-0123456789abcdef";

bool has(const std::string &text, std::string_view part) { return text.find(part) != std::string::npos; }

std::string fileText(const std::string &path)
{
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

std::string process(pid_t pid, const char *file) { return "/proc/" + std::to_string(pid) + "/" + file; }

// How often `part` stands in the writable memory of another process.
int countInMemory(pid_t pid, std::string_view part)
{
    int count = 0;
    std::istringstream maps(fileText(process(pid, "maps")));
    const int memory = ::open(process(pid, "mem").c_str(), O_RDONLY | O_CLOEXEC);
    for (std::string line; std::getline(maps, line);) {
        unsigned long start = 0;
        unsigned long end = 0;
        char rights[8] = {};
        if (std::sscanf(line.c_str(), "%lx-%lx %7s", &start, &end, rights) != 3 || rights[1] != 'w'
            || end - start > (256UL << 20))
            continue;
        std::string bytes(end - start, '\0');
        const ssize_t size = ::pread(memory, bytes.data(), bytes.size(), static_cast<off_t>(start));
        if (size <= 0)
            continue;
        bytes.resize(static_cast<std::size_t>(size));
        for (std::size_t at = bytes.find(part); at != std::string::npos; at = bytes.find(part, at + 1))
            ++count;
    }
    ::close(memory);
    return count;
}

} // namespace

class KeyTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aKeyComesFromStandardInput_data()
    {
        QTest::addColumn<QByteArray>("input");
        QTest::addColumn<QByteArray>("value");
        QTest::newRow("a line") << QByteArray("sk-1\n") << QByteArray("sk-1");
        QTest::newRow("without its end") << QByteArray("sk-1") << QByteArray("sk-1");
        QTest::newRow("white space around it") << QByteArray(" \t\n sk-1 \r\n\n") << QByteArray("sk-1");
        QTest::newRow("one with quotes") << QByteArray("a\"b\\c") << QByteArray("a\\\"b\\\\c");
        QTest::newRow("a long one") << QByteArray(60'000, 'k') << QByteArray(60'000, 'k');
    }
    void aKeyComesFromStandardInput()
    {
        QFETCH(QByteArray, input);
        QFETCH(QByteArray, value);
        World world;
        world.daemon().reply("provider.key.set", R"("name":"local","slot":"default")");
        const Outcome outcome = world.run({"provider", "key", "set", "local"}, input.toStdString());
        QVERIFY2(outcome.exitCode == 0, outcome.err.c_str());
        QCOMPARE(outcome.out, std::string("key of local, slot default: stored\n"));
        QCOMPARE(QByteArray::fromStdString(world.daemon().request("provider.key.set")),
                 QByteArray(
                     "{\"op\":\"provider.key.set\",\"id\":\"c1\",\"name\":\"local\",\"slot\":\"default\",\"value\":\"")
                     + value + "\"}");
    }

    void anUnusableKeyIsRefused_data()
    {
        QTest::addColumn<QByteArray>("input");
        QTest::addColumn<QByteArray>("says");
        QTest::newRow("nothing") << QByteArray() << QByteArray("the key is empty");
        QTest::newRow("only blanks") << QByteArray(" \n\n") << QByteArray("the key is empty");
        QTest::newRow("two lines") << QByteArray("sk-1\nsk-2\n") << QByteArray("more than one line");
        QTest::newRow("a NUL") << QByteArray("sk\0x", 4) << QByteArray("control character");
        QTest::newRow("no text") << QByteArray("sk-\xff") << QByteArray("not text");
        QTest::newRow("too long") << QByteArray(70'000, 'k') << QByteArray("at most 64 KiB");
    }
    void anUnusableKeyIsRefused()
    {
        QFETCH(QByteArray, input);
        QFETCH(QByteArray, says);
        World world;
        world.daemon().reply("provider.key.set", {});
        const Outcome outcome = world.run({"provider", "key", "set", "local"}, input.toStdString());
        QCOMPARE(outcome.exitCode, 2);
        QVERIFY2(has(outcome.err, says.toStdString()), outcome.err.c_str());
        QVERIFY(!has(outcome.err, "sk"));
        QCOMPARE(world.daemon().request("provider.key.set"), std::string());
    }

    void aKeyOnTheCommandLineIsRefused()
    {
        World world;
        world.daemon().reply("provider.key.set", {});
        const Outcome outcome = world.run({"provider", "key", "set", "local", kCanary});
        QCOMPARE(outcome.exitCode, 2);
        QVERIFY(has(outcome.err, "not taken from the command line"));
        QVERIFY(!has(outcome.err + outcome.out, "CANARY"));
        QCOMPARE(world.daemon().requests().size(), std::size_t{0});
    }

    void theKeyIsNowhereButInTheRequest()
    {
        World world;
        std::atomic<bool> wasChecked = false;
        std::string commandLine;
        std::string environment;
        int inMemory = -1;
        world.daemon().on("provider.key.set", [&](Peer &peer, const json::Value &request) {
            // The client has sent the key and is about to wait for us: whatever it holds then, it holds for nothing.
            commandLine = fileText(process(peer.pid(), "cmdline"));
            environment = fileText(process(peer.pid(), "environ"));
            for (int i = 0; i < 200 && inMemory != 0; ++i) {
                inMemory = countInMemory(peer.pid(), kCanary);
                ::poll(nullptr, 0, 10);
            }
            wasChecked = true;
            peer.result(request, R"("name":"local","slot":"work")");
        });
        const Outcome outcome = world.run({"provider", "key", "set", "local", "--slot", "work"}, kCanary);
        QVERIFY2(outcome.exitCode == 0, outcome.err.c_str());
        QVERIFY(wasChecked);
        QVERIFY(has(world.daemon().request("provider.key.set"), kCanary));
        QVERIFY(!commandLine.empty() && !has(commandLine, "CANARY"));
        QVERIFY(!environment.empty() && !has(environment, "CANARY"));
        QVERIFY(!has(outcome.out + outcome.err, "CANARY"));
        QCOMPARE(inMemory, 0);
    }

    void theCheckOfMemoryCanFail()
    {
        const std::string held = std::string("held-") + kCanary;
        QVERIFY(countInMemory(::getpid(), held) > 0);
    }

    void aRefusalOfTheDaemonDoesNotShowTheKey()
    {
        World world;
        world.daemon().fail("provider.key.set", "EACCES", "uid 1000 may not change the configuration");
        const Outcome outcome = world.run({"provider", "key", "set", "local"}, kCanary);
        QCOMPARE(outcome.exitCode, 13);
        QVERIFY(has(outcome.err, "uid 1000 may not") && !has(outcome.err, "CANARY"));
    }

    void aTypedKeyIsNotShown()
    {
        World world;
        world.daemon().reply("provider.key.set", R"("name":"local","slot":"default")");
        bool hasTyped = false;
        const Outcome outcome = world.runOnTerminal(
            {"provider", "key", "set", "local"},
            [&](const std::string &shown, const std::function<void(const std::string &)> &type) {
                if (!has(shown, "not shown as you type: "))
                    return true;
                type(std::string(kCanary) + "\n");
                hasTyped = true;
                return false;
            });
        QVERIFY(hasTyped);
        QVERIFY2(outcome.exitCode == 0, outcome.out.c_str());
        QVERIFY2(!has(outcome.out, "CANARY"), outcome.out.c_str());
        QVERIFY(has(outcome.out, "Key for local (slot default), not shown as you type: \r\n"));
        QVERIFY(has(outcome.out, "stored"));
        QVERIFY(outcome.echoesAfter);
        QVERIFY(has(world.daemon().request("provider.key.set"), std::string("\"value\":\"") + kCanary + "\""));
    }

    void anInterruptAtThePromptRestoresTheTerminal()
    {
        World world;
        world.daemon().reply("provider.key.set", {});
        bool hasTyped = false;
        const Outcome typed = world.runOnTerminal(
            {"provider", "key", "set", "local"},
            [&](const std::string &shown, const std::function<void(const std::string &)> &type) {
                if (!has(shown, "not shown as you type: "))
                    return true;
                type("half a key\003"); // Ctrl-C
                hasTyped = true;
                return false;
            });
        QVERIFY(hasTyped);
        QCOMPARE(typed.exitCode, 130);
        QVERIFY(typed.echoesAfter);
        QVERIFY(!has(typed.out, "half"));
        QCOMPARE(world.daemon().request("provider.key.set"), std::string());
    }

    void nobodyTypesAKeyForADaemonThatIsNotThere()
    {
        World world;
        const Outcome outcome = world.runOnTerminal({"provider", "key", "set", "local"});
        QCOMPARE(outcome.exitCode, 69);
        QVERIFY(!has(outcome.out, "not shown"));
    }

    void aKeyIsRemoved()
    {
        World world;
        world.daemon().reply("provider.key.remove", R"("name":"local","slot":"work")");
        const Outcome outcome = world.run({"provider", "key", "remove", "local", "--slot=work"});
        QCOMPARE(outcome.exitCode, 0);
        QCOMPARE(outcome.out, std::string("key of local, slot work: removed\n"));
        world.daemon().fail("provider.key.remove", "ENOENT", "no such key");
        QCOMPARE(world.run({"provider", "key", "remove", "local"}).exitCode, 1);
    }
};

QTEST_GUILESS_MAIN(KeyTest)
#include "key_test.moc"
