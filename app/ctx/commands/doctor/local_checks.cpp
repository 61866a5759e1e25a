#include "app/ctx/commands/doctor/local_checks.h"

#include "app/ctx/core/programs.h"
#include "app/ctx/core/text.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/unique_fd.h"

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cortexfs::ctx::doctor_command {

namespace {

constexpr std::chrono::milliseconds kTreeTime{2'000};
constexpr char kInstalledRunner[] = "/usr/bin/cortexfs-object-runner";

struct TreeAnswer {
    std::string firstLine; // of `status`
    int failure = 0;
};

// Calls `work` on a thread of its own and gives up on it after `time`: a thread that sits in a hung mount cannot be
// stopped, but the process can end without it.
template<typename T>
std::optional<T> within(std::chrono::milliseconds time, std::function<T()> work)
{
    struct Shared {
        std::mutex mutex;
        std::condition_variable changed;
        std::optional<T> answer;
    };
    const auto shared = std::make_shared<Shared>();
    std::thread([shared, work = std::move(work)] {
        T answer = work();
        const std::lock_guard lock(shared->mutex);
        shared->answer = std::move(answer);
        shared->changed.notify_one();
    }).detach();
    std::unique_lock lock(shared->mutex);
    shared->changed.wait_for(lock, time, [&] { return shared->answer.has_value(); });
    return shared->answer;
}

TreeAnswer firstLineOf(const std::string &path)
{
    TreeAnswer answer;
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    std::string text(limits::kControlFile, '\0');
    const ssize_t count = file.isValid() ? ::read(file.get(), text.data(), text.size()) : -1;
    if (count < 0) {
        answer.failure = errno;
        return answer;
    }
    text.resize(static_cast<std::size_t>(count));
    answer.firstLine = text.substr(0, text.find('\n'));
    return answer;
}

// The kernel's reasons against an unprivileged sandbox.
bool hasValue(const char *path, std::string_view value)
{
    const TreeAnswer answer = firstLineOf(path);
    return answer.failure == 0 && answer.firstLine == value;
}

} // namespace

Check checkTree(const std::string &mount, const DaemonView &daemon, const std::string &startHint)
{
    Check check = {"tree", "error", {}, {}};
    if (daemon.isRunning && !daemon.hasMount) {
        return {"tree", "warning", "cortexd was started with --no-fuse, so there is no tree",
                "start cortexd without --no-fuse to see the tree; \"ctx model ls\" and \"ctx exec\" work all the same"};
    }
    const auto answer = within<TreeAnswer>(kTreeTime, [mount] { return firstLineOf(mount + "/status"); });
    if (!answer) {
        check.message = mount + " does not answer";
        check.hint = "its cortexd hangs: restart it, or detach the mount with: fusermount3 -uz " + shellWord(mount);
    } else if (answer->failure == 0 && answer->firstLine == "state=ready") {
        check.status = "ok";
        check.message = mount;
    } else if (answer->failure == 0) {
        check.message = mount + " says \"" + answer->firstLine + "\" instead of \"state=ready\"";
        check.hint = "see the log of cortexd";
    } else if (answer->failure == ENOTCONN) {
        check.message = "a dead mount is left at " + mount;
        check.hint = "a new start recovers it; " + startHint;
    } else if (!daemon.isRunning) {
        check.message = "nothing is mounted at " + mount;
        check.hint = startHint;
    } else if (!daemon.mount.empty() && daemon.mount != mount) {
        check.message = "the tree is not at " + mount + " but at " + daemon.mount;
        check.hint = "use --root " + shellWord(daemon.mount) + ", or set CTX_ROOT";
    } else {
        check.message = mount + "/status: " + std::string(errnoName(answer->failure));
        check.hint = "mounted in another namespace, or detached: restart cortexd";
    }
    return check;
}

Check checkRunner(const std::string &mount, bool hasTree)
{
    // The line that the kernel reads is the truth; without a tree, the two places where the runner may be.
    std::optional<TreeAnswer> shebang;
    if (hasTree)
        shebang = within<TreeAnswer>(kTreeTime, [mount] { return firstLineOf(mount + "/model/debug/echo"); });
    std::vector<std::string> candidates = {kInstalledRunner, ownDirectory() + "/cortexfs-object-runner"};
    if (shebang && shebang->failure == 0 && shebang->firstLine.starts_with("#!"))
        candidates = {shebang->firstLine.substr(2)};
    for (const std::string &candidate : candidates) {
        if (::access(candidate.c_str(), X_OK) == 0)
            return {"object runner", "ok", candidate, {}};
    }
    return {"object runner", "error",
            candidates.front() + " is not there or not executable: objects cannot be executed",
            "install cortexfs completely, or start cortexd from the directory that has the runner"};
}

std::vector<Check> checkFuse(Mode mode)
{
    std::vector<Check> checks;
    if (::access("/dev/fuse", F_OK) != 0) {
        checks.push_back({"/dev/fuse", "error", "the kernel offers no FUSE",
                          "modprobe fuse; a container needs --device "
                          "/dev/fuse"});
    } else if (::access("/dev/fuse", R_OK | W_OK) != 0) {
        checks.push_back({"/dev/fuse", "error", "this user may not open it", "chmod 666 /dev/fuse (as root)"});
    } else {
        checks.push_back({"/dev/fuse", "ok", "can be opened", {}});
    }
    if (mode == Mode::System)
        return checks;
    const Result<std::string> settings = files::readRegular("/etc/fuse.conf", limits::kControlFile);
    bool isAllowed = false;
    std::string_view rest = settings ? std::string_view(*settings) : std::string_view();
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        isAllowed = isAllowed || rest.substr(0, end) == "user_allow_other";
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    checks.push_back({"fuse.conf",
                      "ok",
                      isAllowed ? "user_allow_other is set: a user's tree can be shared with others (allow_other)"
                                : "no user_allow_other: a user's tree is seen by that user alone",
                      {}});
    return checks;
}

Check checkBubblewrap(const Environment &environment)
{
    const auto program = findProgram("bwrap", environment);
    if (!program) {
        return {"bubblewrap", "warning", "bwrap is not installed: tools of agents cannot be sandboxed",
                "install the package bubblewrap"};
    }
    const bool isRestricted = hasValue("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1")
                              && ::access("/etc/apparmor.d/bwrap", F_OK) != 0
                              && ::access("/etc/apparmor.d/bwrap-userns-restrict", F_OK) != 0;
    const bool isForbidden = hasValue("/proc/sys/user/max_user_namespaces", "0")
                             || hasValue("/proc/sys/kernel/unprivileged_userns_clone", "0");
    if (::geteuid() != 0 && isForbidden) {
        return {"bubblewrap", "warning", "this kernel forbids user namespaces: tools of agents cannot be sandboxed",
                "sysctl user.max_user_namespaces=10000 kernel.unprivileged_userns_clone=1 (as root)"};
    }
    if (::geteuid() != 0 && isRestricted) {
        return {"bubblewrap", "warning", "AppArmor forbids user namespaces: bwrap fails with \"setting up uid map\"",
                "install the AppArmor profile for bwrap (package apparmor-profiles)"};
    }
    return {"bubblewrap", "ok", *program, {}};
}

} // namespace cortexfs::ctx::doctor_command
