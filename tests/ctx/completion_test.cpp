// What the Tab key offers: the query, and the three scripts in their shells.
#include "app/ctx/core/command_line.h"
#include "tests/ctx/ctx_run.h"

#include <QTest>

#include <chrono>
#include <csignal>

using namespace cortexfs;
using namespace cortexfs::ctx;
using namespace cortexfs::ctx::test;

namespace {

constexpr char kModels[] = R"("models":[{"name":"debug/echo","cap":["chat"]},{"name":"local/m1","cap":[]}],)"
                           R"("aliases":[{"name":"main","target":"debug/echo"}])";
constexpr char kProviders[] =
    R"("providers":[{"name":"local","base_url":"x"},{"name":"far","base_url":"y"}],"invalid":[])";
constexpr char kSlots[] =
    R"("name":"local","slots":[{"name":"default","state":"filled"},{"name":"work","state":"filled"}])";

// The candidates alone, joined by blanks.
std::string wordsOf(const std::string &out)
{
    std::string words;
    for (std::size_t start = 0; start < out.size();) {
        const std::size_t end = out.find('\n', start);
        const std::string line = out.substr(start, end - start);
        words += (words.empty() ? "" : " ") + line.substr(0, line.find('\t'));
        start = end + 1;
    }
    return words;
}

void serve(World &world)
{
    world.makeTree();
    world.daemon().reply("model.list", kModels);
    world.daemon().reply("provider.preset.list",
                         "\"presets\":[{\"name\":\"openai\",\"aliases\":[\"codex\"],\"state\":\"absent\"}]");
    world.daemon().reply("provider.list", kProviders);
    world.daemon().reply("provider.get", kSlots);
}

std::vector<std::string> split(const QByteArray &line)
{
    std::vector<std::string> words;
    for (const QByteArray &word : line.split(' '))
        words.push_back(word.toStdString());
    return words;
}

} // namespace

class CompletionTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void theLineDecidesWhatIsOffered_data()
    {
        QTest::addColumn<QByteArray>("line"); // the last word is being typed
        QTest::addColumn<QByteArray>("offered");
        const auto row = [](const char *name, const char *line, const char *offered) {
            QTest::newRow(name) << QByteArray(line) << QByteArray(offered);
        };
        row("a command", "st", "status");
        row("a subcommand", "provider k", "key");
        row("deeper", "provider key ", "set remove");
        row("an option", "ls --a", "--all");
        row("a choice of an option", "env --shell b", "bash");
        row("a choice after an equals sign", "env --shell=z", "--shell=zsh");
        row("a choice as bash splits it", "env --shell = z", "zsh");
        row("objects by name", "exec ", "main debug/echo local/m1 coder fs.read");
        row("objects by their beginning", "exec lo", "local/m1");
        row("objects by path", "exec model/d", "model/debug/");
        row("nothing after the object", "exec main ", "");
        row("paths", "cat model/", "model/broken model/debug/ model/local/ model/main");
        row("deeper paths", "cat model/debug/echo.d/e", "model/debug/echo.d/effort");
        row("controls that can be written", "set model/debug/echo.d/",
            "model/debug/echo.d/default model/debug/echo.d/driver model/debug/echo.d/effort "
            "model/debug/echo.d/fallback "
            "model/debug/echo.d/session");
        row("no objects where controls are wanted", "set model/debug/", "model/debug/echo.d/");
        row("values of a control", "set model/debug/echo/effort m", "medium max");
        row("models for a fallback", "set model/x/y/fallback deb", "debug/echo");
        row("providers", "provider show ", "local far");
        row("presets with their other names", "provider preset install ", "openai codex");
        row("key slots", "provider key remove local --slot ", "default work");
        row("models of a provider", "provider test local --model ", "m1");
        row("commands for help", "help provider k", "key");
        row("directories by the shell", "--root ", ":dirs");
        row("nothing for an unknown command", "frobnicate ", "");
        row("after two dashes no options", "cat -- --", "");
    }
    void theLineDecidesWhatIsOffered()
    {
        QFETCH(QByteArray, line);
        QFETCH(QByteArray, offered);
        World world;
        serve(world);
        std::vector<std::string> arguments = {"completion", "query", "--"};
        for (const std::string &word : split(line))
            arguments.push_back(word);
        const Outcome outcome = world.run(arguments);
        QCOMPARE(outcome.exitCode, 0);
        QCOMPARE(outcome.err, std::string());
        QCOMPARE(QByteArray::fromStdString(wordsOf(outcome.out)), offered);
    }

    void placesOnTheLineCount()
    {
        World world;
        World other;
        serve(other);
        const Outcome outcome = world.run(
            {"completion", "query", "--", "--runtime", other.runtime(), "provider", "show", "l"});
        QCOMPARE(wordsOf(outcome.out), std::string("local"));
    }

    void withoutADaemonItIsSilent_data()
    {
        QTest::addColumn<QByteArray>("line");
        for (const char *line : {"exec ", "cat ", "set ", "provider show ", "model ls ", "provider test x --model "})
            QTest::newRow(line) << QByteArray(line);
    }
    void withoutADaemonItIsSilent()
    {
        QFETCH(QByteArray, line);
        World world;
        std::vector<std::string> arguments = {"completion", "query", "--"};
        for (const std::string &word : split(line))
            arguments.push_back(word);
        const Outcome outcome = world.run(arguments);
        QCOMPARE(outcome.exitCode, 0);
        QCOMPARE(outcome.out + outcome.err, std::string());
    }

    void aDaemonThatHangsDoesNotHangTheShell()
    {
        World world;
        world.daemon().on("provider.list", [](Peer &, const json::Value &) {});
        const auto before = std::chrono::steady_clock::now();
        const Outcome outcome = world.run({"completion", "query", "--", "provider", "show", ""});
        QCOMPARE(outcome.out + outcome.err, std::string());
        QVERIFY(std::chrono::steady_clock::now() - before < std::chrono::seconds(5));
    }

    void namesWithControlCharactersAreNotOffered()
    {
        World world;
        serve(world);
        world.write("home/good", "");
        world.write("home/b\na\td", "");
        QCOMPARE(wordsOf(world.run({"completion", "query", "--", "cat", "home/"}).out), std::string("home/good"));
    }

    void bashCompletes_data()
    {
        QTest::addColumn<QByteArray>("words"); // as bash has split the line
        QTest::addColumn<QByteArray>("reply");
        QTest::newRow("a command") << QByteArray("ctx prov") << QByteArray("provider");
        QTest::newRow("an object") << QByteArray("ctx exec lo") << QByteArray("local/m1");
        QTest::newRow("an option's value") << QByteArray("ctx env --shell = z") << QByteArray("zsh");
        QTest::newRow("all of a group") << QByteArray("ctx provider key ") << QByteArray("set remove");
        QTest::newRow("nothing") << QByteArray("ctx frobnicate ") << QByteArray("");
    }
    void bashCompletes()
    {
        QFETCH(QByteArray, words);
        QFETCH(QByteArray, reply);
        World world;
        serve(world);
        std::string list;
        for (const std::string &word : split(words))
            list += " '" + (word == "ctx" ? programPath() : word) + "'";
        const Outcome outcome = world.shell(
            "compopt() { :; }; source <(\"$CTX\" completion bash); COMP_WORDS=(" + list
            + "); COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 )); _ctx; echo \"${COMPREPLY[*]}\"; complete -p ctx");
        QCOMPARE(outcome.err, std::string());
        QCOMPARE(QByteArray::fromStdString(outcome.out), reply + "\ncomplete -F _ctx ctx\n");
    }

    void fishCompletes()
    {
        World world;
        serve(world);
        const Outcome outcome = world.shell(
            "export PATH=\"${CTX%/*}:$PATH\"; fish -N -c '"
            "ctx completion fish | source; complete -C \"ctx provider key \"; complete -C \"ctx exec lo\"'");
        QVERIFY2(outcome.out.find("remove\t") != std::string::npos && outcome.out.find("local/m1") != std::string::npos,
                 (outcome.out + outcome.err).c_str());
    }

    void zshCompletes()
    {
        World world;
        serve(world);
        // The completion system needs a line editor; _describe is watched instead, with the words it gets.
        const Outcome outcome = world.shell(
            "zsh -f -c '"
            "compdef() { echo compdef $@ }; source <(\"$CTX\" completion zsh);"
            "_describe() { print -r -- ${(P)4} }; words=(\"$CTX\" exec lo); CURRENT=3; _ctx;"
            "words=(\"$CTX\" cat model/d); _ctx'");
        QCOMPARE(outcome.err, std::string());
        QCOMPARE(QByteArray::fromStdString(outcome.out),
                 QByteArray("compdef _ctx ctx\nlocal/m1:\nmodel/debug/:provider\n"));
    }
};

QTEST_GUILESS_MAIN(CompletionTest)
#include "completion_test.moc"
