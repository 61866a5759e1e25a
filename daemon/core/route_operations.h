// route.get, route.put, route.check, route.explain. The shapes are in common/control_client/protocol.h.
#pragma once

#include "daemon/control/control_server.h"
#include "daemon/core/runtime.h"
#include "daemon/providers/route/route_egress.h"

namespace cortexfs {

// All of these outlive the server's handlers.
void registerRouteOperations(control::ControlServer &server, Runtime &runtime, providers::RouteEgress &route);

} // namespace cortexfs
