#include "app/cortexd/options.h"

#include "common/base/core_dump.h"
#include "common/base/files.h"
#include "common/base/logging.h"
#include "common/base/unique_fd.h"
#include "daemon/core/daemon.h"

#include <QCoreApplication>
#include <QSocketNotifier>

#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include <sys/signalfd.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

using namespace cortexfs;

namespace {

// EBUSY (the lock) has no exit code of its own in the object ABI; for a service it means "unavailable".
int exitCodeOfStart(const Error &error)
{
    switch (error.number()) {
    case EBUSY:
    case EADDRINUSE:
    case ENOENT:
    case ENODEV: return kExitUnavailable;
    default: return exitCodeFor(error.number());
    }
}

int complain(const Error &error, int exitCode)
{
    std::fprintf(stderr, "cortexd: %s\n", logging::escapeControl(error.text()).c_str());
    return exitCode;
}

std::string workingDirectory()
{
    char buffer[PATH_MAX];
    return ::getcwd(buffer, sizeof buffer) ? std::string(buffer) : std::string("/");
}

std::string ownExecutable()
{
    char buffer[PATH_MAX];
    const ssize_t size = ::readlink("/proc/self/exe", buffer, sizeof buffer);
    return size > 0 ? std::string(buffer, static_cast<std::size_t>(size)) : std::string("/usr/bin/cortexd");
}

// Blocked before any thread exists, so that every thread inherits it and the signals arrive here alone.
UniqueFd takeSignals()
{
    sigset_t wanted;
    ::sigemptyset(&wanted);
    for (const int number : {SIGTERM, SIGINT, SIGHUP})
        ::sigaddset(&wanted, number);
    ::sigprocmask(SIG_BLOCK, &wanted, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    return UniqueFd(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
}

void announce(const std::string &readyLine)
{
    if (const Result<void> written = files::writeAll(STDOUT_FILENO, readyLine + "\n"); !written)
        qCWarning(lcDaemon, "the ready line could not be written: %s", written.error().text().c_str());
    ::sd_notify(0, "READY=1");
}

} // namespace

int main(int argc, char **argv)
{
    forbidCoreDumps();
    const Result<CommandLine> line = parseCommandLine(std::vector<std::string>(argv + 1, argv + argc));
    if (!line)
        return complain(line.error(), kExitUsage);
    if (line->showHelp || line->showVersion) {
        const std::string text = line->showHelp ? helpText() : std::string("cortexd " CORTEXFS_VERSION "\n");
        return files::writeAll(STDOUT_FILENO, text) ? kExitOk : kExitGeneral;
    }
    const Result<Places> places = resolvePlaces(line->places, processEnvironment(), ::geteuid(), workingDirectory());
    if (!places)
        return complain(places.error(), kExitUsage);

    const UniqueFd signals = takeSignals();
    // Files get the modes the code gives them.
    ::umask(022);
    // Qt's GLib dispatcher costs start time and wake-ups and brings nothing to a daemon.
    ::setenv("QT_NO_GLIB", "1", 1);
    QCoreApplication application(argc, argv);
    logging::install();
    if (line->logLevel)
        logging::setLevel(*line->logLevel);

    Result<std::unique_ptr<Daemon>> started = Daemon::start(
        DaemonOptions{*places, !line->noFuse, ownExecutable(), line->logLevel});
    if (!started)
        return complain(started.error(), exitCodeOfStart(started.error()));
    Daemon &daemon = **started;

    int outcome = kExitOk;
    QObject::connect(&daemon, &Daemon::stopped, &application, [&outcome] { QCoreApplication::exit(outcome); });
    QObject::connect(&daemon, &Daemon::lostMount, &application, [&daemon, &outcome] {
        outcome = kExitUnavailable;
        daemon.stop();
    });
    QSocketNotifier notifier(signals.get(), QSocketNotifier::Read);
    QObject::connect(&notifier, &QSocketNotifier::activated, &application, [&] {
        signalfd_siginfo info = {};
        while (::read(signals.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
            if (info.ssi_signo == SIGHUP) {
                daemon.refresh();
            } else {
                ::sd_notify(0, "STOPPING=1");
                daemon.stop();
            }
        }
    });
    announce(daemon.readyLine());
    const int exitCode = QCoreApplication::exec();
    started = errors::cancelled("stopped"); // the daemon goes before the application does
    return exitCode;
}
