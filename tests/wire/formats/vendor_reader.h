// Reads the request bodies of the formats as their servers would, and says in one neutral form what was asked. Shares no
// code with the encoders: two formats carry the same conversation when the lines are the same.
//
//   system TEXT
//   user TEXT             image URL            (of the user)
//   assistant TEXT        call #1 NAME JSON    (ids are numbered as they appear)
//   result #1 TEXT
//   tool NAME DESCRIPTION SCHEMA
//   schema SCHEMA         max N                stream true
#pragma once

#include "daemon/providers/wire/wire_format.h"

#include <string>
#include <vector>

namespace cortexfs::test {

// Lines; one that begins with "!" is a fault: something that the server would refuse.
std::vector<std::string> readBack(const std::string &format, const wire::WireRequest &request);

} // namespace cortexfs::test
