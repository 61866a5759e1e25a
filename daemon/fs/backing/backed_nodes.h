// The nodes of the durable areas that the kernel knows: identity (device and inode), one O_PATH descriptor, the number of
// lookups the kernel has not taken back. Belongs to the answering thread.
//
// Descriptors are a bounded resource: above the budget the least recently used nodes are parked, that is, their
// descriptor is closed and opened again by parent and name when they are needed, which succeeds only if the same inode
// is still there (ESTALE otherwise; the kernel then looks the path up anew). A node that lost its name keeps its
// descriptor.
#pragma once

#include "common/base/unique_fd.h"
#include "daemon/fs/tree/entry.h"
#include "daemon/fs/tree/errno_or.h"
#include "daemon/fs/tree/invalidation.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <sys/stat.h>

namespace cortexfs::fs {

class Area;

// (device, inode) and what else tells two views of one inode apart: the area, the home it is seen in, the object's name.
struct BackedIdentity {
    dev_t device = 0;
    ino_t inode = 0;
    std::uint64_t salt = 0;
    friend bool operator==(const BackedIdentity &, const BackedIdentity &) = default;
};

struct BackedNode {
    NodeId id = 0;
    Area *area = nullptr;
    BackedIdentity identity;
    std::int64_t bornNs = 0;    // birth time; inode numbers are used again
    mode_t type = 0;            // S_IFMT part
    std::uint8_t role = 0;      // the area's own
    bool isPinned = false;      // keeps its descriptor
    uid_t home = 0;             // whose home it is in
    std::uint32_t parent = 0;   // slot; 0 for the root of an area
    std::uint32_t children = 0; // nodes that name this one as parent
    std::uint64_t lookups = 0;
    std::string name;
    UniqueFd fd;
    std::uint32_t newer = 0; // the list of open descriptors, by use
    std::uint32_t older = 0;
};

// What stat and birth time say of an open descriptor.
struct BackedStat {
    struct stat stat = {};
    std::int64_t bornNs = 0;
};
ErrnoOr<BackedStat> statDescriptor(int fd);

class BackedNodes {
public:
    // `advise` is told names the kernel might forget, because their nodes were parked.
    BackedNodes(std::size_t descriptorBudget, std::function<void(Invalidation)> advise);
    ~BackedNodes();

    BackedNode *find(NodeId id);
    BackedNode *byIdentity(const BackedIdentity &identity);
    BackedNode &parentOf(const BackedNode &node) { return m_slots[node.parent]; }

    // The root of an area; never forgotten.
    BackedNode &addRoot(Area &area, UniqueFd fd, const BackedStat &stat);
    // A node for what `fd` shows, found by the identity or new, with one lookup more. The new node inherits nothing:
    // the caller sets role and home.
    BackedNode &acquire(const BackedIdentity &identity, BackedNode &parent, std::string_view name, UniqueFd fd,
                        const BackedStat &stat);
    // The same for a node that is there already and was seen under this name.
    void acquire(BackedNode &node, BackedNode &parent, std::string_view name);
    void forget(NodeId id, std::uint64_t count);

    // The descriptor, opened again where the node was parked.
    ErrnoOr<int> descriptor(BackedNode &node);
    // The node's file was replaced by another inode, and the node goes on with that one.
    void adopt(BackedNode &node, UniqueFd fd, const BackedStat &stat);
    // The node was seen under another name (rename).
    void moved(BackedNode &node, BackedNode &parent, std::string_view name);
    // The node's name is gone; nothing could open it again. Call descriptor() before the name goes.
    void pin(BackedNode &node) { node.isPinned = true; }

    // Closes the descriptors of parked nodes-to-be. False when there was none.
    bool makeRoom();

    // The inode number shown: the backing one, with the device's ordinal above bit 48 where there are several devices.
    ino_t visibleInode(dev_t device, ino_t inode);
    // "home/1000/x"
    std::string pathOf(const BackedNode &node, std::string_view areaName) const;
    std::size_t openDescriptors() const { return m_open; }
    std::size_t size() const { return m_byIdentity.size(); }

private:
    struct Hash {
        std::size_t operator()(const BackedIdentity &identity) const
        {
            return (identity.inode * 0x9e3779b97f4a7c15ULL) ^ (identity.salt * 0xc2b2ae3d27d4eb4fULL) ^ identity.device;
        }
    };

    std::uint32_t slotOf(const BackedNode &node) const { return static_cast<std::uint32_t>(node.id); }
    BackedNode &newSlot();
    void releaseIfUnused(std::uint32_t slot);
    void setParent(BackedNode &node, std::uint32_t parent);
    void setDescriptor(BackedNode &node, UniqueFd fd);
    void closeDescriptor(BackedNode &node);
    void unlinkUse(BackedNode &node);
    void linkUse(BackedNode &node);

    const std::size_t m_budget;
    std::function<void(Invalidation)> m_advise;
    std::deque<BackedNode> m_slots; // addresses are stable; slots 0 and 1 are never used
    std::vector<std::uint32_t> m_freeSlots;
    std::unordered_map<BackedIdentity, std::uint32_t, Hash> m_byIdentity;
    std::vector<dev_t> m_devices;
    std::size_t m_open = 0;
    std::uint32_t m_newest = 0;
    std::uint32_t m_oldest = 0;
};

} // namespace cortexfs::fs
