#include "daemon/sockets/program_names.h"
#include "tests/support/temp_dir.h"

#include <QProcess>
#include <QTest>

#include <algorithm>
#include <filesystem>

#include <sys/prctl.h>
#include <unistd.h>

using namespace cortexfs;
using namespace cortexfs::sockets;

namespace {

bool has(const std::vector<std::string> &names, const std::string &name)
{
    return std::find(names.begin(), names.end(), name) != names.end();
}

// A copy of cat under that name that waits for its input to end.
class Sleeper {
public:
    Sleeper(const std::string &path, const QStringList &arguments = {})
    {
        std::filesystem::copy_file("/bin/cat", path, std::filesystem::copy_options::skip_existing);
        process.start(QString::fromStdString(path), arguments);
        process.waitForStarted();
        // It answers once it runs under its own name.
        process.write("x");
        process.waitForReadyRead();
    }
    ~Sleeper()
    {
        process.closeWriteChannel();
        process.waitForFinished();
    }
    pid_t pid() const { return static_cast<pid_t>(process.processId()); }
    QProcess process;
};

} // namespace

class ProgramNamesTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aProgramGoesByItsExecutable()
    {
        const test::TempDir dir;
        const Sleeper program(dir.path("a program"));
        QCOMPARE(programNamesOf(program.pid())(), std::vector<std::string>{"a program"});
    }

    void theNameItGaveItselfCountsToo()
    {
        const std::string before = programNamesOf(::getpid())().front();
        ::prctl(PR_SET_NAME, "a) R 1 (b");
        const std::vector<std::string> names = programNamesOf(::getpid())();
        ::prctl(PR_SET_NAME, before.c_str());
        QCOMPARE(names.size(), std::size_t(2));
        QVERIFY(has(names, "a) R 1 (b"));
        QVERIFY(has(names, "sockets_program_names_test"));
    }

    void anExecutableThatWasReplacedKeepsItsName()
    {
        const test::TempDir dir;
        const Sleeper program(dir.path("updated"));
        std::filesystem::remove(dir.path("updated"));
        QCOMPARE(programNamesOf(program.pid())(), std::vector<std::string>{"updated"});
    }

    void ourRunnerStandsForWhoExecutedTheObject()
    {
        const test::TempDir dir;
        const Sleeper runner(dir.path(kObjectRunner));
        const std::vector<std::string> names = programNamesOf(runner.pid())();
        QVERIFY(has(names, "sockets_program_names_test")); // its parent, this test
        QVERIFY(!has(names, kObjectRunner));
    }

    void whoIsGoneHasNoName()
    {
        const test::TempDir dir;
        pid_t pid = 0;
        {
            const Sleeper program(dir.path("gone"));
            pid = program.pid();
        }
        QVERIFY(programNamesOf(pid)().empty());
        QVERIFY(programNamesOf(0)().empty());
        QVERIFY(programNamesOf(-1)().empty());
    }
};

QTEST_GUILESS_MAIN(ProgramNamesTest)
#include "program_names_test.moc"
