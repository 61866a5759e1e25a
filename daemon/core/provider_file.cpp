#include "daemon/core/provider_file.h"

#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/unique_fd.h"
#include "common/config/provider_config.h"
#include "daemon/core/etag.h"

#include <algorithm>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cortexfs {

Result<void> ProviderFiles::checkName(std::string_view file)
{
    constexpr std::size_t kNameBytes = 200;
    const bool isClean = std::none_of(file.begin(), file.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte < 0x20 || byte == 0x7f || c == '/';
    });
    if (isClean && file.size() <= kNameBytes && file.size() > 5 && file.ends_with(".json") && !file.starts_with('.'))
        return {};
    return errors::invalid("not the name of a provider file").withDetail("file");
}

Result<ProviderText> ProviderFiles::read(const std::string &file) const
{
    Result<std::string> text = files::readRegular(pathOf(file), limits::kProviderFile);
    if (!text)
        return text.error();
    const std::string etag = etagOf(*text);
    return ProviderText{std::move(*text), etag};
}

Result<void> ProviderFiles::checkUnchanged(const std::string &file, const std::string &etag) const
{
    const Result<ProviderText> before = read(file);
    if (etag.empty()) {
        if (!before && before.error().number() == ENOENT)
            return {};
        return errors::alreadyExists("there is such a file already").withDetail(file);
    }
    // One that has gone is one that has changed.
    if (!before)
        return before.error().number() == ENOENT ? errors::stale("the file is gone").withDetail(file) : before.error();
    if (before->etag != etag)
        return errors::stale("the file has changed meanwhile, look at it again").withDetail(file);
    return {};
}

Result<void> ProviderFiles::checkNameIsFree(const std::string &file, const std::string &provider) const
{
    const Result<config::ProviderSet> set = config::loadProviders(m_directory, m_formats);
    if (!set)
        return set.error();
    for (const config::ProviderConfig &other : set->providers) {
        if (other.name == provider && other.file != file)
            return errors::alreadyExists("another file has the provider " + provider).withDetail(other.file);
    }
    return {};
}

Result<void> ProviderFiles::write(const std::string &file, const std::string &etag, const std::string &text) const
{
    if (Result<void> name = checkName(file); !name)
        return name;
    const Result<config::ProviderConfig> config = config::parseProvider(text, file, m_formats);
    if (!config)
        return config.error();
    if (Result<void> made = files::makeDirectories(m_directory, 0755); !made)
        return made;
    if (Result<void> unchanged = checkUnchanged(file, etag); !unchanged)
        return unchanged;
    if (Result<void> isFree = checkNameIsFree(file, config->name); !isFree)
        return isFree;
    if (!etag.empty() && etagOf(text) == etag)
        return {};
    return files::replace(pathOf(file), text, 0644);
}

Result<void> ProviderFiles::remove(const std::string &file, const std::string &etag) const
{
    if (Result<void> name = checkName(file); !name)
        return name;
    if (etag.empty())
        return errors::invalid("missing").withDetail("etag");
    const UniqueFd directory(::open(m_directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory.isValid())
        return errors::fromErrno(errno, m_directory);
    if (Result<void> unchanged = checkUnchanged(file, etag); !unchanged)
        return unchanged;
    if (::unlinkat(directory.get(), file.c_str(), 0) != 0 || ::fsync(directory.get()) != 0)
        return errors::fromErrno(errno, pathOf(file));
    return {};
}

} // namespace cortexfs
