#include "app/runner/errno_table.h"

namespace cortexfs::runner {

namespace {

constexpr int kExitDenied = 13;

// Only what differs from 1.
constexpr ErrnoExit kTable[] = {
    {"EPERM", kExitDenied},
    {"EACCES", kExitDenied},
    {"EINVAL", kExitUsage},
    {"EMSGSIZE", kExitUsage},
    {"E2BIG", kExitUsage},
    {"ENOTSUP", kExitUsage},
    {"ENOKEY", kExitUnavailable},
    {"EHOSTDOWN", kExitUnavailable},
    {"EHOSTUNREACH", kExitUnavailable},
    {"ECONNREFUSED", kExitUnavailable},
    {"ECONNRESET", kExitUnavailable},
    {"ENOTCONN", kExitUnavailable},
    {"ETIMEDOUT", kExitUnavailable},
    {"EAGAIN", kExitUnavailable},
    {"EDQUOT", kExitUnavailable},
    {"ENODEV", kExitUnavailable},
    {"EIO", kExitInternal},
    {"EPROTO", kExitInternal},
    {"EBADMSG", kExitInternal},
};

} // namespace

int exitCodeForName(Text name)
{
    for (const ErrnoExit &entry : kTable) {
        if (name.equals(entry.name))
            return entry.exitCode;
    }
    return kExitGeneral;
}

const ErrnoExit *errnoTable(size_t &count)
{
    count = sizeof kTable / sizeof kTable[0];
    return kTable;
}

} // namespace cortexfs::runner
