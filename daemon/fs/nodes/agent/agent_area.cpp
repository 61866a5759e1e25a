#include "daemon/fs/nodes/agent/agent_area.h"

#include "daemon/fs/backing/object_area.h"

namespace cortexfs::fs::nodes {

namespace {

const ObjectKind &agentKind()
{
    static const ObjectKind kind = {
        .area = "agent",
        .metadata = {"owner", "uid", "gid", "label", "model", "status", "pid"},
        .readOnly = {"status", "pid", "log"},
        .singleValue = {"owner", "uid", "gid", "label", "iso", "parent", "life", "root", "cwd", "model", "window",
                        "abi", "approval"},
        .hasSockets = true,
    };
    return kind;
}

Result<std::unique_ptr<Area>> make(const AreaContext &context) { return ObjectArea::make(context, agentKind()); }

} // namespace

AreaDescriptor agentArea() { return {"agent", 2, &make}; }

} // namespace cortexfs::fs::nodes
