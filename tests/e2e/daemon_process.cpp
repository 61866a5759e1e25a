#include "tests/e2e/daemon_process.h"

#include <QCoreApplication>
#include <QDeadlineTimer>
#include <QDir>
#include <QFile>

#include <csignal>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

namespace cortexfs::e2e {

std::vector<json::Document> Outcome::frames() const
{
    std::vector<json::Document> documents;
    std::size_t at = 0;
    while (at < out.size()) {
        const std::size_t end = std::min(out.find('\n', at), out.size());
        Result<json::Document> document = json::parse(std::string_view(out).substr(at, end - at));
        if (!document || !document->root().isObject())
            return {};
        documents.push_back(std::move(*document));
        at = end + 1;
    }
    return documents;
}

std::string Outcome::types() const
{
    std::string joined;
    for (const json::Document &frame : frames())
        joined += (joined.empty() ? "" : " ") + std::string(frame.root()["type"].stringOr("?"));
    return joined;
}

std::string Outcome::deltaText() const
{
    std::string joined;
    for (const json::Document &frame : frames()) {
        if (frame.root()["type"].stringOr("") == "delta")
            joined += frame.root()["text"].stringOr("");
    }
    return joined;
}

Outcome run(const QString &program, const QStringList &arguments, const std::string &input, int seconds)
{
    QProcess process;
    process.start(program, arguments);
    Outcome outcome;
    if (!process.waitForStarted(5'000)) {
        outcome.err = process.errorString().toStdString();
        return outcome;
    }
    process.write(input.data(), static_cast<qint64>(input.size()));
    process.closeWriteChannel();
    const bool ended = process.waitForFinished(seconds * 1000);
    if (!ended) {
        process.kill();
        process.waitForFinished(5'000);
    }
    outcome.out = process.readAllStandardOutput().toStdString();
    outcome.err = process.readAllStandardError().toStdString();
    if (ended && process.exitStatus() == QProcess::NormalExit)
        outcome.exitCode = process.exitCode();
    return outcome;
}

Outcome shell(const QString &command, int seconds)
{
    return run(QStringLiteral("/bin/sh"), {QStringLiteral("-c"), command}, {}, seconds);
}

DaemonProcess::DaemonProcess() : m_dir(QDir::tempPath() + QStringLiteral("/cortexfs-e2e-XXXXXX"))
{
    // Another uid must be able to reach the mount in the tests of access rights.
    QFile::setPermissions(m_dir.path(), QFile::permissions(m_dir.path()) | QFile::ReadGroup | QFile::ExeGroup
                                            | QFile::ReadOther | QFile::ExeOther);
    QDir().mkpath(config() + QStringLiteral("/providers.d"));
}

DaemonProcess::~DaemonProcess()
{
    stop();
    ::umount2(mount().toLocal8Bit().constData(), MNT_DETACH);
}

std::string DaemonProcess::log()
{
    m_log += m_process.readAllStandardError().toStdString();
    return m_log;
}

void DaemonProcess::writeProvider(const QString &file, const std::string &json)
{
    QFile out(config() + QStringLiteral("/providers.d/") + file);
    if (out.open(QIODevice::WriteOnly | QIODevice::Truncate))
        out.write(json.data(), static_cast<qint64>(json.size()));
}

void DaemonProcess::writeKey(const QString &provider, const std::string &key)
{
    const QString directory = state() + QStringLiteral("/secrets/provider/") + provider;
    QDir().mkpath(directory);
    for (const char *below : {"/secrets", "/secrets/provider", ""}) {
        const QString path = *below ? state() + QString::fromUtf8(below) : directory;
        QFile::setPermissions(path, QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    }
    const int fd = ::open((directory + QStringLiteral("/default")).toLocal8Bit().constData(),
                          O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd >= 0) {
        [[maybe_unused]] const ssize_t written = ::write(fd, key.data(), key.size());
        ::close(fd);
    }
}

bool DaemonProcess::start(const QStringList &extra)
{
    m_process.start(binary("cortexd"), arguments() + extra);
    return waitUntilReady();
}

bool DaemonProcess::startAs(uid_t uid)
{
    const QString id = QString::number(uid);
    // The build may lie where only root goes.
    const QString copy = base() + QStringLiteral("/cortexd");
    if (!QFile::copy(binary("cortexd"), copy))
        return false;
    const Outcome owned = shell(QStringLiteral("chown -R %1:%1 '%2' && chmod 0755 '%3'").arg(id, base(), copy));
    if (owned.exitCode != 0)
        return false;
    m_process.start(QStringLiteral("/usr/bin/setpriv"),
                    QStringList{QStringLiteral("--reuid"), id, QStringLiteral("--regid"), id,
                                QStringLiteral("--clear-groups"), copy, QStringLiteral("--user"),
                                QStringLiteral("--no-fuse")}
                        + arguments());
    return waitUntilReady();
}

QStringList DaemonProcess::arguments() const
{
    return {QStringLiteral("--mount"), mount(), QStringLiteral("--config"),  config(),
            QStringLiteral("--state"), state(), QStringLiteral("--runtime"), runtime()};
}

bool DaemonProcess::waitUntilReady()
{
    if (!m_process.waitForStarted(5'000))
        return false;
    QDeadlineTimer deadline(20'000);
    while (!m_process.canReadLine()) {
        if (deadline.hasExpired() || !m_process.waitForReadyRead(static_cast<int>(deadline.remainingTime())))
            return false;
    }
    m_readyLine = m_process.readLine().toStdString();
    return true;
}

int DaemonProcess::stop()
{
    if (m_process.state() != QProcess::Running)
        return m_process.exitStatus() == QProcess::NormalExit ? m_process.exitCode() : -1;
    m_process.terminate();
    if (!m_process.waitForFinished(10'000)) {
        kill();
        return -1;
    }
    return m_process.exitStatus() == QProcess::NormalExit ? m_process.exitCode() : -1;
}

void DaemonProcess::kill()
{
    m_process.kill();
    m_process.waitForFinished(5'000);
}

void DaemonProcess::sendSignal(int number) { ::kill(static_cast<pid_t>(pid()), number); }

void DaemonProcess::setDescriptorLimit(unsigned long most)
{
    m_process.setChildProcessModifier([most] {
        const rlimit limit = {most, most};
        ::setrlimit(RLIMIT_NOFILE, &limit);
    });
}

Outcome DaemonProcess::ctx(const QStringList &arguments, const std::string &input)
{
    const QStringList environment = {QStringLiteral("CTX_ROOT=") + mount(),
                                     QStringLiteral("CORTEXFS_CONFIG_DIR=") + config(),
                                     QStringLiteral("CORTEXFS_STATE_DIR=") + state(),
                                     QStringLiteral("CORTEXFS_RUNTIME_DIR=") + runtime(), binary("ctx")};
    return run(QStringLiteral("/usr/bin/env"), environment + arguments, input);
}

std::optional<std::string> slurp(const QString &path)
{
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly))
        return std::nullopt;
    return file.readAll().toStdString();
}

int putText(const QString &path, const std::string &text)
{
    const int fd = ::open(path.toLocal8Bit().constData(), O_WRONLY | O_TRUNC);
    if (fd < 0)
        return errno;
    const ssize_t written = ::write(fd, text.data(), text.size());
    const int writeError = written == static_cast<ssize_t>(text.size()) ? 0 : errno;
    const int closeError = ::close(fd) == 0 ? 0 : errno;
    return writeError ? writeError : closeError;
}

bool waitFor(const std::function<bool()> &condition, int ms)
{
    const QDeadlineTimer deadline(ms);
    while (!condition()) {
        if (deadline.hasExpired())
            return false;
        QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents | QEventLoop::AllEvents, 20);
    }
    return true;
}

QString binary(const char *name) { return QStringLiteral(CORTEXFS_BIN_DIR "/") + QString::fromUtf8(name); }

} // namespace cortexfs::e2e
