// A mount whose daemon hangs makes every system call on it wait for ever, where only a fatal signal helps. While a
// MountWatch lives, a thread looks at the time; when it is over, the program says so and ends with exit code 69.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace cortexfs::ctx {

inline constexpr std::chrono::milliseconds kMountTime{10'000};

class MountWatch {
public:
    MountWatch(std::string mount, std::chrono::milliseconds time);
    ~MountWatch();
    MountWatch(const MountWatch &) = delete;
    MountWatch &operator=(const MountWatch &) = delete;

private:
    void watch(std::chrono::milliseconds time);

    std::string m_mount;
    std::mutex m_mutex;
    std::condition_variable m_changed;
    bool m_isOver = false;
    std::thread m_thread;
};

// An extended attribute's value; nothing when it is absent or not readable.
std::optional<std::string> readXattr(const std::string &path, std::string_view name);

} // namespace cortexfs::ctx
