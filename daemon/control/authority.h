// Who may change what over the control socket (decisions, section 2).
#pragma once

#include "common/base/result.h"
#include "daemon/sockets/peer.h"

namespace cortexfs::control {

// Configuration, secrets and lifecycle: uid 0, the daemon's own uid, or a member of the group `cortexfs`. EACCES.
Result<void> requireAdministrator(const sockets::Peer &peer, uid_t daemonUid);

} // namespace cortexfs::control
