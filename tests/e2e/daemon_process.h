// A real cortexd on directories of its own, and real programs run against it.
#pragma once

#include "common/json/json.h"

#include <QProcess>
#include <QString>
#include <QStringList>
#include <QTemporaryDir>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace cortexfs::e2e {

struct Outcome {
    int exitCode = -1; // -1: did not start, timed out or was killed
    std::string out;
    std::string err;

    // Every line of stdout parsed; empty when one of them is no JSON object.
    std::vector<json::Document> frames() const;
    // The `type` of each line, joined by blanks: "start delta message usage done".
    std::string types() const;
    // The texts of all delta lines joined.
    std::string deltaText() const;
};

// Runs a program to its end, at most `seconds`.
Outcome run(const QString &program, const QStringList &arguments, const std::string &input = {}, int seconds = 30);
Outcome shell(const QString &command, int seconds = 30);

class DaemonProcess {
public:
    DaemonProcess();
    ~DaemonProcess(); // stops it, cleans the mount

    QString base() const { return m_dir.path(); }
    QString mount() const { return m_dir.path() + QStringLiteral("/ctx"); }
    QString config() const { return m_dir.path() + QStringLiteral("/config"); }
    QString state() const { return m_dir.path() + QStringLiteral("/state"); }
    QString runtime() const { return m_dir.path() + QStringLiteral("/run"); }
    QString installedTree() const { return state() + QStringLiteral("/storage/current"); }
    QString path(const char *below) const { return mount() + QLatin1Char('/') + QString::fromUtf8(below); }
    qint64 pid() const { return m_process.processId(); }
    const std::string &readyLine() const { return m_readyLine; }
    std::string log();

    void writeProvider(const QString &file, const std::string &json);
    void writeKey(const QString &provider, const std::string &key);

    // False when the ready line does not come; log() then says why.
    bool start(const QStringList &extra = {});
    // As another user, without a mount; for root.
    bool startAs(uid_t uid);
    // SIGTERM and wait; the exit code, -1 when it had to be killed.
    int stop();
    void kill(); // SIGKILL and wait
    bool isRunning() const { return m_process.state() == QProcess::Running; }
    void sendSignal(int number);
    // Hard RLIMIT_NOFILE of the daemon, from its next start on.
    void setDescriptorLimit(unsigned long most);

    // Environment for ctx: CTX_ROOT and the directories.
    Outcome ctx(const QStringList &arguments, const std::string &input = {});

private:
    QStringList arguments() const;
    bool waitUntilReady();

    QTemporaryDir m_dir;
    QProcess m_process;
    std::string m_readyLine;
    std::string m_log;
};

// Reads a file or gives nothing.
std::optional<std::string> slurp(const QString &path);
// open(O_WRONLY|O_TRUNC) + one write + close, as a shell's printf does; 0 or the errno of the step that failed.
int putText(const QString &path, const std::string &text);
// Waits until the condition holds, at most `ms`, running the event loop.
bool waitFor(const std::function<bool()> &condition, int ms = 10'000);
QString binary(const char *name);

} // namespace cortexfs::e2e
