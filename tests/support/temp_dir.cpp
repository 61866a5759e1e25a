#include "tests/support/temp_dir.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <sys/stat.h>

namespace cortexfs::test {

namespace {

[[noreturn]] void giveUp(const std::string &what)
{
    std::perror(what.c_str());
    std::abort();
}

} // namespace

TempDir::TempDir()
{
    const char *base = std::getenv("TMPDIR");
    m_path = std::string(base && *base ? base : "/tmp") + "/cortexfs-test-XXXXXX";
    if (!::mkdtemp(m_path.data()))
        giveUp(m_path);
}

TempDir::~TempDir()
{
    std::error_code ignored;
    for (std::filesystem::recursive_directory_iterator it(m_path, ignored), end; it != end; it.increment(ignored)) {
        if (it->is_directory(ignored) && !it->is_symlink(ignored))
            ::chmod(it->path().c_str(), 0700);
    }
    std::filesystem::remove_all(m_path, ignored);
}

void TempDir::write(std::string_view name, std::string_view content, mode_t mode) const
{
    const std::string file = path(name);
    for (std::size_t slash = file.find('/', m_path.size() + 1); slash != std::string::npos;
         slash = file.find('/', slash + 1))
        ::mkdir(file.substr(0, slash).c_str(), 0700);
    std::ofstream out(file, std::ios::binary | std::ios::trunc);
    out << content;
    out.close();
    if (!out || ::chmod(file.c_str(), mode) != 0)
        giveUp(file);
}

std::string TempDir::read(std::string_view name) const
{
    std::ifstream in(path(name), std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

} // namespace cortexfs::test
