// Function names for APIs that allow [A-Za-z0-9_-]{1,64} only. Ours (fs.read) are mapped one to one for the length of a
// request; the reply's decoder maps them back.
#pragma once

#include "daemon/providers/wire/wire_format.h"

namespace cortexfs::wire {

// Every name of the offered tools and of the calls in the history, in their order, so that the same conversation gives
// the same names turn after turn. A name that is allowed stays; in another each character outside becomes '_', and "_2",
// "_3", ... is added where that is taken.
ToolNames toolNamesFor(const models::Conversation &conversation);

// The name on the wire for one of ours.
std::string_view wireName(const ToolNames &names, std::string_view own);
// Ours for a name on the wire; a name that is not in the table is given back as it is.
std::string_view ownName(const ToolNames &names, std::string_view wire);

// The name with every character outside [A-Za-z0-9_-] as '_', at most 64 of them; `fallback` for nothing.
std::string allowedName(std::string_view name, std::string_view fallback);

} // namespace cortexfs::wire
