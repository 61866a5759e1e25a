#include "daemon/fs/bridge/mount_table.h"

#include <climits>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <vector>

namespace cortexfs::fs {

namespace {

// Blanks and backslashes of paths are written as \040.
std::string unescape(std::string_view text)
{
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto digit = [&](std::size_t at) { return text[at] >= '0' && text[at] <= '7'; };
        if (text[i] == '\\' && i + 3 < text.size() && digit(i + 1) && digit(i + 2) && digit(i + 3)) {
            plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
            i += 3;
        } else {
            plain += text[i];
        }
    }
    return plain;
}

} // namespace

std::optional<MountedHere> mountedAt(std::string_view mountInfo, std::string_view path)
{
    std::optional<MountedHere> found;
    std::istringstream lines{std::string(mountInfo)};
    for (std::string line; std::getline(lines, line);) {
        // 36 35 98:0 /root /mount/point options... - type source superoptions
        std::istringstream words(line);
        std::vector<std::string> fields;
        for (std::string word; words >> word;)
            fields.push_back(word);
        std::size_t dash = 6;
        while (dash < fields.size() && fields[dash] != "-")
            ++dash;
        if (dash + 1 >= fields.size() || unescape(fields[4]) != path)
            continue;
        const std::size_t colon = fields[2].find(':');
        const char *minor = colon == std::string::npos ? "" : fields[2].c_str() + colon + 1;
        // A later line lies above an earlier one.
        found = MountedHere{std::string(path), fields[dash + 1],
                            static_cast<unsigned>(std::strtoul(minor, nullptr, 10))};
    }
    return found;
}

std::optional<MountedHere> mountedAt(const std::string &mountpoint)
{
    const std::size_t slash = mountpoint.rfind('/');
    std::string path = mountpoint;
    if (slash != std::string::npos && slash > 0) {
        char resolved[PATH_MAX];
        if (::realpath(mountpoint.substr(0, slash).c_str(), resolved)) {
            const std::string directory = resolved;
            path = (directory == "/" ? "" : directory) + mountpoint.substr(slash);
        }
    }
    std::ifstream table("/proc/self/mountinfo");
    std::ostringstream text;
    text << table.rdbuf();
    return mountedAt(text.str(), path);
}

} // namespace cortexfs::fs
