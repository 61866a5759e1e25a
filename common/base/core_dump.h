// Keeps what is in memory out of files and out of other programs.
#pragma once

namespace cortexfs {

// For a process that holds credentials: no core file is written, also none by a handler of the kernel's core_pattern, and no
// other process of the same uid may attach to it or read its memory and environment (PR_SET_DUMPABLE, prctl(2)). Root may.
// Call it first thing in main(). A program that is executed later starts without it.
void forbidCoreDumps();

} // namespace cortexfs
