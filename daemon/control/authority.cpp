#include "daemon/control/authority.h"

#include "common/control_client/protocol.h"

namespace cortexfs::control {

Result<void> requireAdministrator(const sockets::Peer &peer, uid_t daemonUid)
{
    if (peer.uid == 0 || peer.uid == daemonUid || sockets::isInGroup(peer.uid, kGroup))
        return {};
    return errors::accessDenied("uid " + std::to_string(peer.uid)
                                + " may not change the configuration: only root, the daemon's own user and members of"
                                  " the group cortexfs may");
}

} // namespace cortexfs::control
