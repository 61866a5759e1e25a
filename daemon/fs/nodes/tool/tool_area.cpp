#include "daemon/fs/nodes/tool/tool_area.h"

#include "daemon/fs/backing/object_area.h"

namespace cortexfs::fs::nodes {

namespace {

const ObjectKind &toolKind()
{
    static const ObjectKind kind = {
        .area = "tool",
        .metadata = {"description", "status", "cap"},
        .readOnly = {"name", "status", "log"},
        .singleValue = {},
        .hasSockets = false,
    };
    return kind;
}

Result<std::unique_ptr<Area>> make(const AreaContext &context) { return ObjectArea::make(context, toolKind()); }

} // namespace

AreaDescriptor toolArea() { return {"tool", 3, &make}; }

} // namespace cortexfs::fs::nodes
