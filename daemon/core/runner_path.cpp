#include "daemon/core/runner_path.h"

#include "common/base/files.h"
#include "common/base/limits.h"

#include <cstdlib>

#include <sys/stat.h>
#include <unistd.h>

namespace cortexfs {

namespace {

constexpr char kName[] = "cortexfs-object-runner";
constexpr char kInstalled[] = "/usr/bin/cortexfs-object-runner";
constexpr std::size_t kLineBytes = 250; // BINPRM_BUF_SIZE is 256 with "#!" and the line's end
constexpr std::size_t kRunnerBytes = 4 * limits::kMiB;

bool isExecutableFile(const std::string &path)
{
    struct stat info = {};
    return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

bool fitsLine(const std::string &path)
{
    return path.size() <= kLineBytes && path.find_first_of(" \t\n") == std::string::npos;
}

bool isSameFile(const std::string &a, const std::string &b)
{
    struct stat infoA = {};
    struct stat infoB = {};
    if (::stat(a.c_str(), &infoA) != 0 || ::stat(b.c_str(), &infoB) != 0)
        return false;
    if (infoA.st_dev == infoB.st_dev && infoA.st_ino == infoB.st_ino)
        return true;
    if (infoA.st_size != infoB.st_size)
        return false;
    const Result<std::string> bytesA = files::readRegular(a, kRunnerBytes);
    const Result<std::string> bytesB = files::readRegular(b, kRunnerBytes);
    return bytesA && bytesB && *bytesA == *bytesB;
}

Result<std::string> chooseRunner(const std::optional<std::string> &configured, const std::string &executable)
{
    if (configured) {
        if (isExecutableFile(*configured))
            return *configured;
        return errors::notFound("runner: no executable file").withDetail(*configured);
    }
    const std::string beside = executable.substr(0, executable.rfind('/') + 1) + kName;
    const bool hasBeside = isExecutableFile(beside);
    if (isExecutableFile(kInstalled) && (!hasBeside || isSameFile(kInstalled, beside)))
        return std::string(kInstalled);
    if (hasBeside)
        return beside;
    return errors::notFound("no runner here or in /usr/bin; build the target cortexfs-object-runner")
        .withDetail(beside);
}

} // namespace

Result<RunnerPath> RunnerPath::find(const std::optional<std::string> &configured, const std::string &executable,
                                    const std::string &runtimeDir)
{
    const Result<std::string> runner = chooseRunner(configured, executable);
    if (!runner)
        return runner.error();
    RunnerPath out;
    out.m_path = *runner;
    if (fitsLine(*runner))
        return out;
    std::string directory = runtimeDir;
    if (!fitsLine(runtimeDir + "/" + kName)) {
        char pattern[] = "/tmp/cortexfs-runner-XXXXXX";
        if (!::mkdtemp(pattern))
            return errors::fromErrno(errno, pattern);
        ::chmod(pattern, 0755); // other users may run objects too
        out.m_temporaryDirectory = pattern;
        directory = pattern;
    }
    out.m_path = directory + "/" + kName;
    ::unlink(out.m_path.c_str());
    if (::symlink(runner->c_str(), out.m_path.c_str()) != 0)
        return errors::fromErrno(errno, out.m_path);
    out.m_link = out.m_path;
    return out;
}

RunnerPath::~RunnerPath()
{
    if (!m_link.empty())
        ::unlink(m_link.c_str());
    if (!m_temporaryDirectory.empty())
        ::rmdir(m_temporaryDirectory.c_str());
}

} // namespace cortexfs
