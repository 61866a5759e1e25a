// What `ctx doctor` finds out by itself, from where the user stands: the daemon sees neither another user's mount
// namespace nor a mount that hangs.
#pragma once

#include "app/ctx/core/session.h"

#include <optional>
#include <string>
#include <vector>

namespace cortexfs::ctx::doctor_command {

struct Check {
    std::string name;
    std::string status; // "ok", "warning", "error"
    std::string message;
    std::string hint; // what to do; may be empty
};

// What the daemon says about itself, as far as it answers.
struct DaemonView {
    bool isRunning = false;
    bool hasMount = true;
    std::string mount;
};

// Never blocks longer than two seconds, whatever the mount does.
Check checkTree(const std::string &mount, const DaemonView &daemon, const std::string &startHint);
Check checkRunner(const std::string &mount, bool hasTree);
std::vector<Check> checkFuse(Mode mode);
Check checkBubblewrap(const Environment &environment);

} // namespace cortexfs::ctx::doctor_command
