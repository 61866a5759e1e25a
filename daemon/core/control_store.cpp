#include "daemon/core/control_store.h"

#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/logging.h"
#include "common/base/unique_fd.h"
#include "daemon/core/etag.h"

#include <cstdlib>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cortexfs {

namespace {

constexpr mode_t kDirectoryMode = 0755;
constexpr mode_t kControlMode = 0644;
constexpr char kRoute[] = "route";

UniqueFd openDirectory(int parent, const std::string &name)
{
    return UniqueFd(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// The directory, made where it is missing and then on the disk before anything is put into it. Links are not followed.
Result<UniqueFd> makeDirectoryAt(int parent, const std::string &name)
{
    if (::mkdirat(parent, name.c_str(), kDirectoryMode) == 0) {
        if (::fsync(parent) != 0)
            return errors::fromErrno(errno, name);
    } else if (errno != EEXIST) {
        return errors::fromErrno(errno, name);
    }
    UniqueFd fd(openDirectory(parent, name));
    if (!fd.isValid())
        return errors::fromErrno(errno, name);
    return fd;
}

std::vector<std::string> namesIn(int directory)
{
    std::vector<std::string> names;
    const int copy = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = copy < 0 ? nullptr : ::fdopendir(copy);
    if (!stream) {
        if (copy >= 0)
            ::close(copy);
        return names;
    }
    while (const dirent *entry = ::readdir(stream)) {
        const std::string name(entry->d_name);
        if (name != "." && name != "..")
            names.push_back(name);
    }
    ::closedir(stream);
    return names;
}

} // namespace

Result<void> ControlStore::prepare() const
{
    if (Result<void> made = files::makeDirectories(m_directory, kDirectoryMode); !made)
        return made;
    const UniqueFd top(openDirectory(AT_FDCWD, m_directory));
    if (!top.isValid())
        return errors::fromErrno(errno, m_directory);
    files::removeStaleTemporaries(top.get());
    return {};
}

ControlStore::Overrides ControlStore::loadOverrides() const
{
    Overrides overrides;
    const UniqueFd top(openDirectory(AT_FDCWD, m_directory));
    if (!top.isValid())
        return overrides;
    for (const std::string &provider : namesIn(top.get())) {
        const UniqueFd providerDir(abi::isObjectName(provider) ? openDirectory(top.get(), provider) : UniqueFd());
        if (!providerDir.isValid())
            continue;
        for (const std::string &entry : namesIn(providerDir.get())) {
            if (!entry.ends_with(".d"))
                continue;
            const abi::ModelRef ref{provider, entry.substr(0, entry.size() - 2)};
            const UniqueFd controls(openDirectory(providerDir.get(), entry));
            if (!controls.isValid() || !abi::isObjectName(ref.model))
                continue;
            files::removeStaleTemporaries(controls.get());
            for (std::size_t i = 0; i < models::kControlCount; ++i) {
                const auto control = static_cast<models::Control>(i);
                if (!models::isWritable(control))
                    continue;
                const std::string name(models::kControlNames[i]);
                Result<std::string> text = files::readRegularAt(controls.get(), name, limits::kControlFile);
                if (text)
                    overrides[ref][control] = std::move(*text);
                else if (text.error().number() != ENOENT)
                    qCWarning(lcConfig, "model/%s.d/%s: %s", ref.text().c_str(), name.c_str(),
                              text.error().text().c_str());
            }
        }
    }
    return overrides;
}

std::map<std::string, abi::ModelRef> ControlStore::loadAliases() const
{
    std::map<std::string, abi::ModelRef> aliases;
    const UniqueFd top(openDirectory(AT_FDCWD, m_directory));
    if (!top.isValid())
        return aliases;
    for (const std::string &name : namesIn(top.get())) {
        char target[256];
        const ssize_t size = ::readlinkat(top.get(), name.c_str(), target, sizeof target);
        if (size <= 0 || size == static_cast<ssize_t>(sizeof target) || !abi::isObjectName(name))
            continue;
        if (const auto ref = abi::parseModelRef(std::string_view(target, static_cast<std::size_t>(size))))
            aliases[name] = *ref;
    }
    return aliases;
}

Result<void> ControlStore::write(const abi::ModelRef &ref, models::Control control, const std::string &text) const
{
    const UniqueFd top(openDirectory(AT_FDCWD, m_directory));
    if (!top.isValid())
        return errors::fromErrno(errno, m_directory);
    Result<UniqueFd> provider = makeDirectoryAt(top.get(), ref.provider);
    if (!provider)
        return provider.error();
    Result<UniqueFd> controls = makeDirectoryAt(provider->get(), ref.model + ".d");
    if (!controls)
        return controls.error();
    const std::string name(models::kControlNames[static_cast<std::size_t>(control)]);
    return files::replaceAt(controls->get(), name, text, kControlMode);
}

Result<void> ControlStore::setAlias(const std::string &name, const abi::ModelRef &target) const
{
    const UniqueFd top(openDirectory(AT_FDCWD, m_directory));
    if (!top.isValid())
        return errors::fromErrno(errno, m_directory);
    // The same temporary prefix as for files: a crash between the two steps is cleaned at the next start.
    const std::string temporary = ".cortexfs-tmp-link-" + name;
    ::unlinkat(top.get(), temporary.c_str(), 0);
    if (::symlinkat(target.text().c_str(), top.get(), temporary.c_str()) != 0)
        return errors::fromErrno(errno, name);
    if (::renameat(top.get(), temporary.c_str(), top.get(), name.c_str()) != 0) {
        const int number = errno;
        ::unlinkat(top.get(), temporary.c_str(), 0);
        return errors::fromErrno(number, name);
    }
    if (::fsync(top.get()) != 0)
        return errors::fromErrno(errno, name);
    return {};
}

Result<void> ControlStore::checkRouteEtag(int directory, const std::optional<std::string> &expected) const
{
    if (!expected)
        return {};
    const Result<std::string> text = files::readRegularAt(directory, kRoute, limits::kRouteFile);
    if (!text && text.error().number() != ENOENT)
        return text.error();
    if ((text ? etagOf(*text) : std::string()) != *expected)
        return errors::stale("changed meanwhile, nothing was written").withDetail("model/route");
    return {};
}

Result<void> ControlStore::writeRoute(const std::string &text, const std::optional<std::string> &expected) const
{
    const UniqueFd top(openDirectory(AT_FDCWD, m_directory));
    if (!top.isValid())
        return errors::fromErrno(errno, m_directory);
    if (Result<void> checked = checkRouteEtag(top.get(), expected); !checked)
        return checked;
    return files::replaceAt(top.get(), kRoute, text, kControlMode);
}

Result<void> ControlStore::removeRoute(const std::optional<std::string> &expected) const
{
    const UniqueFd top(openDirectory(AT_FDCWD, m_directory));
    if (!top.isValid())
        return errors::fromErrno(errno, m_directory);
    if (Result<void> checked = checkRouteEtag(top.get(), expected); !checked)
        return checked;
    if (::unlinkat(top.get(), kRoute, 0) != 0) {
        if (errno == ENOENT && expected)
            return {};
        return errors::fromErrno(errno, "model/route");
    }
    if (::fsync(top.get()) != 0)
        return errors::fromErrno(errno, "model/route");
    return {};
}

Result<void> ControlStore::removeAlias(const std::string &name) const
{
    const UniqueFd top(openDirectory(AT_FDCWD, m_directory));
    if (!top.isValid())
        return errors::fromErrno(errno, m_directory);
    struct stat info = {};
    if (::fstatat(top.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
        return errors::fromErrno(errno, name);
    if (!S_ISLNK(info.st_mode))
        return errors::readOnly("not an alias");
    if (::unlinkat(top.get(), name.c_str(), 0) != 0)
        return errors::fromErrno(errno, name);
    ::fsync(top.get());
    return {};
}

} // namespace cortexfs
