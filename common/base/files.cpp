#include "common/base/files.h"

#include "common/base/unique_fd.h"

#include <atomic>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cortexfs::files {

namespace {

constexpr char kTemporaryPrefix[] = ".cortexfs-tmp-";

struct SplitPath {
    std::string directory;
    std::string name;
};

SplitPath splitPath(const std::string &path)
{
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos)
        return {".", path};
    return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

std::string temporaryName()
{
    static std::atomic<unsigned> counter{0};
    return kTemporaryPrefix + std::to_string(::getpid()) + "-" + std::to_string(counter.fetch_add(1));
}

struct Temporary {
    std::string name;
    UniqueFd fd;
};

// A crashed process that had our pid may have left the first names taken.
Result<Temporary> createTemporary(int directory, mode_t mode)
{
    constexpr int kTries = 1000;
    for (int i = 0; i < kTries; ++i) {
        Temporary out{temporaryName(), {}};
        out.fd = UniqueFd(
            ::openat(directory, out.name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
        if (out.fd.isValid())
            return out;
        if (errno != EEXIST)
            break;
    }
    return errors::fromErrno(errno, "temporary file");
}

// mkdir(2) that leaves no say to the umask. EEXIST is fine.
Result<void> makeDirectory(const std::string &path, mode_t mode)
{
    if (::mkdir(path.c_str(), mode) != 0) {
        if (errno == EEXIST)
            return {};
        return errors::fromErrno(errno, path);
    }
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd.isValid() || ::fchmod(fd.get(), mode) != 0)
        return errors::fromErrno(errno, path);
    return {};
}

Result<UniqueFd> openDirectory(const std::string &path)
{
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd.isValid())
        return errors::fromErrno(errno, path);
    return fd;
}

// `check` sees what was opened, so that nobody can put another file there in between.
template<typename Check>
Result<std::string> readChecked(int directory, const std::string &name, std::size_t maxBytes, const Check &check)
{
    // O_NONBLOCK: a FIFO under this name must not hang us before fstat can refuse it.
    const UniqueFd fd(::openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!fd.isValid()) {
        if (errno == ENXIO) // a socket, or a device without a driver
            return errors::invalid(name + ": not a regular file");
        return errors::fromErrno(errno, name);
    }
    struct stat info = {};
    if (::fstat(fd.get(), &info) != 0)
        return errors::fromErrno(errno, name);
    if (!S_ISREG(info.st_mode))
        return errors::invalid(name + ": not a regular file");
    if (const Result<void> checked = check(info); !checked)
        return checked.error();
    std::string content;
    if (info.st_size > 0)
        content.reserve(std::min(static_cast<std::size_t>(info.st_size), maxBytes) + 1);
    char buffer[16384];
    for (;;) {
        const ssize_t got = ::read(fd.get(), buffer, sizeof buffer);
        if (got < 0) {
            if (errno == EINTR)
                continue;
            return errors::fromErrno(errno, name);
        }
        if (got == 0)
            return content;
        content.append(buffer, static_cast<std::size_t>(got));
        if (content.size() > maxBytes)
            return errors::tooLarge(name + ": over " + std::to_string(maxBytes) + " bytes");
    }
}

} // namespace

Result<void> writeAll(int fd, std::string_view content)
{
    while (!content.empty()) {
        const ssize_t written = ::write(fd, content.data(), content.size());
        if (written < 0) {
            if (errno == EINTR)
                continue;
            return errors::fromErrno(errno, "write");
        }
        content.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
}

Result<std::string> readRegularAt(int directory, const std::string &name, std::size_t maxBytes)
{
    return readChecked(directory, name, maxBytes, [](const struct stat &) { return Result<void>(); });
}

Result<std::string> readRegular(const std::string &path, std::size_t maxBytes)
{
    return readRegularAt(AT_FDCWD, path, maxBytes);
}

Result<std::string> readTrusted(const std::string &path, std::size_t maxBytes, uid_t owner)
{
    return readChecked(AT_FDCWD, path, maxBytes, [&](const struct stat &info) -> Result<void> {
        if (info.st_uid != owner)
            return errors::accessDenied(path + ": belongs to another user");
        if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
            return errors::accessDenied(path + ": others may write it");
        return {};
    });
}

Result<void> replaceAt(int directory, const std::string &name, std::string_view content, mode_t mode)
{
    Result<Temporary> created = createTemporary(directory, mode);
    if (!created)
        return created.error().withDetail(name);
    const std::string temporary = created->name;
    UniqueFd fd = std::move(created->fd);
    const auto abandon = [&](Error error) {
        ::unlinkat(directory, temporary.c_str(), 0);
        return error;
    };
    // The umask must not decide who can read a control file or a secret.
    if (::fchmod(fd.get(), mode) != 0)
        return abandon(errors::fromErrno(errno, name));
    if (Result<void> written = writeAll(fd.get(), content); !written)
        return abandon(written.error().withDetail(name));
    if (::fsync(fd.get()) != 0)
        return abandon(errors::fromErrno(errno, name));
    fd.reset();
    if (::renameat(directory, temporary.c_str(), directory, name.c_str()) != 0)
        return abandon(errors::fromErrno(errno, name));
    if (::fsync(directory) != 0)
        return errors::fromErrno(errno, name);
    return {};
}

Result<void> replace(const std::string &path, std::string_view content, mode_t mode)
{
    const SplitPath split = splitPath(path);
    Result<UniqueFd> directory = openDirectory(split.directory);
    if (!directory)
        return directory.error();
    return replaceAt(directory->get(), split.name, content, mode);
}

void removeStaleTemporaries(int directory)
{
    const int copy = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (copy < 0)
        return;
    DIR *stream = ::fdopendir(copy);
    if (!stream) {
        ::close(copy);
        return;
    }
    std::vector<std::string> names;
    while (const dirent *entry = ::readdir(stream)) {
        const std::string_view name(entry->d_name);
        if (name.starts_with(kTemporaryPrefix))
            names.emplace_back(name);
    }
    for (const std::string &name : names)
        ::unlinkat(directory, name.c_str(), 0);
    ::closedir(stream);
}

Result<void> makeDirectories(const std::string &path, mode_t mode)
{
    for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
        const std::string prefix = path.substr(0, end);
        if (Result<void> made = makeDirectory(prefix, mode); !made)
            return made;
        if (end == std::string::npos)
            break;
    }
    struct stat info = {};
    if (::stat(path.c_str(), &info) != 0)
        return errors::fromErrno(errno, path);
    if (!S_ISDIR(info.st_mode))
        return errors::fromErrno(ENOTDIR, path);
    return {};
}

} // namespace cortexfs::files
