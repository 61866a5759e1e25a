#include "tests/runner/runner_process.h"

#include "common/json/json.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace cortexfs::runner::test {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kDeadline = std::chrono::seconds(30);

void require(bool holds, const char *what)
{
    if (holds)
        return;
    std::perror(what);
    std::abort(); // the test's own fault, or the machine's
}

struct Pipe {
    UniqueFd read;
    UniqueFd write;
    Pipe()
    {
        int fds[2];
        require(::pipe2(fds, O_CLOEXEC) == 0, "pipe2");
        read = UniqueFd(fds[0]);
        write = UniqueFd(fds[1]);
    }
};

void putAt(int fd, int place)
{
    if (fd >= 0)
        ::dup2(fd, place);
    else
        ::close(place);
}

int unreadBytes(int pipe)
{
    int count = 0;
    require(::ioctl(pipe, FIONREAD, &count) == 0, "FIONREAD");
    return count;
}

} // namespace

std::string runnerPath()
{
    const char *chosen = std::getenv("CORTEXFS_RUNNER");
    return chosen && *chosen ? chosen : CORTEXFS_BIN_DIR "/cortexfs-object-runner";
}

bool isShippedRunner() { return runnerPath() == CORTEXFS_BIN_DIR "/cortexfs-object-runner"; }

long peakResidentKiB(pid_t pid)
{
    std::ifstream status("/proc/" + std::to_string(pid) + "/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmHWM:"))
            return std::atol(line.c_str() + sizeof "VmHWM:");
    }
    return 0;
}

std::vector<std::string> Ended::lines() const
{
    std::vector<std::string> all;
    std::size_t at = 0;
    while (at < out.size()) {
        const std::size_t end = out.find('\n', at);
        all.push_back(out.substr(at, end - at));
        at = end == std::string::npos ? out.size() : end + 1;
    }
    return all;
}

std::string Ended::types() const
{
    std::string joined;
    for (const std::string &line : lines()) {
        const Result<json::Document> document = json::parse(line);
        if (!document || !document->root().isObject())
            return "not JSON";
        joined += (joined.empty() ? "" : " ") + std::string(document->root()["type"].stringOr("?"));
    }
    return joined;
}

RunnerProcess::RunnerProcess(const std::string &script, std::vector<std::string> words, Options options)
{
    std::vector<std::string> arguments = options.prefix;
    arguments.push_back(options.program.empty() ? runnerPath() : options.program);
    if (options.program.empty())
        arguments.push_back(script);
    arguments.insert(arguments.end(), words.begin(), words.end());
    start(arguments, options);
}

void RunnerProcess::start(const std::vector<std::string> &arguments, const Options &options)
{
    std::vector<char *> argv;
    for (const std::string &argument : arguments)
        argv.push_back(const_cast<char *>(argument.c_str()));
    argv.push_back(nullptr);

    Pipe in;
    Pipe out;
    Pipe err;
    UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
    int childIn = nothing.get();
    if (options.input == Input::Pipe)
        childIn = in.read.get();
    UniqueFd slave;
    if (options.input == Input::Terminal) {
        int master = -1;
        int terminal = -1;
        require(::openpty(&master, &terminal, nullptr, nullptr, nullptr) == 0, "openpty");
        m_terminal = UniqueFd(master);
        slave = UniqueFd(terminal);
        ::fcntl(master, F_SETFD, FD_CLOEXEC);
        ::fcntl(terminal, F_SETFD, FD_CLOEXEC);
        childIn = terminal;
    }
    m_pid = ::fork();
    require(m_pid >= 0, "fork");
    if (m_pid == 0) {
        if (!options.directory.empty() && ::chdir(options.directory.c_str()) != 0)
            ::_exit(126);
        ::signal(SIGINT, options.ignoreInterrupt ? SIG_IGN : SIG_DFL);
        ::signal(SIGPIPE, SIG_DFL);
        sigset_t none;
        ::sigemptyset(&none);
        ::sigprocmask(SIG_SETMASK, &none, nullptr);
        putAt(err.write.get(), STDERR_FILENO);
        putAt(options.closeOutput ? -1 : out.write.get(), STDOUT_FILENO);
        putAt(options.input == Input::Closed ? -1 : childIn, STDIN_FILENO);
        ::execvp(argv[0], argv.data());
        ::_exit(127);
    }
    if (options.input == Input::Pipe) {
        m_input = std::move(in.write);
        ::fcntl(m_input.get(), F_SETFL, O_NONBLOCK);
    }
    m_out = std::move(out.read);
    m_err = std::move(err.read);
}

RunnerProcess::~RunnerProcess()
{
    if (m_pid <= 0)
        return;
    ::kill(m_pid, SIGKILL);
    ::waitpid(m_pid, nullptr, 0);
}

