#include "daemon/fs/bridge/fuse_caller.h"

#include "common/base/unique_fd.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

namespace cortexfs::fs {

namespace {

constexpr std::size_t kStatusSize = 4096;           // without groups about 1.5 KiB
constexpr std::size_t kLargestStatus = 1024 * 1024; // 65536 groups, the most there are

std::string statusOf(pid_t thread)
{
    const std::string id = std::to_string(thread);
    const UniqueFd fd(::open(("/proc/" + id + "/task/" + id + "/status").c_str(), O_RDONLY | O_CLOEXEC));
    std::string text;
    while (fd.isValid() && text.size() < kLargestStatus) {
        const std::size_t before = text.size();
        text.resize(before + kStatusSize);
        const ssize_t got = ::read(fd.get(), text.data() + before, kStatusSize);
        text.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        if (got <= 0)
            break;
    }
    return text;
}

} // namespace

// Not fuse_req_getgroups(): that of libfuse 3.14 searches what it read as a C string without ending it with a NUL.
std::vector<gid_t> FuseCaller::groups() const
{
    constexpr std::string_view kKey = "\nGroups:";
    const std::string status = statusOf(m_caller.pid);
    std::vector<gid_t> list;
    const std::size_t key = status.find(kKey);
    if (key == std::string::npos)
        return list;
    const char *at = status.data() + key + kKey.size();
    const char *const end = status.data() + std::min(status.find('\n', key + 1), status.size());
    while (at < end) {
        gid_t group = 0;
        const auto [next, error] = std::from_chars(at, end, group);
        if (error == std::errc())
            list.push_back(group);
        at = error == std::errc() ? next : at + 1; // blanks and tabs between them
    }
    return list;
}

} // namespace cortexfs::fs
