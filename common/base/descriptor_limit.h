// How many descriptors this process may open, and how a daemon shares them out.
#pragma once

#include <cstddef>

namespace cortexfs {

// Raises the soft RLIMIT_NOFILE to the hard one. Children that are started later get it too.
void raiseDescriptorLimit();

struct DescriptorShares {
    std::size_t nodes = 0;   // files and directories of the durable areas that the kernel holds a reference to
    std::size_t clients = 0; // of all unix sockets together; more wait in the backlog
    // What is left is for everything else: libfuse, logs, session files, connections to providers, tools.
};

// Of the limit as it is now. Half and a quarter, at most 2^17 and 2^16.
DescriptorShares descriptorShares();

} // namespace cortexfs
