#include "common/base/error.h"

#include <array>
#include <cstring>

namespace cortexfs {

namespace {

struct ErrnoEntry {
    int number;
    std::string_view name;
    int exitCode;
};

// The stable names and, per decision 4 and 6, the exit code of each. One table, so that a name cannot exist at one
// border and not at another.
constexpr std::array kErrnoTable = {
    ErrnoEntry{EPERM, "EPERM", kExitDenied},
    ErrnoEntry{ENOENT, "ENOENT", kExitGeneral},
    ErrnoEntry{EINTR, "EINTR", kExitGeneral},
    ErrnoEntry{EIO, "EIO", kExitInternal},
    ErrnoEntry{E2BIG, "E2BIG", kExitUsage},
    ErrnoEntry{EBADF, "EBADF", kExitGeneral},
    ErrnoEntry{EAGAIN, "EAGAIN", kExitUnavailable},
    ErrnoEntry{ENOMEM, "ENOMEM", kExitGeneral},
    ErrnoEntry{EACCES, "EACCES", kExitDenied},
    ErrnoEntry{EBUSY, "EBUSY", kExitGeneral},
    ErrnoEntry{EEXIST, "EEXIST", kExitGeneral},
    ErrnoEntry{EXDEV, "EXDEV", kExitGeneral},
    ErrnoEntry{ENODEV, "ENODEV", kExitUnavailable},
    ErrnoEntry{ENOTDIR, "ENOTDIR", kExitGeneral},
    ErrnoEntry{EISDIR, "EISDIR", kExitGeneral},
    ErrnoEntry{EINVAL, "EINVAL", kExitUsage},
    ErrnoEntry{ENFILE, "ENFILE", kExitGeneral},
    ErrnoEntry{EMFILE, "EMFILE", kExitGeneral},
    ErrnoEntry{EFBIG, "EFBIG", kExitGeneral},
    ErrnoEntry{ENOSPC, "ENOSPC", kExitGeneral},
    ErrnoEntry{EROFS, "EROFS", kExitGeneral},
    ErrnoEntry{EPIPE, "EPIPE", kExitGeneral},
    ErrnoEntry{ERANGE, "ERANGE", kExitGeneral},
    ErrnoEntry{ENAMETOOLONG, "ENAMETOOLONG", kExitGeneral},
    ErrnoEntry{ENOSYS, "ENOSYS", kExitGeneral},
    ErrnoEntry{ENOTEMPTY, "ENOTEMPTY", kExitGeneral},
    ErrnoEntry{ELOOP, "ELOOP", kExitGeneral},
    ErrnoEntry{ENODATA, "ENODATA", kExitGeneral},
    ErrnoEntry{EPROTO, "EPROTO", kExitInternal},
    ErrnoEntry{EBADMSG, "EBADMSG", kExitInternal},
    ErrnoEntry{EMSGSIZE, "EMSGSIZE", kExitUsage},
    ErrnoEntry{ENOTSUP, "ENOTSUP", kExitUsage},
    ErrnoEntry{EADDRINUSE, "EADDRINUSE", kExitGeneral},
    ErrnoEntry{ECONNRESET, "ECONNRESET", kExitUnavailable},
    ErrnoEntry{ENOTCONN, "ENOTCONN", kExitUnavailable},
    ErrnoEntry{ETIMEDOUT, "ETIMEDOUT", kExitUnavailable},
    ErrnoEntry{ECONNREFUSED, "ECONNREFUSED", kExitUnavailable},
    ErrnoEntry{EHOSTDOWN, "EHOSTDOWN", kExitUnavailable},
    ErrnoEntry{EHOSTUNREACH, "EHOSTUNREACH", kExitUnavailable},
    ErrnoEntry{ESTALE, "ESTALE", kExitGeneral},
    ErrnoEntry{EDQUOT, "EDQUOT", kExitUnavailable},
    ErrnoEntry{ECANCELED, "ECANCELED", kExitGeneral},
    ErrnoEntry{ENOKEY, "ENOKEY", kExitUnavailable},
};

const ErrnoEntry *entryFor(int number)
{
    for (const ErrnoEntry &entry : kErrnoTable) {
        if (entry.number == number)
            return &entry;
    }
    return nullptr;
}

} // namespace

std::string_view errnoName(int number)
{
    const ErrnoEntry *entry = entryFor(number);
    return entry ? entry->name : std::string_view("EIO");
}

int errnoFromName(std::string_view name)
{
    for (const ErrnoEntry &entry : kErrnoTable) {
        if (entry.name == name)
            return entry.number;
    }
    return 0;
}

int exitCodeFor(int errnoNumber)
{
    if (errnoNumber == 0)
        return kExitOk;
    const ErrnoEntry *entry = entryFor(errnoNumber);
    // Shown as EIO, so that both borders tell the same.
    return entry ? entry->exitCode : exitCodeFor(EIO);
}

std::string_view Error::name() const { return errnoName(m_number); }

std::string Error::text() const { return m_detail.empty() ? m_message : m_detail + ": " + m_message; }

Error Error::withDetail(std::string detail) const { return Error(m_number, m_message, std::move(detail)); }

Error makeError(int number, std::string message, std::string detail)
{
    return Error(number, std::move(message), std::move(detail));
}

namespace errors {
Error invalid(std::string message) { return makeError(EINVAL, std::move(message)); }
Error tooLarge(std::string message) { return makeError(EMSGSIZE, std::move(message)); }
Error accessDenied(std::string message) { return makeError(EACCES, std::move(message)); }
Error notPermitted(std::string message) { return makeError(EPERM, std::move(message)); }
Error notFound(std::string message) { return makeError(ENOENT, std::move(message)); }
Error alreadyExists(std::string message) { return makeError(EEXIST, std::move(message)); }
Error readOnly(std::string message) { return makeError(EROFS, std::move(message)); }
Error noCredential(std::string message) { return makeError(ENOKEY, std::move(message)); }
Error quotaExhausted(std::string message) { return makeError(EDQUOT, std::move(message)); }
Error busy(std::string message) { return makeError(EBUSY, std::move(message)); }
Error tryAgain(std::string message) { return makeError(EAGAIN, std::move(message)); }
Error stale(std::string message) { return makeError(ESTALE, std::move(message)); }
Error unsupported(std::string message) { return makeError(ENOTSUP, std::move(message)); }
Error timedOut(std::string message) { return makeError(ETIMEDOUT, std::move(message)); }
Error cancelled(std::string message) { return makeError(ECANCELED, std::move(message)); }
Error hostDown(std::string message) { return makeError(EHOSTDOWN, std::move(message)); }
Error unreachable(std::string message) { return makeError(EHOSTUNREACH, std::move(message)); }
Error refused(std::string message) { return makeError(ECONNREFUSED, std::move(message)); }
Error connectionReset(std::string message) { return makeError(ECONNRESET, std::move(message)); }
Error protocol(std::string message) { return makeError(EPROTO, std::move(message)); }
Error badMessage(std::string message) { return makeError(EBADMSG, std::move(message)); }
Error io(std::string message) { return makeError(EIO, std::move(message)); }

Error fromErrno(int number, std::string_view what)
{
    std::string message(what);
    message += ": ";
    message += std::strerror(number);
    return makeError(number, std::move(message));
}
} // namespace errors

} // namespace cortexfs
