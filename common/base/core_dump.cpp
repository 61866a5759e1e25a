#include "common/base/core_dump.h"

#include <sys/prctl.h>
#include <sys/resource.h>

namespace cortexfs {

void forbidCoreDumps()
{
    // A soft limit only, so that a program that we execute can raise it again. A core_pattern that is a pipe disregards the
    // limit; the second call stops that one.
    rlimit core = {};
    if (::getrlimit(RLIMIT_CORE, &core) == 0) {
        core.rlim_cur = 0;
        ::setrlimit(RLIMIT_CORE, &core);
    }
    ::prctl(PR_SET_DUMPABLE, 0);
}

} // namespace cortexfs