// Waits for one of the descriptors. False when both outputs ended, or at the deadline of one wait.
bool RunnerProcess::readSome(bool wantsToFeed)
{
    pollfd fds[3] = {
        {m_out.get(), POLLIN, 0}, {m_err.get(), POLLIN, 0}, {wantsToFeed ? m_input.get() : -1, POLLOUT, 0}};
    if (fds[0].fd < 0 && fds[1].fd < 0 && fds[2].fd < 0)
        return false;
    if (::poll(fds, 3, static_cast<int>(std::chrono::milliseconds(kDeadline).count())) <= 0)
        return false;
    UniqueFd *ends[2] = {&m_out, &m_err};
    std::string *texts[2] = {&m_outText, &m_errText};
    for (int i = 0; i < 2; ++i) {
        if (fds[i].revents == 0)
            continue;
        char piece[65536];
        const ssize_t got = ::read(fds[i].fd, piece, sizeof piece);
        if (got > 0)
            texts[i]->append(piece, static_cast<std::size_t>(got));
        else if (got == 0 || errno != EINTR)
            ends[i]->reset();
    }
    return true;
}

void RunnerProcess::feed(std::string_view bytes)
{
    ::signal(SIGPIPE, SIG_IGN);
    while (!bytes.empty() && m_input.isValid()) {
        const ssize_t count = ::write(m_input.get(), bytes.data(), bytes.size());
        if (count >= 0)
            bytes.remove_prefix(static_cast<std::size_t>(count));
        else if (errno != EAGAIN || !readSome(true))
            m_input.reset();
    }
}

bool RunnerProcess::waitForOutput(std::string_view text)
{
    while (m_outText.find(text) == std::string::npos) {
        if (!m_out.isValid() || !readSome(false))
            return false;
    }
    return true;
}

void RunnerProcess::interrupt(int number) const { ::kill(m_pid, number); }

int RunnerProcess::unreadInput() const { return unreadBytes(m_input.get()); }
int RunnerProcess::unreadOutput() const { return unreadBytes(m_out.get()); }

bool RunnerProcess::isRunning()
{
    siginfo_t info = {};
    ::waitid(P_PID, static_cast<id_t>(m_pid), &info, WEXITED | WNOHANG | WNOWAIT);
    return info.si_pid == 0;
}

Ended RunnerProcess::finish()
{
    closeInput();
    Ended ended;
    const auto deadline = Clock::now() + kDeadline;
    while (m_out.isValid() || m_err.isValid()) {
        if (!readSome(false) || Clock::now() > deadline)
            break;
    }
    if (m_out.isValid() || m_err.isValid())
        ::kill(m_pid, SIGKILL);
    int status = 0;
    require(::wait4(m_pid, &status, 0, &ended.usage) == m_pid, "wait4");
    m_pid = -1;
    const bool isLate = m_out.isValid() || m_err.isValid();
    ended.bySignal = WIFSIGNALED(status);
    if (!isLate)
        ended.exitCode = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    ended.out = std::move(m_outText);
    ended.err = std::move(m_errText);
    return ended;
}

ObjectFile::ObjectFile(Xattrs xattrs, const std::string &abiPath)
{
    // tmpfs has user xattrs from Linux 6.6 on; one of these is a disk.
    for (const std::string &parent : {std::string("/var/tmp"), std::string(CORTEXFS_BIN_DIR), std::string("/tmp")}) {
        std::string pattern = parent + "/cortexfs-runner-XXXXXX";
        if (!::mkdtemp(pattern.data()))
            continue;
        if (::setxattr(pattern.c_str(), "user.cortexfs.test", "1", 1, 0) == 0) {
            m_directory = pattern;
            break;
        }
        ::rmdir(pattern.c_str());
    }
    require(!m_directory.empty(), "no file system with user xattrs");
    m_path = m_directory + "/echo";
    // A #! line ends at the first blank, so a runner below a folder with one is reached by a link.
    std::string runner = runnerPath();
    if (runner.find(' ') != std::string::npos) {
        const std::string link = m_directory + "/runner";
        require(::symlink(runner.c_str(), link.c_str()) == 0, "symlink");
        runner = link;
    }
    const std::string line = "#!" + runner + "\n";
    const UniqueFd file(::open(m_path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755));
    require(file.isValid() && ::write(file.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size()),
            "write");
    if (xattrs == Xattrs::None)
        return;
    const std::pair<const char *, std::string> attributes[] = {{"user.cortexfs.abi_path", abiPath},
                                                               {"user.cortexfs.control", control()}};
    for (const auto &[key, value] : attributes)
        require(::setxattr(m_path.c_str(), key, value.data(), value.size(), 0) == 0, "setxattr");
}

ObjectFile::~ObjectFile() { std::filesystem::remove_all(m_directory); }

} // namespace cortexfs::runner::test
