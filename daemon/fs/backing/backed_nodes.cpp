#include "daemon/fs/backing/backed_nodes.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/sysmacros.h>

namespace cortexfs::fs {

namespace {

constexpr std::size_t kSmallestBudget = 64; // one operation needs a few at the same time
constexpr std::uint32_t kFirstSlot = 2;     // so that no id is the root's

timespec timeOf(const statx_timestamp &time) { return {time.tv_sec, static_cast<long>(time.tv_nsec)}; }

} // namespace

ErrnoOr<BackedStat> statDescriptor(int fd)
{
    struct statx info = {};
    if (::statx(fd, "", AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, &info) != 0)
        return Errno{errno};
    BackedStat result;
    result.stat.st_dev = makedev(info.stx_dev_major, info.stx_dev_minor);
    result.stat.st_ino = info.stx_ino;
    result.stat.st_mode = info.stx_mode;
    result.stat.st_nlink = info.stx_nlink;
    result.stat.st_uid = info.stx_uid;
    result.stat.st_gid = info.stx_gid;
    result.stat.st_rdev = makedev(info.stx_rdev_major, info.stx_rdev_minor);
    result.stat.st_size = static_cast<off_t>(info.stx_size);
    result.stat.st_blksize = static_cast<blksize_t>(info.stx_blksize);
    result.stat.st_blocks = static_cast<blkcnt_t>(info.stx_blocks);
    result.stat.st_atim = timeOf(info.stx_atime);
    result.stat.st_mtim = timeOf(info.stx_mtime);
    result.stat.st_ctim = timeOf(info.stx_ctime);
    if (info.stx_mask & STATX_BTIME)
        result.bornNs = info.stx_btime.tv_sec * 1'000'000'000 + info.stx_btime.tv_nsec;
    return result;
}

BackedNodes::BackedNodes(std::size_t descriptorBudget, std::function<void(Invalidation)> advise)
    : m_budget(std::max(descriptorBudget, kSmallestBudget)), m_advise(std::move(advise)), m_slots(kFirstSlot)
{}

BackedNodes::~BackedNodes() = default;

BackedNode *BackedNodes::find(NodeId id)
{
    const auto slot = static_cast<std::uint32_t>(id);
    if (slot < kFirstSlot || slot >= m_slots.size() || m_slots[slot].id != id || !m_slots[slot].area)
        return nullptr;
    return &m_slots[slot];
}

BackedNode *BackedNodes::byIdentity(const BackedIdentity &identity)
{
    const auto found = m_byIdentity.find(identity);
    return found == m_byIdentity.end() ? nullptr : &m_slots[found->second];
}

BackedNode &BackedNodes::newSlot()
{
    std::uint32_t slot = 0;
    if (m_freeSlots.empty()) {
        slot = static_cast<std::uint32_t>(m_slots.size());
        m_slots.emplace_back();
    } else {
        slot = m_freeSlots.back();
        m_freeSlots.pop_back();
    }
    // The generation goes on where the slot's last node ended; 30 bits keep bit 62 free.
    BackedNode &node = m_slots[slot];
    const NodeId generation = ((node.id >> 32) + 1) & 0x3fff'ffff;
    node = BackedNode();
    node.id = (generation << 32) | slot;
    return node;
}

BackedNode &BackedNodes::addRoot(Area &area, UniqueFd fd, const BackedStat &stat)
{
    BackedNode &node = newSlot();
    node.area = &area;
    node.identity = {stat.stat.st_dev, stat.stat.st_ino, node.id}; // a salt that no lookup makes
    node.bornNs = stat.bornNs;
    node.type = stat.stat.st_mode & S_IFMT;
    node.lookups = 1;
    node.isPinned = true;
    m_byIdentity.emplace(node.identity, slotOf(node));
    setDescriptor(node, std::move(fd));
    return node;
}

BackedNode &BackedNodes::acquire(const BackedIdentity &identity, BackedNode &parent, std::string_view name, UniqueFd fd,
                                 const BackedStat &stat)
{
    if (BackedNode *known = byIdentity(identity)) {
        if (known->bornNs == stat.bornNs && known->type == (stat.stat.st_mode & S_IFMT)) {
            if (!known->fd.isValid())
                setDescriptor(*known, std::move(fd));
            acquire(*known, parent, name);
            return *known;
        }
        // Parked, and the number went to another inode meanwhile: the old node stays as a stale one.
        m_byIdentity.erase(identity);
    }
    BackedNode &node = newSlot();
    node.area = parent.area;
    node.identity = identity;
    node.bornNs = stat.bornNs;
    node.type = stat.stat.st_mode & S_IFMT;
    node.lookups = 1;
    node.name = name;
    m_byIdentity[identity] = slotOf(node);
    setParent(node, slotOf(parent));
    setDescriptor(node, std::move(fd));
    return node;
}

void BackedNodes::acquire(BackedNode &node, BackedNode &parent, std::string_view name)
{
    ++node.lookups;
    moved(node, parent, name);
}

void BackedNodes::moved(BackedNode &node, BackedNode &parent, std::string_view name)
{
    if (node.parent != slotOf(parent))
        setParent(node, slotOf(parent));
    if (node.name != name)
        node.name = name;
    node.isPinned = false;
}

void BackedNodes::adopt(BackedNode &node, UniqueFd fd, const BackedStat &stat)
{
    const auto found = m_byIdentity.find(node.identity);
    if (found != m_byIdentity.end() && found->second == slotOf(node))
        m_byIdentity.erase(found);
    node.identity.device = stat.stat.st_dev;
    node.identity.inode = stat.stat.st_ino;
    node.bornNs = stat.bornNs;
    m_byIdentity[node.identity] = slotOf(node);
    closeDescriptor(node);
    setDescriptor(node, std::move(fd));
}

void BackedNodes::setParent(BackedNode &node, std::uint32_t parent)
{
    const std::uint32_t before = std::exchange(node.parent, parent);
    ++m_slots[parent].children;
    if (before) {
        --m_slots[before].children;
        releaseIfUnused(before);
    }
}

void BackedNodes::forget(NodeId id, std::uint64_t count)
{
    BackedNode *node = find(id);
    if (!node || node->parent == 0)
        return;
    node->lookups -= std::min(node->lookups, count);
    releaseIfUnused(slotOf(*node));
}

void BackedNodes::releaseIfUnused(std::uint32_t slot)
{
    while (slot) {
        BackedNode &node = m_slots[slot];
        if (node.lookups || node.children || !node.parent)
            return;
        const auto found = m_byIdentity.find(node.identity);
        if (found != m_byIdentity.end() && found->second == slot)
            m_byIdentity.erase(found);
        closeDescriptor(node);
        const std::uint32_t parent = std::exchange(node.parent, 0);
        node.area = nullptr;
        node.name = std::string();
        m_freeSlots.push_back(slot);
        --m_slots[parent].children;
        slot = parent;
    }
}

ErrnoOr<int> BackedNodes::descriptor(BackedNode &node)
{
    if (node.fd.isValid()) {
        if (m_newest != slotOf(node)) {
            unlinkUse(node);
            linkUse(node);
        }
        return node.fd.get();
    }
    BackedNode &parent = m_slots[node.parent];
    const ErrnoOr<int> parentFd = descriptor(parent);
    if (!parentFd)
        return parentFd;
    UniqueFd fd(::openat(*parentFd, node.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!fd.isValid() && (errno == EMFILE || errno == ENFILE) && makeRoom())
        fd = UniqueFd(::openat(*parentFd, node.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!fd.isValid())
        return Errno{errno == ENOENT || errno == ENOTDIR ? ESTALE : errno};
    const ErrnoOr<BackedStat> stat = statDescriptor(fd.get());
    if (!stat)
        return Errno{stat.error()};
    if (stat->stat.st_dev != node.identity.device || stat->stat.st_ino != node.identity.inode
        || stat->bornNs != node.bornNs)
        return Errno{ESTALE};
    setDescriptor(node, std::move(fd));
    return node.fd.get();
}

void BackedNodes::setDescriptor(BackedNode &node, UniqueFd fd)
{
    if (m_open >= m_budget)
        makeRoom();
    node.fd = std::move(fd);
    ++m_open;
    linkUse(node);
}

void BackedNodes::closeDescriptor(BackedNode &node)
{
    if (!node.fd.isValid())
        return;
    unlinkUse(node);
    node.fd.reset();
    --m_open;
}

bool BackedNodes::makeRoom()
{
    // The newest ones may be in use by the operation that asks.
    const std::size_t wanted = std::max<std::size_t>(m_budget / 16, 8);
    std::size_t parked = 0;
    std::size_t left = m_open > 16 ? m_open - 16 : 0;
    for (std::uint32_t slot = m_oldest; slot && parked < wanted && left; --left) {
        BackedNode &node = m_slots[slot];
        slot = node.newer;
        if (node.isPinned)
            continue;
        closeDescriptor(node);
        ++parked;
        // Forgetting a directory would take the path away from a process that works in it.
        if (m_advise && node.type != S_IFDIR)
            m_advise({m_slots[node.parent].id, node.name});
    }
    return parked > 0;
}

void BackedNodes::linkUse(BackedNode &node)
{
    const std::uint32_t slot = slotOf(node);
    node.older = m_newest;
    node.newer = 0;
    if (m_newest)
        m_slots[m_newest].newer = slot;
    m_newest = slot;
    if (!m_oldest)
        m_oldest = slot;
}

void BackedNodes::unlinkUse(BackedNode &node)
{
    (node.newer ? m_slots[node.newer].older : m_newest) = node.older;
    (node.older ? m_slots[node.older].newer : m_oldest) = node.newer;
    node.newer = node.older = 0;
}

ino_t BackedNodes::visibleInode(dev_t device, ino_t inode)
{
    auto found = std::find(m_devices.begin(), m_devices.end(), device);
    if (found == m_devices.end()) {
        m_devices.push_back(device);
        found = m_devices.end() - 1;
    }
    const auto ordinal = static_cast<std::uint64_t>(found - m_devices.begin()) & 0x3fff;
    return (inode ^ (ordinal << 48)) & ~kProjectedBit;
}

std::string BackedNodes::pathOf(const BackedNode &node, std::string_view areaName) const
{
    std::vector<const BackedNode *> chain;
    for (const BackedNode *at = &node; at->parent; at = &m_slots[at->parent])
        chain.push_back(at);
    std::string path(areaName);
    for (auto it = chain.rbegin(); it != chain.rend(); ++it) {
        path += '/';
        path += (*it)->name;
    }
    return path;
}

} // namespace cortexfs::fs
