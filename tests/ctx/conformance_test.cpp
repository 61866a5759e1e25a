// Walks the registry of commands: a new member is held to the same promises without another edit.
#include "app/ctx/core/arguments.h"
#include "app/ctx/core/completion.h"
#include "app/ctx/core/help.h"
#include "app/ctx/core/manual.h"
#include "app/ctx/core/registry.h"
#include "tests/ctx/ctx_run.h"

#include <QTest>

#include <algorithm>

using namespace cortexfs;
using namespace cortexfs::ctx;
using cortexfs::ctx::test::Outcome;
using cortexfs::ctx::test::World;

namespace {

using Path = std::vector<const Command *>;

// Every command and subcommand, groups and hidden ones included.
std::vector<Path> everyCommand()
{
    std::vector<Path> all;
    const auto walk = [&](const auto &self, Path path) -> void {
        all.push_back(path);
        for (const Command &sub : path.back()->subcommands) {
            path.push_back(&sub);
            self(self, path);
            path.pop_back();
        }
    };
    for (const Command *command : commands())
        walk(walk, {command});
    return all;
}

std::vector<std::string> wordsOf(const Path &path)
{
    std::vector<std::string> words;
    for (const Command *command : path)
        words.emplace_back(command->name);
    return words;
}

// What a command wants besides its arguments where nobody can be asked.
std::vector<std::string> neededOptions(const Path &path)
{
    const std::string command = pathText(path);
    if (command == "provider add")
        return {"--base-url", "http://127.0.0.1:9/v1"};
    if (command == "provider edit")
        return {"--set", "/enabled=true"};
    if (command == "provider remove")
        return {"--yes"};
    return {};
}

std::string wordFor(const Argument &argument)
{
    if (!argument.choices.empty())
        return std::string(argument.choices[0]);
    return argument.completion == Completion::Object ? "debug/echo" : "model/debug/echo.d/effort";
}

// A line that satisfies the descriptor: a word for each required argument.
std::vector<std::string> validLine(const Path &path)
{
    std::vector<std::string> words = wordsOf(path);
    const std::vector<std::string> options = neededOptions(path);
    words.insert(words.end(), options.begin(), options.end());
    for (const Argument &argument : path.back()->arguments) {
        if (!argument.isOptional)
            words.push_back(wordFor(argument));
    }
    return words;
}

} // namespace

class ConformanceTest : public QObject {
    Q_OBJECT
private:
    void addRows()
    {
        QTest::addColumn<int>("index");
        m_all = everyCommand();
        for (std::size_t i = 0; i < m_all.size(); ++i)
            QTest::newRow(pathText(m_all[i]).c_str()) << static_cast<int>(i);
    }
    const Path &path(int index) const { return m_all[static_cast<std::size_t>(index)]; }
    std::vector<Path> m_all;

private Q_SLOTS:
    void theCommandsOfThisReleaseAreThere()
    {
        std::vector<std::string> names;
        for (const Path &path : everyCommand())
            names.push_back(pathText(path));
        for (const char *wanted :
             {"status", "doctor", "ls", "which", "cat", "set", "env", "exec", "refresh", "provider list",
              "provider show", "provider key set", "provider key remove", "provider test", "model ls", "help",
              "completion bash", "completion zsh", "completion fish"})
            QVERIFY2(std::find(names.begin(), names.end(), wanted) != names.end(), wanted);
    }

    void itIsDescribed_data() { addRows(); }
    void itIsDescribed()
    {
        QFETCH(int, index);
        const Command &command = *path(index).back();
        QVERIFY(!command.name.empty());
        QVERIFY(!command.summary.empty());
        QVERIFY2(!command.summary.ends_with('.'), "a summary is no sentence");
        QVERIFY2(command.description.ends_with('.'), "a description is sentences");
        QVERIFY2(!command.examples.empty(), "an example teaches more than a description");
        for (const Example &example : command.examples) {
            QVERIFY2(example.line.find("ctx ") != std::string_view::npos
                         || example.line.find("$CTX_ROOT") != std::string_view::npos,
                     std::string(example.line).c_str());
            QVERIFY(!example.says.empty());
        }
        for (const Argument &argument : command.arguments)
            QVERIFY2(!argument.help.empty(), std::string(argument.name).c_str());
        for (const Option &option : command.options) {
            QVERIFY(option.name.starts_with("--") && !option.help.empty());
        }
        QVERIFY2(command.run || !command.subcommands.empty(), "it does something");
    }

    void helpShowsPurposeExamplesAndExitCodes_data() { addRows(); }
    void helpShowsPurposeExamplesAndExitCodes()
    {
        QFETCH(int, index);
        const World world;
        std::vector<std::string> line = {"help"};
        const std::vector<std::string> words = wordsOf(path(index));
        line.insert(line.end(), words.begin(), words.end());
        const Outcome help = world.run(line);
        QCOMPARE(help.exitCode, 0);
        QCOMPARE(help.err, std::string());
        const Command &command = *path(index).back();
        for (const std::string &part :
             {"ctx " + pathText(path(index)) + " - " + std::string(command.summary), std::string("Usage: ctx "),
              std::string("\nExamples\n"), std::string(command.examples.front().line)})
            QVERIFY2(help.out.find(part) != std::string::npos, (part + "\nin\n" + help.out).c_str());
        if (command.run)
            QVERIFY(help.out.find("\nExit codes\n  0") != std::string::npos);
        if (command.asksDaemon && command.run) {
            QVERIFY(help.out.find("\n  69 ") != std::string::npos);
            QVERIFY2(help.out.find("\nFiles\n") != std::string::npos, "says which files it is about");
        }
        for (std::size_t start = 0; start < help.out.size();) {
            const std::size_t end = std::min(help.out.find('\n', start), help.out.size());
            QVERIFY2(end - start <= 100, help.out.substr(start, end - start).c_str());
            start = end + 1;
        }
        std::vector<std::string> flag = words;
        flag.push_back("--help");
        QCOMPARE(world.run(flag).out, help.out);
    }

