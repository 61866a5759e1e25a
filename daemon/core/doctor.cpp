#include "daemon/core/operations.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace cortexfs {

namespace {

constexpr unsigned long long kLowDiskBytes = 64ULL * 1024 * 1024;

DoctorCheck checkMount(const Runtime &runtime, bool isMounted)
{
    if (isMounted)
        return {"mount", "ok", runtime.places().mount, ""};
    return {"mount", "warning", "not mounted: started with --no-fuse",
            "start cortexd without --no-fuse to see the tree"};
}

DoctorCheck checkDisk(const Runtime &runtime)
{
    struct statvfs info = {};
    if (::statvfs(runtime.places().state.c_str(), &info) != 0)
        return {"state", "error", runtime.places().state + ": cannot be examined", "check that the directory exists"};
    const unsigned long long free = static_cast<unsigned long long>(info.f_bavail) * info.f_frsize;
    if (free < kLowDiskBytes) {
        return {"state", "warning", runtime.places().state + ": " + std::to_string(free / 1024 / 1024) + " MiB left",
                "free some space: histories and controls are written there"};
    }
    return {"state", "ok", runtime.places().state, ""};
}

void checkSecretsDirectory(const Runtime &runtime, std::vector<DoctorCheck> &checks)
{
    struct stat info = {};
    const std::string directory = runtime.places().secretsDir();
    if (::lstat(directory.c_str(), &info) != 0) {
        checks.push_back({"secrets", "ok", "no key is stored", ""});
        return;
    }
    if ((info.st_mode & 077) != 0)
        checks.push_back({"secrets", "error", directory + " is open to others", "chmod 700 " + directory});
}

void checkLimits(const Runtime &runtime, std::vector<DoctorCheck> &checks)
{
    if (runtime.limitsFault()) {
        checks.push_back({"limits cache", "warning", "not used: " + runtime.limitsFault()->text(),
                          "make a new one: ctx model limits refresh"});
    }
}

void checkSessions(const SessionFacts &facts, std::vector<DoctorCheck> &checks)
{
    for (const Problem &problem : facts.sockets) {
        checks.push_back({problem.where, "error", "no conversations: " + problem.error.text(),
                          problem.error.number() == ENAMETOOLONG ? "start cortexd with a shorter --runtime" : ""});
    }
    // Put in order already; said so that nobody wonders about a run that ended with EINTR.
    for (const std::string &repair : facts.repairs)
        checks.push_back({"sessions", "warning", repair, ""});
}

// An invalid provider file can be opened by its name.
std::string hintFor(const Problem &problem)
{
    constexpr std::string_view kFiles = "providers.d/";
    if (problem.where.starts_with(kFiles))
        return "correct it: ctx provider edit " + problem.where.substr(kFiles.size());
    return "correct it, then: ctx refresh";
}

void checkProviders(Runtime &runtime, std::vector<DoctorCheck> &checks)
{
    for (const config::ProviderConfig &provider : runtime.providers().providers) {
        const std::string name = "provider " + provider.name;
        for (const std::string &warning : provider.warnings)
            checks.push_back({name, "warning", provider.file + " " + warning, ""});
        if (!provider.enabled)
            continue;
        const providers::SlotInfo slot = runtime.secrets().state(provider.name, providers::kDefaultSlot);
        if (slot.state == providers::SlotState::Rejected) {
            checks.push_back({name, "error", "the key in slot default does not count: " + slot.reason,
                              "store it again: ctx provider key set " + provider.name});
        } else if (slot.state == providers::SlotState::Missing && provider.needsKey) {
            checks.push_back({name, "warning", "no key in slot default", "ctx provider key set " + provider.name});
        } else {
            checks.push_back({name, "ok", std::to_string(provider.models.size()) + " models", ""});
        }
    }
}

constexpr char kRouteName[] = "model/route";

void checkRoute(const providers::RouteEgress::Check &route, std::vector<DoctorCheck> &checks)
{
    if (route.error) {
        const bool isUnreadable = route.error->number() == EIO;
        checks.push_back({kRouteName, "error", route.error->text() + "; every model request fails",
                          isUnreadable ? "make the file readable for the daemon, or remove it" : "ctx route edit"});
        return;
    }
    for (const route::Warning &warning : route.warnings) {
        const std::string line = warning.line > 0 ? "line " + std::to_string(warning.line) + ": " : std::string();
        checks.push_back({kRouteName, "warning", line + warning.message, "ctx route check"});
    }
    if (route.warnings.empty())
        checks.push_back({kRouteName, "ok", std::to_string(route.rules) + " rules", ""});
}

} // namespace

std::vector<DoctorCheck> runDoctor(const OperationContext &context, const providers::RouteEgress::Check &route)
{
    Runtime &runtime = context.runtime;
    std::vector<DoctorCheck> checks;
    checks.push_back(checkMount(runtime, context.isMounted()));
    checks.push_back(checkDisk(runtime));
    checkSecretsDirectory(runtime, checks);
    for (const std::string &warning : runtime.config().warnings)
        checks.push_back({"cortexd.json", "warning", warning, ""});
    checkLimits(runtime, checks);
    for (const Problem &problem : runtime.problems())
        checks.push_back({problem.where, "error", problem.error.text(), hintFor(problem)});
    checkSessions(context.sessionFacts(), checks);
    checkRoute(route, checks);
    checkProviders(runtime, checks);
    return checks;
}

} // namespace cortexfs
