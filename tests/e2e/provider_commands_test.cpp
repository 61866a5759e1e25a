// What `ctx provider add, edit, enable, disable` and `remove` do to the file, to the tree and to the next run.
#include "tests/e2e/daemon_process.h"
#include "tests/support/openai_script.h"

#include <QDir>
#include <QFile>
#include <QTest>

#include <sys/stat.h>
#include <unistd.h>

using namespace cortexfs;
using namespace cortexfs::e2e;

namespace {

constexpr char kModel[] = "model/local/custom-model";
constexpr uid_t kNobody = 65534;

QString providerPath(const DaemonProcess &daemon, const char *name = "local")
{
    return daemon.config() + QStringLiteral("/providers.d/%1.json").arg(QLatin1String(name));
}

std::string fileText(const DaemonProcess &daemon) { return slurp(providerPath(daemon)).value_or("(no file)"); }

QStringList filesOf(const DaemonProcess &daemon)
{
    return QDir(daemon.config() + QStringLiteral("/providers.d"))
        .entryList(QDir::Files | QDir::Hidden | QDir::System, QDir::Name);
}

// "provider" and the words, as a shell splits a line without quotes.
Outcome provider(DaemonProcess &daemon, const std::string &words, const std::string &input = {})
{
    return daemon.ctx(QStringLiteral("provider %1").arg(QString::fromStdString(words)).split(QLatin1Char(' ')), input);
}

std::string said(const Outcome &outcome)
{
    return "exit " + std::to_string(outcome.exitCode) + "\n" + outcome.out + outcome.err;
}

// The kernel is told of a change after the answer.
bool isSoonInTree(const DaemonProcess &daemon, bool isThere, const char *path = kModel)
{
    return waitFor([&] { return QFile::exists(daemon.path(path)) == isThere; });
}

std::string localFile(const std::string &baseUrl, const std::string &more = {})
{
    return "{\"name\":\"local\",\"base_url\":\"" + baseUrl + "\",\"default_model\":\"custom-model\"" + more + "}";
}

// An editor that runs `script` with its file as $1.
Outcome editWith(DaemonProcess &daemon, const std::string &script)
{
    const QString editor = daemon.base() + QStringLiteral("/editor");
    QFile file(editor);
    if (!file.open(QIODevice::WriteOnly | QIODevice::Truncate))
        return {};
    file.write(QByteArray::fromStdString("#!/bin/sh\n" + script + "\n"));
    file.close();
    file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    return shell(QStringLiteral(
                     "TMPDIR='%1' CTX_ROOT='%2' CORTEXFS_RUNTIME_DIR='%3' VISUAL= EDITOR='%4' '%5' provider edit local")
                     .arg(daemon.base(), daemon.mount(), daemon.runtime(), editor, binary("ctx")));
}

} // namespace

class ProviderCommandsTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void anAddedProviderAnswersAtOnce()
    {
        test::OpenAiOptions options;
        options.requiredKey = "sk-of-a-user";
        const test::WireServer server(test::openAiScript(options));
        DaemonProcess daemon;
        QVERIFY2(daemon.start(), daemon.log().c_str());
        const Outcome added = provider(daemon,
                                       "add local --base-url " + server.url("/v1")
                                           + " --model custom-model --model other --limit other=4096"
                                             " --format openai.chat --key",
                                       "sk-of-a-user\n");
        QVERIFY2(added.exitCode == 0, said(added).c_str());
        struct stat info = {};
        QCOMPARE(::lstat(providerPath(daemon).toLocal8Bit().constData(), &info), 0);
        QCOMPARE(info.st_mode & 07777u, 0644u);
        const Result<json::Document> file = json::parse(fileText(daemon));
        QVERIFY(file.isOk());
        QCOMPARE(file->root()["base_url"].stringOr(""), std::string_view(server.url("/v1")));
        QCOMPARE(file->root()["default_model"].stringOr(""), std::string_view("custom-model"));
        QCOMPARE(file->root()["models"].size(), std::size_t(2));
        QCOMPARE(file->root()["model_limits"]["other"].asInt().value_or(0), 4096);
        QVERIFY(fileText(daemon).find("sk-of-a-user") == std::string::npos);

        QVERIFY(isSoonInTree(daemon, true));
        QVERIFY(isSoonInTree(daemon, true, "model/local/other"));
        const Outcome answer = run(daemon.path(kModel), {QStringLiteral("hello")});
        QVERIFY2(answer.exitCode == 0, said(answer).c_str());
        QCOMPARE(answer.deltaText(), std::string("hello hello hello "));

        // A second one of the name is refused, with the way out.
        const std::string before = fileText(daemon);
        const Outcome again = provider(daemon, "add local --base-url http://127.0.0.1:9");
        QCOMPARE(again.exitCode, 1);
        QVERIFY2(again.err.find("ctx provider edit local") != std::string::npos, again.err.c_str());
        QCOMPARE(fileText(daemon), before);
    }

    void whatCannotBeAddedLeavesNothing_data()
    {
        QTest::addColumn<QString>("words");
        QTest::addColumn<QString>("complaint");
        const auto row = [](const char *title, const char *words, const char *complaint) {
            QTest::newRow(title) << QString::fromUtf8(words) << QString::fromUtf8(complaint);
        };
        row("no address", "add local", "--base-url");
        row("an address that is no URL", "add local --base-url nonsense", "base_url");
        row("an address of another scheme", "add local --base-url ftp://127.0.0.1/", "base_url");
        row("a name that is no name", "add a/b --base-url http://127.0.0.1:9", "name");
        row("an unknown format", "add local --base-url http://127.0.0.1:9 --format telepathy", "openai.chat");
        row("a limit of no tokens", "add local --base-url http://127.0.0.1:9 --limit m=0", "/model_limits/m");
        row("a limit that is no number", "add local --base-url http://127.0.0.1:9 --limit m=many", "MODEL=TOKENS");
    }
    void whatCannotBeAddedLeavesNothing()
    {
        QFETCH(QString, words);
        QFETCH(QString, complaint);
        DaemonProcess daemon;
        QVERIFY2(daemon.start(), daemon.log().c_str());
        const Outcome added = provider(daemon, words.toStdString());
        QVERIFY2(added.exitCode == 2, said(added).c_str());
        QVERIFY2(added.err.find(complaint.toStdString()) != std::string::npos, added.err.c_str());
        QCOMPARE(filesOf(daemon), QStringList());
    }

    void onlyAdministratorsChangeProviders_data()
    {
        QTest::addColumn<QString>("words");
        QTest::newRow("add") << "add other --base-url http://127.0.0.1:9";
        QTest::newRow("edit") << "edit local --set /enabled=false";
        QTest::newRow("enable") << "enable local";
        QTest::newRow("disable") << "disable local";
        QTest::newRow("remove") << "remove local --yes";
    }
    void onlyAdministratorsChangeProviders()
    {
        QFETCH(QString, words);
        if (::geteuid() != 0)
            QSKIP("needs root: asks as another user");
        DaemonProcess daemon;
        const std::string text = localFile("http://127.0.0.1:9");
        daemon.writeProvider(QStringLiteral("local.json"), text);
        QVERIFY2(daemon.start(), daemon.log().c_str());
        // The build may lie where only root goes.
        const QString copy = daemon.base() + QStringLiteral("/ctx-of-nobody");
        QVERIFY(QFile::copy(binary("ctx"), copy));
        QVERIFY(QFile::setPermissions(copy, QFile::permissions(copy) | QFile::ReadOther | QFile::ExeOther));
        const Outcome refused = shell(
            QStringLiteral("CTX_ROOT='%1' CORTEXFS_RUNTIME_DIR='%2' setpriv --reuid %3 --regid "
                           "%3 --clear-groups '%4' provider %5")
                .arg(daemon.mount(), daemon.runtime(), QString::number(kNobody), copy, words));
        QVERIFY2(refused.exitCode == 13, said(refused).c_str());
        QCOMPARE(filesOf(daemon), QStringList{QStringLiteral("local.json")});
        QCOMPARE(fileText(daemon), text);
    }

    void anEditLeadsTheNextRunElsewhereAndKeepsTheRest()
    {
        const test::WireServer first(test::openAiScript({}));
        const test::WireServer second(test::openAiScript({}));
        DaemonProcess daemon;
        daemon.writeProvider(QStringLiteral("local.json"),
                             localFile(first.url("/v1"), ",\"of_a_later_release\":{\"a\":[1,2]}"));
        QVERIFY2(daemon.start(), daemon.log().c_str());
        QCOMPARE(run(daemon.path(kModel), {QStringLiteral("hello")}).exitCode, 0);
        QCOMPARE(first.requests().size(), std::size_t(1));

        const Outcome edited = provider(daemon, "edit local --set /base_url=\"" + second.url("/v1")
                                                    + "\" --set /models=[\"custom-model\",\"other\"]"
                                                      " --set /timeouts/idle_ms=300000");
        QVERIFY2(edited.exitCode == 0, said(edited).c_str());
        QCOMPARE(run(daemon.path(kModel), {QStringLiteral("hello")}).exitCode, 0);
        QCOMPARE(first.requests().size(), std::size_t(1));
        QCOMPARE(second.requests().size(), std::size_t(1));
        QVERIFY(isSoonInTree(daemon, true, "model/local/other"));

        const Outcome taken = provider(daemon, "edit local --unset /models/1 --unset /timeouts");
        QVERIFY2(taken.exitCode == 0, said(taken).c_str());
        QVERIFY(isSoonInTree(daemon, false, "model/local/other"));
        QVERIFY(isSoonInTree(daemon, true));
        const Result<json::Document> file = json::parse(fileText(daemon));
        QVERIFY(file.isOk());
        QVERIFY(file->root()["timeouts"].isMissing());
        QCOMPARE(file->root()["of_a_later_release"].toJson(), std::string("{\"a\":[1,2]}"));
    }

    void aBadEditChangesNothing_data()
    {
        QTest::addColumn<QString>("words");
        QTest::addColumn<int>("exitCode");
        QTest::addColumn<QString>("complaint");
        const auto row = [](const char *title, const char *words, int exitCode, const char *complaint) {
            QTest::newRow(title) << QString::fromUtf8(words) << exitCode << QString::fromUtf8(complaint);
        };
        row("an address that is no URL", "edit local --set /base_url=\"nonsense\"", 2, "base_url");
        row("a number where a text belongs", "edit local --set /base_url=5", 2, "base_url");
        row("what is no JSON", "edit local --set /base_url=http://127.0.0.1:9", 2, "no JSON");
        row("no value", "edit local --set /base_url", 2, "POINTER");
        row("a member that is needed is taken out", "edit local --unset /base_url", 2, "base_url");
        row("a member that is not there is taken out", "edit local --unset /nowhere", 1, "nowhere");
        row("a key in the file", "edit local --set /api_key=\"sk-1\"", 2, "ctx provider key set");
        row("an unknown provider", "edit nobody --set /enabled=false", 1, "nobody");
    }
    void aBadEditChangesNothing()
    {
        QFETCH(QString, words);
        QFETCH(int, exitCode);
        QFETCH(QString, complaint);
        DaemonProcess daemon;
        const std::string text = localFile("http://127.0.0.1:9");
        daemon.writeProvider(QStringLiteral("local.json"), text);
        QVERIFY2(daemon.start(), daemon.log().c_str());
        const Outcome edited = provider(daemon, words.toStdString());
        QVERIFY2(edited.exitCode == exitCode, said(edited).c_str());
        QVERIFY2(edited.err.find(complaint.toStdString()) != std::string::npos, edited.err.c_str());
        QCOMPARE(fileText(daemon), text);
        QCOMPARE(filesOf(daemon), QStringList{QStringLiteral("local.json")});
        QVERIFY(QFile::exists(daemon.path(kModel)));
    }

    void whatTheEditorLeavesCounts_data()
    {
        QTest::addColumn<QString>("script");
        QTest::addColumn<int>("exitCode");
        QTest::addColumn<QString>("after"); // a word that only the file has that must be there afterwards
        QTest::addColumn<bool>("isTextKept");
        const auto row = [](const char *title, const char *script, int exitCode, const char *after, bool isTextKept) {
            QTest::newRow(title) << QString::fromUtf8(script) << exitCode << QString::fromUtf8(after) << isTextKept;
        };
        row("one setting", "sed -i 's/\"old\"/\"new\"/' \"$1\"", 0, "\"new\"", false);
        row("nothing", ":", 0, "\"old\"", false);
        row("the editor fails", "sed -i 's/\"old\"/\"new\"/' \"$1\"; exit 3", 1, "\"old\"", false);
        row("half of it", "printf '{\"name\":' > \"$1\"", 2, "\"old\"", true);
        row("somebody else was faster", "sed 's/\"old\"/\"theirs\"/' \"$1\" > \"$THEIRS\"; sed -i 's/old/mine/' \"$1\"",
            1, "\"theirs\"", true);
    }
    void whatTheEditorLeavesCounts()
    {
        QFETCH(QString, script);
        QFETCH(int, exitCode);
        QFETCH(QString, after);
        QFETCH(bool, isTextKept);
        DaemonProcess daemon;
        daemon.writeProvider(QStringLiteral("local.json"), localFile("http://127.0.0.1:9", ",\"note\":\"old\""));
        QVERIFY2(daemon.start(), daemon.log().c_str());
        const Outcome edited = editWith(daemon,
                                        "THEIRS='" + providerPath(daemon).toStdString() + "'\n" + script.toStdString());
        QVERIFY2(edited.exitCode == exitCode, said(edited).c_str());
        QVERIFY2(fileText(daemon).find(after.toStdString()) != std::string::npos, fileText(daemon).c_str());
        QCOMPARE(edited.err.find("your text is kept in ") != std::string::npos, isTextKept);
        const QStringList copies = QDir(daemon.base()).entryList({QStringLiteral("ctx-edit-*")});
        QCOMPARE(copies.size(), isTextKept ? 1 : 0);
    }

    void aDisabledProviderLeavesTheTreeAndComesBack()
    {
        test::OpenAiOptions options;
        options.requiredKey = "sk-of-a-user";
        options.chunks = 2;
        options.failure = "stall"; // a run that goes on
        options.failAfter = 1;
        options.failures = 1;
        const test::WireServer server(test::openAiScript(options));
        DaemonProcess daemon;
        daemon.writeProvider(QStringLiteral("local.json"), localFile(server.url("/v1"), ",\"note\":\"mine\""));
        daemon.writeKey(QStringLiteral("local"), "sk-of-a-user");
        QVERIFY2(daemon.start(), daemon.log().c_str());

        QProcess live;
        live.start(daemon.path(kModel), {QStringLiteral("hello")});
        QByteArray streamed;
        QVERIFY(waitFor([&] {
            live.waitForReadyRead(10);
            streamed += live.readAllStandardOutput();
            return streamed.contains("\"delta\"");
        }));
        const Outcome disabled = provider(daemon, "disable local");
        QVERIFY2(disabled.exitCode == 0, said(disabled).c_str());
        QVERIFY(isSoonInTree(daemon, false));
        QVERIFY(isSoonInTree(daemon, false, "model/local"));
        QCOMPARE(live.state(), QProcess::Running); // it goes on until its user ends it
        QCOMPARE(server.openConnections(), 1);
        live.terminate();
        QVERIFY(live.waitForFinished());
        QCOMPARE(provider(daemon, "disable local").exitCode, 0); // as it is already
        const Result<json::Document> file = json::parse(fileText(daemon));
        QVERIFY(file.isOk());
        QCOMPARE(file->root()["enabled"].asBool(), std::optional<bool>(false));
        QCOMPARE(file->root()["note"].stringOr(""), std::string_view("mine"));

        // It stays so over a start.
        QCOMPARE(daemon.stop(), 0);
        QVERIFY2(daemon.start(), daemon.log().c_str());
        QVERIFY(!QFile::exists(daemon.path("model/local")));
        const Outcome listed = provider(daemon, "list --json");
        QVERIFY2(listed.out.find("\"enabled\":false") != std::string::npos, listed.out.c_str());

        const Outcome enabled = provider(daemon, "enable local");
        QVERIFY2(enabled.exitCode == 0, said(enabled).c_str());
        QVERIFY(isSoonInTree(daemon, true));
        const Outcome answer = run(daemon.path(kModel), {QStringLiteral("hello")});
        QVERIFY2(answer.exitCode == 0, said(answer).c_str());
        for (const char *words : {"enable nobody", "disable nobody"})
            QCOMPARE(provider(daemon, words).exitCode, 1);
    }

    void aRemovedProviderLeavesItsKey()
    {
        test::OpenAiOptions options;
        options.requiredKey = "sk-of-a-user";
        const test::WireServer server(test::openAiScript(options));
        const std::string add = "add local --base-url " + server.url("/v1") + " --model custom-model";
        DaemonProcess daemon;
        QVERIFY2(daemon.start(), daemon.log().c_str());
        QCOMPARE(provider(daemon, add + " --key", "sk-of-a-user\n").exitCode, 0);
        QVERIFY(isSoonInTree(daemon, true));
        QCOMPARE(run(daemon.path(kModel), {QStringLiteral("hello")}).exitCode, 0);

        // Nobody is there to say yes.
        const std::string text = fileText(daemon);
        const Outcome unasked = provider(daemon, "remove local");
        QVERIFY2(unasked.exitCode == 2, said(unasked).c_str());
        QVERIFY2(unasked.err.find("--yes") != std::string::npos, unasked.err.c_str());
        QCOMPARE(fileText(daemon), text);

        const Outcome removed = provider(daemon, "remove local --yes");
        QVERIFY2(removed.exitCode == 0, said(removed).c_str());
        QVERIFY2(removed.out.find("ctx provider key remove local") != std::string::npos, removed.out.c_str());
        QCOMPARE(filesOf(daemon), QStringList());
        QVERIFY(isSoonInTree(daemon, false, "model/local"));
        QCOMPARE(provider(daemon, "remove local --yes").exitCode, 1);

        // The same key, when it comes back; and none once that is removed too.
        QCOMPARE(provider(daemon, add).exitCode, 0);
        QVERIFY(isSoonInTree(daemon, true));
        QCOMPARE(run(daemon.path(kModel), {QStringLiteral("hello")}).exitCode, 0);
        QCOMPARE(provider(daemon, "key remove local").exitCode, 0);
        const Outcome refused = run(daemon.path(kModel), {QStringLiteral("hello")});
        QVERIFY2(refused.exitCode != 0, said(refused).c_str());
        QVERIFY(server.requests().back().header("authorization") != "Bearer sk-of-a-user");
    }

    void anInvalidFileIsRemovedByItsName()
    {
        DaemonProcess daemon;
        daemon.writeProvider(QStringLiteral("broken.json"), "{\"name\":\"broken\",");
        QVERIFY2(daemon.start(), daemon.log().c_str());
        const Outcome removed = provider(daemon, "remove broken.json --yes");
        QVERIFY2(removed.exitCode == 0, said(removed).c_str());
        QCOMPARE(filesOf(daemon), QStringList());
        QVERIFY(provider(daemon, "list").out.find("broken") == std::string::npos);
    }
};

QTEST_GUILESS_MAIN(ProviderCommandsTest)
#include "provider_commands_test.moc"
