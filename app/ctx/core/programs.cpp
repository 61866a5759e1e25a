#include "app/ctx/core/programs.h"

#include "app/ctx/core/text.h"

#include <algorithm>

#include <unistd.h>

namespace cortexfs::ctx {

std::optional<std::string> findProgram(const std::string &name, const Environment &environment)
{
    const std::string path = environment("PATH").value_or("/usr/local/bin:/usr/bin:/bin");
    std::size_t start = 0;
    while (start <= path.size()) {
        const std::size_t end = std::min(path.find(':', start), path.size());
        const std::string candidate = path.substr(start, end - start) + "/" + name;
        if (::access(candidate.c_str(), X_OK) == 0)
            return candidate;
        start = end + 1;
    }
    return std::nullopt;
}

std::string ownDirectory()
{
    std::string path(4096, '\0');
    const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
    path.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return path.substr(0, path.rfind('/'));
}

std::string daemonCommand(const Environment &environment)
{
    const std::string beside = ownDirectory() + "/cortexd";
    if (!findProgram("cortexd", environment) && ::access(beside.c_str(), X_OK) == 0)
        return shellWord(beside);
    return "cortexd";
}

} // namespace cortexfs::ctx
