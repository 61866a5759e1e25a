// What the control socket can do besides exec: status, doctor, refresh, model.*, provider.*, metrics; route.* is in
// route_operations.h. The shapes are in
// common/control_client/protocol.h.
#pragma once

#include "daemon/control/control_server.h"
#include "daemon/core/runtime.h"
#include "daemon/providers/route/route_egress.h"

#include <functional>
#include <string>
#include <vector>

namespace cortexfs {

// What status and doctor say of conversations.
struct SessionFacts {
    int liveRuns = 0;
    std::vector<Problem> sockets;     // that should listen and do not
    std::vector<std::string> repairs; // what crashes had left, since the start
};

struct OperationContext {
    Runtime &runtime;
    models::ModelService &models;
    control::ControlServer &server;
    providers::RouteEgress &route;
    std::function<bool()> isMounted;
    std::function<std::uint64_t()> fuseRequests;
    std::int64_t startedAtMs; // monotonic
    std::function<SessionFacts()> sessionFacts = [] { return SessionFacts(); };
};

void registerOperations(control::ControlServer &server, const OperationContext &context);

struct DoctorCheck {
    std::string name;
    std::string status; // ok warning error
    std::string message;
    std::string hint; // what to do, or empty
};
std::vector<DoctorCheck> runDoctor(const OperationContext &context, const providers::RouteEgress::Check &route);

} // namespace cortexfs
