#include "daemon/sockets/program_names.h"

#include "common/base/unique_fd.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

namespace cortexfs::sockets {

namespace {

std::string procPath(pid_t pid, const char *name) { return "/proc/" + std::to_string(pid) + "/" + name; }

std::string readProc(pid_t pid, const char *name)
{
    const UniqueFd file(::open(procPath(pid, name).c_str(), O_RDONLY | O_CLOEXEC));
    std::array<char, 1024> buffer;
    const ssize_t size = file.isValid() ? ::read(file.get(), buffer.data(), buffer.size()) : -1;
    return size > 0 ? std::string(buffer.data(), static_cast<std::size_t>(size)) : std::string();
}

struct ProcessFacts {
    pid_t parent = 0;
    std::uint64_t startTicks = 0; // since boot
};

// The fields of /proc/PID/stat behind the name, which may itself hold blanks and parentheses.
std::optional<ProcessFacts> factsOf(pid_t pid)
{
    const std::string text = readProc(pid, "stat");
    const std::size_t name = text.rfind(')');
    if (name == std::string::npos)
        return std::nullopt;
    std::string_view rest = std::string_view(text).substr(name + 1);
    ProcessFacts facts;
    constexpr int kParent = 4;
    constexpr int kStart = 22;
    for (int field = 3; field <= kStart; ++field) {
        const std::size_t begin = rest.find_first_not_of(' ');
        if (begin == std::string_view::npos)
            return std::nullopt;
        rest.remove_prefix(begin);
        const std::string_view word = rest.substr(0, rest.find(' '));
        if (field == kParent)
            std::from_chars(word.data(), word.data() + word.size(), facts.parent);
        if (field == kStart)
            std::from_chars(word.data(), word.data() + word.size(), facts.startTicks);
        rest.remove_prefix(word.size());
    }
    return facts;
}

std::string executableName(pid_t pid)
{
    std::array<char, 4096> buffer;
    const ssize_t size = ::readlink(procPath(pid, "exe").c_str(), buffer.data(), buffer.size());
    if (size <= 0)
        return {};
    std::string_view path(buffer.data(), static_cast<std::size_t>(size));
    constexpr std::string_view kDeleted = " (deleted)"; // replaced by an update
    if (path.ends_with(kDeleted))
        path.remove_suffix(kDeleted.size());
    return std::string(path.substr(path.rfind('/') + 1));
}

std::uint64_t ticksSinceBoot()
{
    timespec now = {};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    const auto perSecond = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
    const auto nanoseconds = static_cast<std::uint64_t>(now.tv_nsec);
    return static_cast<std::uint64_t>(now.tv_sec) * perSecond + nanoseconds * perSecond / 1'000'000'000;
}

std::vector<std::string> namesOf(pid_t pid, std::uint64_t askedTicks)
{
    std::optional<ProcessFacts> facts = factsOf(pid);
    std::string executable = executableName(pid);
    if (facts && executable == kObjectRunner) {
        pid = facts->parent;
        facts = factsOf(pid);
        executable = executableName(pid);
    }
    if (!facts || facts->startTicks > askedTicks)
        return {};
    std::string name = readProc(pid, "comm");
    if (name.ends_with('\n'))
        name.pop_back();
    std::vector<std::string> names;
    for (std::string &found : std::array{std::move(name), std::move(executable)}) {
        if (!found.empty() && std::find(names.begin(), names.end(), found) == names.end())
            names.push_back(std::move(found));
    }
    return names;
}

} // namespace

std::function<std::vector<std::string>()> programNamesOf(pid_t pid)
{
    return [pid, asked = ticksSinceBoot()] { return namesOf(pid, asked); };
}

} // namespace cortexfs::sockets
