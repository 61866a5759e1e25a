// How many descriptors this process may open, and how a daemon shares them out.
#pragma once

#include <cstddef>

namespace cortexfs {

// Raises the soft RLIMIT_NOFILE to the hard one. Children that are started later get it too.
void raiseDescriptorLimit();

struct DescriptorShares {
    std::size_t nodes = 0; // files and directories of the durable areas that the kernel holds a reference to
    // Clients of the control socket, and of the sockets of all objects together; more wait in the backlog. Apart, so that
    // whoever talks to models cannot keep administration out.
    std::size_t controlClients = 0;
    std::size_t objectClients = 0;
    // What is left is for everything else: libfuse, logs, session files, connections to providers, tools.
};

// Of the limit as it is now. A half, an eighth and an eighth, at most 2^17, 2^15 and 2^15.
DescriptorShares descriptorShares();

} // namespace cortexfs
