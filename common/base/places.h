// Where everything is (decisions, section 1). Pure: the environment and the uid are given, so that it can be tested by
// table and so that cortexd and ctx cannot disagree.
#pragma once

#include "common/base/result.h"

#include <functional>
#include <optional>
#include <string>

#include <sys/types.h>

namespace cortexfs {

enum class Mode { System, User };

struct Places {
    Mode mode = Mode::User;
    std::string mount;   // where the tree is seen
    std::string config;  // cortexd.json, providers.d/, channels/
    std::string state;   // secrets/, cache/, storage/, lock
    std::string runtime; // control.sock and the live sockets

    std::string controlSocket() const { return runtime + "/control.sock"; }
    std::string providersDir() const { return config + "/providers.d"; }
    std::string configFile() const { return config + "/cortexd.json"; }
    std::string installedTree() const { return state + "/storage/current"; }
    std::string routeFile() const { return installedTree() + "/model/route"; }
    std::string geoDir() const { return state + "/geo"; }                          // geosite.dat geoip.dat *.mmdb
    std::string limitsCache() const { return state + "/cache/model-limits.json"; } // context limits of models.dev
    std::string activeSessionsDir() const { return state + "/sessions/active"; }   // one file a session with a run
    std::string secretsDir() const { return state + "/secrets/provider"; }
    std::string lockFile() const { return state + "/cortexd.lock"; }
};

// What the command line gave; an empty optional was not given.
struct PlaceOptions {
    std::optional<Mode> mode;
    std::optional<std::string> mount;
    std::optional<std::string> config;
    std::optional<std::string> state;
    std::optional<std::string> runtime;
};

using Environment = std::function<std::optional<std::string>(const char *name)>;
Environment processEnvironment();

// An option wins over CORTEXFS_CONFIG_DIR, CORTEXFS_STATE_DIR, CORTEXFS_RUNTIME_DIR and CTX_ROOT (the mount), which win
// over the mode's defaults. Relative paths are made absolute against `cwd`; trailing slashes are removed.
// EINVAL: an empty option, or user mode without an absolute HOME where it is needed. An empty variable counts as unset,
// and so does a HOME or XDG_* that is no absolute path.
Result<Places> resolvePlaces(const PlaceOptions &options, const Environment &environment, uid_t uid,
                             const std::string &cwd);

// True when `path` is the mount point or below it. The daemon must never open such a path: it would wait for itself.
bool isUnderMount(const Places &places, const std::string &path);

// Makes the runtime directory with 0700 (user) or 0755 (system) and checks that nobody else owns it or may write there:
// EACCES names the owner. A world-writable parent such as /tmp is fine because of that check.
Result<void> prepareRuntimeDir(const Places &places, uid_t uid);

} // namespace cortexfs
