// session.list and session.show of the control socket (shapes in common/control_client/protocol.h), and what answers the
// sessions of models.
#pragma once

#include "daemon/control/control_server.h"
#include "daemon/models/model_service.h"
#include "daemon/sessions/session_registry.h"
#include "daemon/snapshot/runtime_snapshot.h"
#include "daemon/snapshot/snapshot_cell.h"

namespace cortexfs {

// Both referred to outlive the answerer.
sessions::Answerer modelAnswerer(models::ModelService &models, const SnapshotCell<RuntimeSnapshot> &snapshot);

// The registry outlives the server.
void registerSessionOperations(control::ControlServer &server, sessions::SessionRegistry &registry);

} // namespace cortexfs
