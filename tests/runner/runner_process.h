// The object runner as a child process, started the way the kernel starts it: `runner SCRIPT WORDS...`.
#pragma once

#include "common/base/unique_fd.h"

#include <string>
#include <vector>

#include <sys/resource.h>
#include <sys/types.h>

namespace cortexfs::runner::test {

// The runner under test: CORTEXFS_RUNNER in the environment, else the static one of this build.
std::string runnerPath();
// False when CORTEXFS_RUNNER chose an instrumented one, whose memory and system calls say nothing.
bool isShippedRunner();

// The most a running process had in memory since its execve; 0 when it is gone. (What wait4 tells counts the test program
// before the execve too.)
long peakResidentKiB(pid_t pid);

struct Ended {
    int exitCode = -1; // 128 + signal when a signal ended it; -1 when it had to be killed after the deadline
    bool bySignal = false;
    std::string out;
    std::string err;
    rusage usage = {};

    // The lines of standard output without their LF.
    std::vector<std::string> lines() const;
    // The `type` of each line, joined by blanks; "not JSON" when a line is none.
    std::string types() const;
};

class RunnerProcess {
public:
    enum class Input { Pipe, Nothing, Terminal, Closed };
    struct Options {
        Input input = Input::Nothing;
        bool closeOutput = false;        // started without a standard output
        bool ignoreInterrupt = false;    // as a background job of a shell
        std::string directory;           // working directory; the test's own when empty
        std::vector<std::string> prefix; // a program in front, such as strace
        std::string program;             // instead of the runner: the script itself, for the kernel's #!
    };

    RunnerProcess(const std::string &script, std::vector<std::string> words, Options options);
    RunnerProcess(const std::string &script, std::vector<std::string> words)
        : RunnerProcess(script, std::move(words), Options())
    {}
    ~RunnerProcess(); // kills what still runs

    pid_t pid() const { return m_pid; }
    // Writes all of it, while reading what the runner says; stops quietly when the runner does not read any more.
    void feed(std::string_view bytes);
    void closeInput() { m_input.reset(); }
    // Reads standard output until it holds `text`; false at its end or after the deadline.
    bool waitForOutput(std::string_view text);
    // The reader leaves.
    void closeOutput() { m_out.reset(); }
    void interrupt(int number) const;
    // Bytes that the runner has not read from its input yet.
    int unreadInput() const;
    // Bytes of its output that were not read here yet.
    int unreadOutput() const;
    bool isRunning();
    // Closes the input, reads both streams to their end and waits.
    Ended finish();

private:
    bool readSome(bool wantsToFeed);
    void start(const std::vector<std::string> &arguments, const Options &options);

    pid_t m_pid = -1;
    UniqueFd m_input;
    UniqueFd m_out;
    UniqueFd m_err;
    UniqueFd m_terminal;
    std::string m_outText;
    std::string m_errText;
};

// An executable file as the tree shows it: the #! line of the runner under test and the two xattrs, on a file system that
// has user xattrs. Aborts where there is none. The control socket is `control.sock` beside it; nobody listens yet.
class ObjectFile {
public:
    enum class Xattrs { Both, None };
    explicit ObjectFile(Xattrs xattrs = Xattrs::Both, const std::string &abiPath = "model/debug/echo");
    ~ObjectFile();
    const std::string &path() const { return m_path; }
    const std::string &directory() const { return m_directory; }
    std::string control() const { return m_directory + "/control.sock"; }

private:
    std::string m_directory;
    std::string m_path;
};

} // namespace cortexfs::runner::test
