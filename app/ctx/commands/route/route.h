// `ctx route`: show, check, edit, explain. One file a subcommand.
#pragma once

#include "app/ctx/core/command.h"
#include "common/json/json.h"

#include <string>

namespace cortexfs::ctx::route_command {

const Command &command();

Command showCommand();
Command checkCommand();
Command editCommand();
Command explainCommand();

inline constexpr Note kRouteNote = {"<mount>/model/route", "the table; root and the daemon's user may write it"};

// "FILE:3:14: no such group: x" from the error of a route.check reply.
std::string faultText(const std::string &file, const json::Value &error);

// The stored table, as route.get gives it.
struct StoredTable {
    std::string text;
    std::string etag;
    bool exists = false;
};
Result<StoredTable> storedTable(const Invocation &invocation);

} // namespace cortexfs::ctx::route_command
