#include "app/runner/output.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cortexfs::runner {

namespace {
constexpr int kExitBrokenPipe = 128 + 13;
constexpr int kExitWriteFailed = 1;
} // namespace

void Output::flushSome()
{
    if (!m_isKnown) {
        struct stat info = {};
        m_isRegular = ::fstat(STDOUT_FILENO, &info) == 0 && S_ISREG(info.st_mode);
        m_isKnown = true;
    }
    size_t count = m_pending.size();
    if (!m_isRegular && count > kSafeWrite)
        count = kSafeWrite;
    const ssize_t written = ::write(STDOUT_FILENO, m_pending.data(), count);
    if (written >= 0)
        m_pending.dropFront(static_cast<size_t>(written));
    else if (errno == EPIPE)
        ::_exit(kExitBrokenPipe);
    else if (errno != EINTR && errno != EAGAIN)
        ::_exit(kExitWriteFailed);
}

} // namespace cortexfs::runner
