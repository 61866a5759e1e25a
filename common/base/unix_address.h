// The address of a unix socket by its path, however long that is.
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"

#include <string>

#include <sys/socket.h>
#include <sys/un.h>

namespace cortexfs {

struct UnixAddress {
    sockaddr_un address = {};
    UniqueFd directory; // of a path that does not fit: the address goes through it, so it must stay open for connect(2)

    const sockaddr *get() const { return reinterpret_cast<const sockaddr *>(&address); }
    static constexpr socklen_t size() { return sizeof(sockaddr_un); }
};

// ENAMETOOLONG: the last component alone does not fit; the errno of opening the directory of a long path.
Result<UnixAddress> unixAddress(const std::string &path);

} // namespace cortexfs
