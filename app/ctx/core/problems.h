// The list of problems that `status` and `refresh` show alike.
#pragma once

#include "app/ctx/core/output.h"
#include "common/json/json.h"

namespace cortexfs::ctx {

// [{where,code,message}] as "problems:" and a row each; nothing when there are none.
void writeProblems(Output &out, const json::Value &problems);

} // namespace cortexfs::ctx
