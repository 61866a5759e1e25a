// What the listeners of one process share. Lives on their thread.
#pragma once

#include "daemon/sockets/client_budget.h"
#include "daemon/sockets/socket_loop.h"

#include <memory>

namespace cortexfs::sockets {

struct SharedSockets {
    std::shared_ptr<SocketLoop> loop;     // null: a listener makes its own when it listens
    std::shared_ptr<ClientBudget> budget; // null: a listener's own maximum is the only bound
};

} // namespace cortexfs::sockets