    void anUnknownOptionIsAUsageError_data() { addRows(); }
    void anUnknownOptionIsAUsageError()
    {
        QFETCH(int, index);
        const World world;
        std::vector<std::string> line = wordsOf(path(index));
        line.push_back("--no-such-option");
        const Outcome outcome = world.run(line);
        QCOMPARE(outcome.exitCode, 2);
        QCOMPARE(outcome.out, std::string());
        QVERIFY2(outcome.err.starts_with("ctx: "), outcome.err.c_str());
        QCOMPARE(std::count(outcome.err.begin(), outcome.err.end(), '\n'), std::ptrdiff_t{1});
    }

    void factsComeAsJson_data() { addRows(); }
    void factsComeAsJson()
    {
        QFETCH(int, index);
        const Command &command = *path(index).back();
        if (!command.run || !command.printsFacts)
            return;
        World world;
        world.makeTree();
        world.daemon().reply(
            test::FakeDaemon::kAnyOperation,
            "\"ok\":true,\"state\":\"ready\",\"version\":\"0.1.7\",\"name\":\"far\",\"file\":\"far.json\","
            "\"etag\":\"e\",\"exists\":true,\"text\":\"{}\",\"config\":{\"models\":[\"m\"]},"
            "\"models\":[{\"name\":\"debug/echo\"}],\"presets\":[{\"name\":\"model/debug/echo.d/effort\","
            "\"aliases\":[],\"state\":\"absent\",\"config\":{}}]");
        std::vector<std::string> line = validLine(path(index));
        if (command.name == "set" && path(index).size() == 1)
            line.back() = "high";
        // `model ls PROVIDER` and the like are not needed here: optional arguments are left out.
        line.push_back("--json");
        const Outcome outcome = world.run(line, "some-key\n");
        QVERIFY2(outcome.err.empty(), outcome.err.c_str());
        QVERIFY2(outcome.exitCode == 0 || command.name == "doctor", std::to_string(outcome.exitCode).c_str());
        QVERIFY(outcome.out.ends_with('\n'));
        QCOMPARE(std::count(outcome.out.begin(), outcome.out.end(), '\n'), std::ptrdiff_t{1});
        const auto document = json::parse(outcome.out);
        QVERIFY2(document.isOk() && document->root().isObject(), outcome.out.c_str());
        QVERIFY2(document->root()["id"].isMissing() && document->root()["type"].isMissing(), "no protocol fields");
    }

    void withoutADaemonItSaysHowToStartIt_data() { addRows(); }
    void withoutADaemonItSaysHowToStartIt()
    {
        QFETCH(int, index);
        const Command &command = *path(index).back();
        if (!command.run || !command.asksDaemon)
            return;
        const World world; // no tree, no daemon
        const Outcome outcome = world.run(validLine(path(index)), "some-key\n");
        QCOMPARE(outcome.exitCode, 69);
        const std::string said = outcome.out + outcome.err;
        QVERIFY2(said.find("cortexd is not running") != std::string::npos, said.c_str());
        QVERIFY2(said.find("start it with: ") != std::string::npos, said.c_str());
        QVERIFY2(said.find(world.runtime()) != std::string::npos, said.c_str());
        if (command.name != "doctor") {
            if (command.passesRest) // an object's output is a whole sequence, whatever happens
                QVERIFY(outcome.out.ends_with("\"status\":\"error\"}\n"));
            else
                QCOMPARE(outcome.out, std::string());
            QCOMPARE(std::count(outcome.err.begin(), outcome.err.end(), '\n'), std::ptrdiff_t{1});
        }
    }

    void theShellCanCompleteIt_data() { addRows(); }
    void theShellCanCompleteIt()
    {
        QFETCH(int, index);
        const Command &command = *path(index).back();
        if (command.isHidden)
            return;
        const World world;
        std::vector<std::string> line = {"completion", "query", "--"};
        const std::vector<std::string> words = wordsOf(path(index));
        line.insert(line.end(), words.begin(), words.end());
        const Outcome self = world.run(line);
        QVERIFY2(("\n" + self.out).find("\n" + std::string(command.name) + "\t") != std::string::npos,
                 self.out.c_str());

        line.push_back("--");
        const Outcome options = world.run(line);
        QCOMPARE(options.exitCode, 0);
        for (const Option &option : command.options)
            QVERIFY2(options.out.find(std::string(option.name) + "\t") != std::string::npos, options.out.c_str());
        QCOMPARE(options.out.find("--json\t") != std::string::npos, command.hasJson());
        QVERIFY(options.out.find("--help\t") != std::string::npos);

        line.back().clear();
        const Outcome next = world.run(line);
        QCOMPARE(next.exitCode, 0);
        QCOMPARE(next.err, std::string());
        for (const Command &sub : command.subcommands)
            QCOMPARE(next.out.find(std::string(sub.name) + "\t") != std::string::npos, !sub.isHidden);
    }

    void itStandsInTheManual_data() { addRows(); }
    void itStandsInTheManual()
    {
        QFETCH(int, index);
        const Command &command = *path(index).back();
        const std::string page = manualPage();
        const bool isThere = page.find(".Ss ctx " + pathText(path(index)) + "\n") != std::string::npos;
        QCOMPARE(isThere, command.run != nullptr && !command.isHidden);
    }
};

QTEST_GUILESS_MAIN(ConformanceTest)
#include "conformance_test.moc"
