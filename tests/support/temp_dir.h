// A directory that goes with its contents, also when a test took rights away inside it.
#pragma once

#include <string>
#include <string_view>

#include <sys/types.h>

namespace cortexfs::test {

class TempDir {
public:
    TempDir();
    ~TempDir();
    TempDir(const TempDir &) = delete;
    TempDir &operator=(const TempDir &) = delete;

    const std::string &path() const { return m_path; }
    std::string path(std::string_view name) const { return m_path + "/" + std::string(name); }
    // Makes missing parent directories with 0700. Aborts the test program when the disk does not let it.
    void write(std::string_view name, std::string_view content, mode_t mode = 0600) const;
    std::string read(std::string_view name) const;

private:
    std::string m_path;
};

} // namespace cortexfs::test
