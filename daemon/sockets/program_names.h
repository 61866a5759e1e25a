// Under which names the program at the other end of a socket goes, for the pname rules of the route table.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace cortexfs::sockets {

// The file name of our object runner, which asks for the program that executed an object.
inline constexpr char kObjectRunner[] = "cortexfs-object-runner";

// A function that reads the names when it is called: /proc/PID/comm and the last component of /proc/PID/exe, without
// repetition. Where PID is our object runner, those of its parent, the program that executed the object. For a script
// these are its own name or its interpreter's, as the kernel has it; arguments are not looked at.
//
// The kernel gives the pid of the moment the socket was connected (SO_PEERCRED). A process that began after
// programNamesOf() was called is another one that got the number later: it gives no name, as one that is gone or that
// the daemon may not look at. Names are no authority: a program can call itself as it likes.
std::function<std::vector<std::string>()> programNamesOf(pid_t pid);

} // namespace cortexfs::sockets
