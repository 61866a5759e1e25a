// Stable errno names and their exit codes, as common/base/error.cpp has them; tests/runner keeps the two the same.
#pragma once

#include "app/runner/buffer.h"

namespace cortexfs::runner {

inline constexpr int kExitGeneral = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitUnavailable = 69;
inline constexpr int kExitInternal = 70;
inline constexpr int kExitSignalled = 128; // plus the signal's number

struct ErrnoExit {
    const char *name;
    int exitCode;
};

// 1 for a name that is not in the table.
int exitCodeForName(Text name);
const ErrnoExit *errnoTable(size_t &count);

} // namespace cortexfs::runner
