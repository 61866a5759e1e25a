// provider.* of the control socket, except provider.test (operations.cpp). The shapes are in
// common/control_client/protocol.h.
#pragma once

#include "daemon/core/operations.h"

namespace cortexfs {

void registerProviderOperations(control::ControlServer &server, const OperationContext &context);
void registerPresetOperations(control::ControlServer &server, const OperationContext &context);
void registerDiscoveryOperation(control::ControlServer &server, const OperationContext &context);
void registerLimitsOperation(control::ControlServer &server, const OperationContext &context);

// Null when there is no valid provider of that name.
const config::ProviderConfig *findProvider(const Runtime &runtime, const std::string &name);

// Writes on the writer's thread, reads the configuration again, then calls `done` on the Qt thread.
void storeProviderFile(Runtime &runtime, const std::string &file, const std::string &etag, const std::string &text,
                       std::function<void(Result<void>)> done);

} // namespace cortexfs
