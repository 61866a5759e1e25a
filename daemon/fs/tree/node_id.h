// How a node is named towards the kernel.
//
//   1                     the root
//   projected             bit 62, area tag in bits 56..61, key in bits 8..55 (a serial or an interned name), kind in
//                         bits 0..7: everything needed to answer is in the number, so a projected node costs no memory.
//                         It is the inode number too.
//   backed                generation << 32 | slot in the table of backed nodes; the inode number is the backing one's
//                         (bit 62 is never set there, see BackedNodes::visibleInode)
#pragma once

#include <cstdint>

namespace cortexfs::fs {

using NodeId = std::uint64_t;

inline constexpr NodeId kRootId = 1;
inline constexpr NodeId kProjectedBit = 1ULL << 62;

constexpr NodeId projectedId(unsigned areaTag, std::uint64_t key, unsigned kind)
{
    return kProjectedBit | (std::uint64_t{areaTag & 0x3f} << 56) | ((key & 0xffff'ffff'ffffULL) << 8) | (kind & 0xff);
}
constexpr bool isProjected(NodeId id) { return (id & kProjectedBit) != 0; }
constexpr unsigned areaTagOf(NodeId id) { return static_cast<unsigned>(id >> 56) & 0x3f; }
constexpr std::uint64_t keyOf(NodeId id) { return (id >> 8) & 0xffff'ffff'ffffULL; }
constexpr unsigned kindOf(NodeId id) { return static_cast<unsigned>(id & 0xff); }

} // namespace cortexfs::fs
