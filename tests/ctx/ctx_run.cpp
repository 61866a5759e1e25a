#include "tests/ctx/ctx_run.h"

#include "common/base/files.h"

#include <QByteArray>
#include <QFile>

#include <array>
#include <chrono>
#include <csignal>

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

namespace cortexfs::ctx::test {

namespace {

constexpr int kLimitMs = 30'000;

struct Child {
    pid_t pid = -1;
    std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();

    bool isLate() const { return std::chrono::steady_clock::now() - start > std::chrono::milliseconds(kLimitMs); }
};

[[noreturn]] void become(const std::vector<std::string> &arguments,
                         const std::map<std::string, std::string> &environment)
{
    std::vector<char *> argv;
    for (const std::string &argument : arguments)
        argv.push_back(const_cast<char *>(argument.c_str()));
    argv.push_back(nullptr);
    std::vector<std::string> assignments;
    for (const auto &[name, value] : environment)
        assignments.push_back(name + "=" + value);
    std::vector<char *> envp;
    for (std::string &assignment : assignments)
        envp.push_back(assignment.data());
    envp.push_back(nullptr);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::signal(SIGPIPE, SIG_DFL);
    ::execve(argv[0], argv.data(), envp.data());
    ::_exit(127);
}

void noteEnd(Outcome &outcome, const Child &child, bool wasLate)
{
    if (wasLate)
        ::kill(child.pid, SIGKILL);
    int status = 0;
    ::waitpid(child.pid, &status, 0);
    if (WIFEXITED(status) && !wasLate)
        outcome.exitCode = WEXITSTATUS(status);
    if (WIFSIGNALED(status))
        outcome.signal = WTERMSIG(status);
}

// One read into `target`; false at the end.
bool take(int fd, std::string &target)
{
    std::array<char, 65536> piece;
    const ssize_t count = ::read(fd, piece.data(), piece.size());
    if (count <= 0)
        return false;
    target.append(piece.data(), static_cast<std::size_t>(count));
    return true;
}

std::string parentPath(const std::string &path) { return path.substr(0, path.rfind('/')); }

} // namespace

std::string programPath() { return CORTEXFS_BIN_DIR "/ctx"; }

World::World()
{
    m_base = m_directory.path().toStdString();
    m_root = m_base + "/ctx";
    m_runtime = m_base + "/run";
    ::mkdir(m_root.c_str(), 0755);
    ::mkdir(m_runtime.c_str(), 0755);
}

FakeDaemon &World::daemon()
{
    if (!m_daemon) {
        ::unlink((m_runtime + "/control.sock").c_str());
        m_daemon = std::make_unique<FakeDaemon>(m_runtime + "/control.sock");
    }
    return *m_daemon;
}

FakeDaemon &World::object(const std::string &name)
{
    if (!m_object) {
        const std::string path = m_runtime + "/" + name + ".sock";
        (void)files::makeDirectories(parentPath(path), 0755);
        ::unlink(path.c_str());
        m_object = std::make_unique<FakeDaemon>(path);
    }
    return *m_object;
}

void World::write(const std::string &path, const std::string &text, int mode)
{
    const std::string full = m_root + "/" + path;
    (void)files::makeDirectories(parentPath(full), 0755);
    QFile::remove(QString::fromStdString(full));
    const int fd = ::open(full.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    (void)files::writeAll(fd, text);
    ::fchmod(fd, static_cast<mode_t>(mode));
    ::close(fd);
}

std::string World::read(const std::string &path) const
{
    QFile file(QString::fromStdString(m_root + "/" + path));
    return file.open(QIODevice::ReadOnly) ? file.readAll().toStdString() : std::string("(absent)");
}

void World::makeTree()
{
    write("status", "state=ready\nversion=" CORTEXFS_VERSION "\n", 0444);
    write("model/debug/echo",
          "#!/usr/bin/cortexfs-object-runner\n# cortexfs.object=model\n# cortexfs.description=echoes its input\n",
          0555);
    for (const auto &[name, value] : std::map<std::string, std::string>{{"effort", "auto\n"},
                                                                        {"default", ""},
                                                                        {"fallback", "local/m1\n"},
                                                                        {"session", "none\n"},
                                                                        {"driver", "debug\n"}})
        write("model/debug/echo.d/" + name, value);
    write("model/debug/echo.d/cap", "chat\nstream\n", 0444);
    write("model/debug/echo.d/limit", "unknown\n", 0444);
    write("model/local/m1", "#!/usr/bin/cortexfs-object-runner\n", 0555);
    write("model/local/m1.d/effort", "high\n");
    (void)::symlink((m_root + "/model/debug/echo").c_str(), (m_root + "/model/main").c_str());
    (void)::symlink((m_root + "/model/gone/away").c_str(), (m_root + "/model/broken").c_str());
    write("agent/coder", "#!/usr/bin/cortexfs-object-runner\n# cortexfs.description=writes code\n", 0555);
    write("agent/coder.d/model", "main\n");
    write("tool/fs.read", "#!/usr/bin/cortexfs-object-runner\n", 0555);
    for (const char *directory : {"/bin", "/home", "/shared"})
        ::mkdir((m_root + directory).c_str(), 0755);
}

std::map<std::string, std::string> World::fullEnvironment(const std::map<std::string, std::string> &changes) const
{
    std::map<std::string, std::string> all = {{"PATH", "/usr/local/bin:/usr/bin:/bin"},
                                              {"HOME", m_base},
                                              {"LC_ALL", "C.UTF-8"},
                                              {"TERM", "xterm"},
                                              {"CTX_ROOT", m_root},
                                              {"CORTEXFS_RUNTIME_DIR", m_runtime},
                                              {"CTX", programPath()}};
    for (const char *name : {"ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS"}) {
        if (qEnvironmentVariableIsSet(name))
            all[name] = qgetenv(name).toStdString();
    }
    for (const auto &[name, value] : changes) {
        if (value.empty())
            all.erase(name);
        else
            all[name] = value;
    }
    return all;
}

Outcome World::run(const std::vector<std::string> &arguments, const std::string &input,
                   const std::map<std::string, std::string> &environment) const
{
    std::vector<std::string> command = {programPath()};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return runCommand(command, input, environment);
}

Outcome World::runCommand(const std::vector<std::string> &command, const std::string &input,
                          const std::map<std::string, std::string> &environment) const
{
    const auto variables = fullEnvironment(environment);
    int in[2];
    int out[2];
    int err[2];
    Outcome outcome;
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0)
        return outcome;
    Child child;
    child.pid = ::fork();
    if (child.pid == 0) {
        ::dup2(in[0], 0);
        ::dup2(out[1], 1);
        ::dup2(err[1], 2);
        become(command, variables);
    }
    ::close(in[0]);
    ::close(out[1]);
    ::close(err[1]);
    ::fcntl(in[1], F_SETFL, O_NONBLOCK);
    ::signal(SIGPIPE, SIG_IGN); // a command that ends without reading its input is no failure of this program
    std::string_view rest = input;
    bool isOutOpen = true;
    bool isErrOpen = true;
    bool isInOpen = true;
    bool wasLate = false;
    while (isOutOpen || isErrOpen) {
        if (isInOpen && rest.empty()) {
            ::close(in[1]);
            isInOpen = false;
        }
        pollfd wanted[] = {{isOutOpen ? out[0] : -1, POLLIN, 0},
                           {isErrOpen ? err[0] : -1, POLLIN, 0},
                           {isInOpen ? in[1] : -1, POLLOUT, 0}};
        ::poll(wanted, 3, 100);
        if (wanted[0].revents)
            isOutOpen = take(out[0], outcome.out);
        if (wanted[1].revents)
            isErrOpen = take(err[0], outcome.err);
        if (wanted[2].revents) {
            const ssize_t count = ::write(in[1], rest.data(), rest.size());
            if (count > 0)
                rest.remove_prefix(static_cast<std::size_t>(count));
            else if (errno != EAGAIN)
                rest = {};
        }
        if (child.isLate()) {
            wasLate = true;
            break;
        }
    }
    noteEnd(outcome, child, wasLate);
    if (isInOpen)
        ::close(in[1]);
    ::close(out[0]);
    ::close(err[0]);
    return outcome;
}

Outcome World::runOnTerminal(const std::vector<std::string> &arguments, const Typist &typist,
                             const std::map<std::string, std::string> &environment) const
{
    std::vector<std::string> command = {programPath()};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const auto variables = fullEnvironment(environment);
    Outcome outcome;
    int master = -1;
    Child child;
    child.pid = ::forkpty(&master, nullptr, nullptr, nullptr);
    if (child.pid == 0)
        become(command, variables);
    const auto type = [&](const std::string &keys) { (void)files::writeAll(master, keys); };
    bool isTyping = typist != nullptr;
    bool wasLate = false;
    for (;;) {
        pollfd wanted = {master, POLLIN, 0};
        ::poll(&wanted, 1, 100);
        if (wanted.revents && !take(master, outcome.out))
            break; // EIO: the other side is gone
        if (isTyping)
            isTyping = typist(outcome.out, type);
        if (child.isLate()) {
            wasLate = true;
            break;
        }
    }
    noteEnd(outcome, child, wasLate);
    termios settings = {};
    outcome.echoesAfter = ::tcgetattr(master, &settings) == 0 && (settings.c_lflag & ECHO) != 0;
    ::close(master);
    return outcome;
}

Outcome World::shell(const std::string &script, const std::map<std::string, std::string> &environment) const
{
    return runCommand({"/bin/bash", "-c", script}, {}, environment);
}

} // namespace cortexfs::ctx::test
