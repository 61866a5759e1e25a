#include "common/base/unix_address.h"

#include <cstring>

#include <fcntl.h>
#include <sys/socket.h>

namespace cortexfs {

Result<UnixAddress> unixAddress(const std::string &path)
{
    UnixAddress made;
    made.address.sun_family = AF_UNIX;
    std::string usable = path;
    if (usable.size() >= sizeof made.address.sun_path) {
        const std::size_t slash = path.rfind('/');
        if (slash == std::string::npos)
            return errors::fromErrno(ENAMETOOLONG, path);
        made.directory = UniqueFd(::open(path.substr(0, slash + 1).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        if (!made.directory.isValid())
            return errors::fromErrno(errno, path);
        usable = "/proc/self/fd/" + std::to_string(made.directory.get()) + path.substr(slash);
        if (usable.size() >= sizeof made.address.sun_path)
            return errors::fromErrno(ENAMETOOLONG, path);
    }
    std::memcpy(made.address.sun_path, usable.c_str(), usable.size() + 1);
    return made;
}

} // namespace cortexfs
