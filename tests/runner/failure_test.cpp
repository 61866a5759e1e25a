// The daemon that is not there, goes away, or talks nonsense; standard descriptors that are missing.
#include "tests/runner/scene.h"

#include <QTest>

#include <filesystem>
#include <functional>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

using namespace cortexfs;
using namespace cortexfs::runner::test;

namespace {

std::string codeOf(const Ended &ended)
{
    for (const std::string &line : ended.lines()) {
        const Result<json::Document> document = json::parse(line);
        if (document && document->root()["type"].stringOr("") == "error")
            return std::string(document->root()["code"].stringOr("?"));
    }
    return "(no error)";
}

} // namespace

using Say = std::function<void(Peer &, const json::Value &)>;
Q_DECLARE_METATYPE(Say)

class RunnerFailureTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void withoutADaemonItSaysHowToStartOne_data()
    {
        QTest::addColumn<QByteArray>("how");
        QTest::newRow("no socket") << QByteArray("no socket");
        QTest::newRow("a socket that nobody listens on") << QByteArray("deaf");
        QTest::newRow("a file without the attributes") << QByteArray("bare");
        QTest::newRow("a mount that went while it started") << QByteArray("gone");
    }
    void withoutADaemonItSaysHowToStartOne()
    {
        QFETCH(QByteArray, how);
        const ObjectFile object(how == "bare" ? ObjectFile::Xattrs::None : ObjectFile::Xattrs::Both);
        const UniqueFd deaf(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        if (how == "deaf") {
            sockaddr_un address = {};
            address.sun_family = AF_UNIX;
            object.control().copy(address.sun_path, sizeof address.sun_path - 1);
            QCOMPARE(::bind(deaf.get(), reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
        }
        if (how == "gone")
            std::filesystem::remove(object.path());
        const Ended ended = RunnerProcess(object.path(), {"hi"}).finish();
        QCOMPARE(ended.exitCode, 69);
        QCOMPARE(ended.types(), std::string("start error done"));
        QCOMPARE(codeOf(ended), std::string("EHOSTDOWN"));
        QCOMPARE(std::count(ended.err.begin(), ended.err.end(), '\n'), 1);
        QVERIFY2(ended.err.starts_with("echo: ") && ended.err.find("`cortexd`") != std::string::npos,
                 ended.err.c_str());
    }

    // A reader of a pipe must learn it before the writer at its other end is done.
    void withoutADaemonItDoesNotWaitForInput()
    {
        const ObjectFile object;
        RunnerProcess::Options options;
        options.input = RunnerProcess::Input::Pipe;
        RunnerProcess process(object.path(), {}, options);
        QVERIFY(process.waitForOutput("done"));
        QCOMPARE(process.finish().exitCode, 69);
    }

    void whatTheDaemonDoesWrongHasAnErrno_data()
    {
        QTest::addColumn<Say>("say");
        QTest::addColumn<QByteArray>("types");
        QTest::addColumn<QByteArray>("code");
        QTest::addColumn<int>("exitCode");
        const auto row = [](const char *name, Say say, const char *types, const char *code, int exitCode) {
            QTest::newRow(name) << say << QByteArray(types) << QByteArray(code) << exitCode;
        };
        row(
            "it closes at once", [](Peer &peer, const json::Value &) { peer.close(); }, "start error done",
            "ECONNRESET", 69);
        row(
            "it dies in the middle",
            [](Peer &peer, const json::Value &request) {
                peer.event(request, kStart);
                peer.event(request, R"({"type":"delta","run":"r1","text":"a"})");
                peer.close();
            },
            "start delta error done", "ECONNRESET", 69);
        row(
            "it dies in the middle of a line",
            [](Peer &peer, const json::Value &request) {
                peer.event(request, kStart);
                peer.raw("{\"id\":\"1\",\"type\":\"del");
                peer.close();
            },
            "start error done", "ECONNRESET", 69);
        row(
            "it dies behind done",
            [](Peer &peer, const json::Value &request) {
                peer.event(request, kStart);
                peer.event(request, kDone);
                peer.close();
            },
            "start done", "(no error)", 69);
        row(
            "it refuses the request",
            [](Peer &peer, const json::Value &request) { peer.error(request, "EACCES", "not for you"); },
            "start error done", "EACCES", 13);
        row(
            "it refuses in the middle",
            [](Peer &peer, const json::Value &request) {
                peer.event(request, kStart);
                peer.error(request, "EBUSY", "too many");
            },
            "start error done", "EBUSY", 1);
        row(
            "it could not read the request",
            [](Peer &peer, const json::Value &) {
                peer.raw("{\"id\":null,\"type\":\"error\",\"code\":\"EMSGSIZE\",\"message\":\"1 MiB\"}\n");
                peer.close();
            },
            "start error done", "EMSGSIZE", 2);
        row(
            "an error without a code",
            [](Peer &peer, const json::Value &) { peer.raw("{\"id\":\"1\",\"type\":\"error\"}\n"); },
            "start error done", "EPROTO", 70);
        row(
            "a result without done",
            [](Peer &peer, const json::Value &request) {
                peer.event(request, kStart);
                peer.result(request, "\"exit\":0");
            },
            "start error done", "EPROTO", 70);
        row(
            "noise between events is passed over",
            [](Peer &peer, const json::Value &request) {
                peer.raw("\n\xff\xfe\n{\"id\":\"2\",\"type\":\"result\",\"exit\":9}\n[]\n");
                peer.event(request, kStart);
                peer.event(request, kDone);
                peer.result(request, "\"exit\":0");
            },
            "start done", "(no error)", 0);
        row(
            "a failure that another model made good is none",
            [](Peer &peer, const json::Value &request) {
                peer.event(request, kStart);
                peer.event(request, "{\"type\":\"error\",\"run\":\"r1\",\"code\":\"EHOSTDOWN\",\"message\":\"m\","
                                    "\"recoverable\":true,\"model\":\"p/m\"}");
                peer.event(request, kDone);
                peer.result(request, "\"exit\":0");
            },
            "start error done", "EHOSTDOWN", 0);
        row(
            "a line without end",
            [](Peer &peer, const json::Value &request) {
                peer.event(request, kStart);
                const std::string piece(64 * 1024, 'x');
                while (peer.raw(piece))
                    continue;
            },
            "start error done", "ECONNRESET", 69);
    }
    void whatTheDaemonDoesWrongHasAnErrno()
    {
        QFETCH(Say, say);
        QFETCH(QByteArray, types);
        QFETCH(QByteArray, code);
        QFETCH(int, exitCode);
        Scene scene;
        scene.daemon.on("exec", say);
        const Ended ended = scene.run({"hi"});
        QCOMPARE(QByteArray::fromStdString(ended.types()), types);
        QCOMPARE(QByteArray::fromStdString(codeOf(ended)), code);
        QCOMPARE(ended.exitCode, exitCode);
        QCOMPARE(std::count(ended.err.begin(), ended.err.end(), '\n'), exitCode == 0 ? 0 : 1);
    }

    // The socket must not become standard output, nor events be written into it.
    void withoutAStandardOutputItFails()
    {
        Scene scene;
        scene.answerAll();
        RunnerProcess::Options options;
        options.closeOutput = true;
        options.input = RunnerProcess::Input::Closed;
        const Ended ended = scene.run({"hi"}, options);
        QCOMPARE(ended.exitCode, 1);
        QCOMPARE(ended.err, std::string("echo: Bad file descriptor\n"));
        for (const std::string &frame : scene.daemon.requests())
            QVERIFY2(frame.starts_with("{\"op\":"), frame.c_str());
    }

    void aFullDiskIsSaid()
    {
        if (::access("/dev/full", W_OK) != 0)
            QSKIP("no /dev/full");
        Scene scene;
        scene.answerAll();
        RunnerProcess::Options options;
        options.prefix = {"/bin/sh", "-c", "exec \"$0\" \"$1\" hi > /dev/full", runnerPath(), scene.object.path()};
        options.program = "ignored";
        const Ended ended = RunnerProcess(scene.object.path(), {}, options).finish();
        QCOMPARE(ended.exitCode, 1);
        QVERIFY2(ended.err.find("echo: No space left") == 0, ended.err.c_str());
    }
};

QTEST_GUILESS_MAIN(RunnerFailureTest)
#include "failure_test.moc"
