// Names of objects as people write them.
#pragma once

#include "app/ctx/core/tree.h"

#include <string>
#include <string_view>
#include <vector>

namespace cortexfs::ctx {

// The paths below the mount that a name may mean, most likely first: "main" -> model/main, agent/main, tool/main;
// "openai/x" -> model/openai/x, openai/x; "model/openai/x" -> itself. The mount and a leading "/ctx/" are cut off.
std::vector<std::string> objectPaths(std::string_view name, const std::string &mount);

// The object that the daemon knows by that name: "debug/echo" -> "model/debug/echo", "main" -> "model/main". The tree is
// looked at only for a bare name that is no alias.
std::string objectOf(Session &session, std::string_view name);

// For a path that goes through an object, the one of its control file: "model/P/M/effort" -> "model/P/M.d/effort", also
// through an alias. Other paths come back as they are.
Result<std::string> controlPath(const Tree &tree, const std::string &path);

// The path below the mount of the file that `name` means: a path of the tree as pathOf() takes it, first; else an object
// by a name of objectPaths(), or a control file of it. "debug/echo.d/effort", "debug/echo/effort" and, where main is an
// alias of that model, "main/effort" are all model/debug/echo.d/effort. What is not there comes back as it was given.
// Errors of pathOf() and controlPath().
Result<std::string> filePath(const Tree &tree, std::string_view name);

} // namespace cortexfs::ctx
