// What the kernel has to forget. Values, so that they can be collected on one thread and told on another.
#pragma once

#include "daemon/fs/tree/node_id.h"

#include <string>
#include <vector>

namespace cortexfs::fs {

struct Invalidation {
    NodeId node = 0;  // the parent where a name is given
    std::string name; // empty: attributes and pages of the node
};

class Invalidations {
public:
    void node(NodeId id) { m_items.push_back({id, {}}); }
    void name(NodeId parent, std::string name) { m_items.push_back({parent, std::move(name)}); }
    std::vector<Invalidation> take() { return std::move(m_items); }
    const std::vector<Invalidation> &items() const { return m_items; }

private:
    std::vector<Invalidation> m_items;
};

} // namespace cortexfs::fs
