// What one execution costs, as numbers without noise: the program's size, its memory, its system calls.
#include "tests/runner/scene.h"

#include <QTest>

#include <elf.h>
#include <filesystem>
#include <fstream>

#include <unistd.h>

using namespace cortexfs;
using namespace cortexfs::runner::test;

namespace {

constexpr long kMostKiB = 2048;             // resident
constexpr std::size_t kMostBytes = 1 << 20; // on disk
constexpr int kMostCalls = 40;

std::string contentOf(const std::string &path)
{
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

} // namespace

class RunnerCountsTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theProgramIsSmallAndNeedsNoLibrary()
    {
        const std::string program = contentOf(runnerPath());
        QVERIFY2(program.size() < kMostBytes, std::to_string(program.size()).c_str());
        Elf64_Ehdr header;
        QVERIFY(program.size() > sizeof header);
        std::memcpy(&header, program.data(), sizeof header);
        QCOMPARE(program.substr(0, 4), std::string(ELFMAG));
        QCOMPARE(header.e_ident[EI_CLASS], static_cast<unsigned char>(ELFCLASS64));
        for (int i = 0; i < header.e_phnum; ++i) {
            Elf64_Phdr segment;
            std::memcpy(&segment, program.data() + header.e_phoff + std::size_t(i) * header.e_phentsize,
                        sizeof segment);
            QVERIFY(segment.p_type != PT_INTERP);
            QVERIFY(segment.p_type != PT_DYNAMIC);
        }
    }

    void aRunTakesLittleMemory()
    {
        Scene scene;
        long peak = 0;
        scene.daemon.on("exec", [&](Peer &peer, const json::Value &request) {
            peer.event(request, kStart);
            peer.event(request, kDone);
            peak = peakResidentKiB(peer.pid());
            peer.result(request, "\"exit\":0");
        });
        QCOMPARE(scene.run({"hello"}).exitCode, 0);
        QVERIFY2(peak > 0 && peak < kMostKiB, std::to_string(peak).c_str());
    }

    void aRunTakesFewSystemCalls_data()
    {
        QTest::addColumn<bool>("hasWords");
        QTest::newRow("with words") << true;
        QTest::newRow("from an empty input") << false;
    }
    void aRunTakesFewSystemCalls()
    {
        QFETCH(bool, hasWords);
        Scene scene;
        scene.answerAll();
        const std::string trace = scene.object.directory() + "/trace";
        RunnerProcess::Options options;
        options.prefix = {"strace", "-o", trace};
        const Ended ended = scene.run(hasWords ? std::vector<std::string>{"hello"} : std::vector<std::string>(),
                                      options);
        if (ended.exitCode != 0 && (ended.exitCode == 127 || ended.err.find("ptrace") != std::string::npos))
            QSKIP("system calls cannot be traced here");
        QCOMPARE(ended.exitCode, 0);
        const std::string calls = contentOf(trace);
        const auto count = std::count(calls.begin(), calls.end(), '\n');
        QVERIFY2(count > 5 && count < kMostCalls, calls.c_str());
        qInfo("%d system calls", int(count));
    }
};

QTEST_GUILESS_MAIN(RunnerCountsTest)
#include "counts_test.moc"
