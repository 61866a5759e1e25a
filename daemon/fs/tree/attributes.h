// The read-only extended attributes of a node (decisions, section 3), made from a few facts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cortexfs::fs {

enum class Origin { Virtual, Disk, Overlay };

struct NodeFacts {
    std::string abiPath;   // below the mount, without a leading slash; empty for the root
    std::string_view kind; // a literal
    Origin origin = Origin::Virtual;
    bool isBacked = false; // there is a file behind it
};

bool isReservedXattr(std::string_view name);
// True for the two whose value needs the size of the node.
bool needsSize(std::string_view name);
// Nothing for a name that is none of ours.
std::optional<std::string> reservedXattr(std::string_view name, const NodeFacts &facts, std::uint64_t size,
                                         std::string_view controlSocket);
// All names, each with its NUL.
std::string_view reservedXattrNames();

} // namespace cortexfs::fs
