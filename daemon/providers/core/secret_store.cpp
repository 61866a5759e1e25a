#include "daemon/providers/core/secret_store.h"

#include "common/abi/names.h"
#include "common/base/files.h"
#include "common/base/limits.h"

#include <algorithm>
#include <optional>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cortexfs::providers {

namespace {

constexpr mode_t kDirMode = 0700;
constexpr mode_t kFileMode = 0600;

std::string octal(mode_t mode)
{
    std::string out;
    for (int shift = 9; shift >= 0; shift -= 3)
        out += static_cast<char>('0' + ((mode >> shift) & 7));
    return out;
}

std::optional<std::string> faultOfDirectory(const struct stat &info, uid_t owner)
{
    if (info.st_uid != owner)
        return "belongs to uid " + std::to_string(info.st_uid) + " instead of " + std::to_string(owner);
    if ((info.st_mode & 07777 & ~kDirMode) != 0)
        return "has mode " + octal(info.st_mode & 07777) + " instead of 0700";
    return std::nullopt;
}

std::optional<std::string> faultOfFile(const struct stat &info, uid_t owner)
{
    if (!S_ISREG(info.st_mode))
        return "is not a regular file";
    if (info.st_uid != owner)
        return "belongs to uid " + std::to_string(info.st_uid) + " instead of " + std::to_string(owner);
    if (info.st_nlink != 1)
        return "has " + std::to_string(info.st_nlink) + " hard links";
    if ((info.st_mode & 07777 & ~kFileMode) != 0)
        return "has mode " + octal(info.st_mode & 07777) + " instead of 0600";
    if (static_cast<std::size_t>(info.st_size) > limits::kSecretFile)
        return "is over " + std::to_string(limits::kSecretFile) + " bytes";
    return std::nullopt;
}

std::string_view trimmed(std::string_view text)
{
    static constexpr std::string_view kSpace = " \t\r\n\v\f";
    const std::size_t first = text.find_first_not_of(kSpace);
    if (first == std::string_view::npos)
        return {};
    return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::optional<std::string> faultOfValue(std::string_view value)
{
    if (value.empty())
        return "is empty";
    const bool hasControl = std::any_of(value.begin(), value.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte < 0x20 || byte == 0x7f;
    });
    if (hasControl)
        return "holds more than one line or a control character";
    return std::nullopt;
}

std::string placeOf(std::string_view provider, std::string_view slot)
{
    return "slot " + std::string(slot) + " of provider " + std::string(provider);
}

Result<void> checkNames(std::string_view provider, std::string_view slot)
{
    if (const Result<void> checked = abi::checkObjectName(provider); !checked)
        return checked.error().withDetail("provider");
    if (const Result<void> checked = abi::checkObjectName(slot); !checked)
        return checked.error().withDetail("slot");
    return {};
}

// Opens `name` below `parent` without following a link. With `create` it is made, and repaired when it is ours.
Result<UniqueFd> enterDirectory(int parent, const std::string &name, uid_t owner, bool create)
{
    if (create && ::mkdirat(parent, name.c_str(), kDirMode) != 0 && errno != EEXIST)
        return errors::fromErrno(errno, "secret directory " + name);
    UniqueFd fd(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd.isValid()) {
        if (errno == ELOOP || errno == ENOTDIR)
            return errors::accessDenied("secret directory " + name + " is a link or no directory");
        return errors::fromErrno(errno, "secret directory " + name);
    }
    struct stat info = {};
    if (::fstat(fd.get(), &info) != 0)
        return errors::fromErrno(errno, "secret directory " + name);
    if (create && info.st_uid == owner && (info.st_mode & 07777) != kDirMode && ::fchmod(fd.get(), kDirMode) == 0)
        info.st_mode = S_IFDIR | kDirMode;
    if (const std::optional<std::string> fault = faultOfDirectory(info, owner))
        return errors::accessDenied("secret directory " + name + " " + *fault);
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
        if (abi::isObjectName(entry->d_name))
            names.emplace_back(entry->d_name);
    }
    ::closedir(stream);
    std::sort(names.begin(), names.end());
    return names;
}

struct SlotContent {
    SlotState state = SlotState::Missing;
    std::string reason;
    SecretString value;
    FileStamp stamp; // Filled: of before reading, so that a change in between shows at the next look
};

SlotContent rejected(std::string reason) { return {SlotState::Rejected, std::move(reason), {}, {}}; }

SlotContent readSlot(int directory, const std::string &slot, uid_t owner)
{
    // O_NONBLOCK: a FIFO must not hang us before fstat can refuse it.
    const UniqueFd fd(::openat(directory, slot.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!fd.isValid()) {
        if (errno == ENOENT)
            return {};
        return rejected(errno == ELOOP ? "is a link" : "cannot be opened: " + errors::fromErrno(errno, slot).message());
    }
    struct stat info = {};
    if (::fstat(fd.get(), &info) != 0)
        return rejected("cannot be examined");
    if (const std::optional<std::string> fault = faultOfFile(info, owner))
        return rejected(*fault);
    // Read into memory of the final size: a growing string would leave copies of the key behind.
    std::string text(limits::kSecretFile + 1, '\0');
    std::size_t filled = 0;
    ssize_t got = 0;
    while (filled < text.size() && (got = ::read(fd.get(), text.data() + filled, text.size() - filled)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            break;
        filled += static_cast<std::size_t>(got);
    }
    SlotContent content;
    const std::string_view value = trimmed(std::string_view(text).substr(0, filled));
    if (got < 0)
        content = rejected("cannot be read");
    else if (filled > limits::kSecretFile)
        content = rejected("is over " + std::to_string(limits::kSecretFile) + " bytes");
    else if (const std::optional<std::string> fault = faultOfValue(value))
        content = rejected(*fault);
    else
        content = {SlotState::Filled, {}, SecretString(std::string(value)), stampOf(info)};
    ::explicit_bzero(text.data(), text.size());
    return content;
}

} // namespace

SecretStore::SecretStore(std::string stateDir, uid_t owner, const Clock &clock)
    : m_stateDir(std::move(stateDir)), m_owner(owner), m_clock(clock)
{}

Result<UniqueFd> SecretStore::openProviderDir(std::string_view provider, bool create) const
{
    UniqueFd fd(::open(m_stateDir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd.isValid())
        return errors::fromErrno(errno, m_stateDir);
    for (const std::string &name : {std::string("secrets"), std::string("provider"), std::string(provider)}) {
        if (name.empty())
            break; // the directory of all providers
        Result<UniqueFd> next = enterDirectory(fd.get(), name, m_owner, create);
        if (!next)
            return next.error();
        fd = std::move(next).value();
    }
    return fd;
}

std::string SecretStore::slotPath(std::string_view provider, std::string_view slot) const
{
    std::string path = m_stateDir + "/secrets/provider/";
    path.append(provider).append("/").append(slot);
    return path;
}

std::optional<SecretString> SecretStore::keptKey(std::string_view provider, const std::string &path,
                                                 const struct stat &info) const
{
    if (faultOfFile(info, m_owner))
        return std::nullopt;
    std::optional<SecretString> key = m_cache.find(path, stampOf(info));
    if (!key)
        return std::nullopt;
    struct stat parent = {};
    std::string directory = m_stateDir;
    for (const std::string_view name : {std::string_view("secrets"), std::string_view("provider"), provider}) {
        directory.append("/").append(name);
        if (::lstat(directory.c_str(), &parent) != 0 || !S_ISDIR(parent.st_mode) || faultOfDirectory(parent, m_owner))
            return std::nullopt;
    }
    return key;
}

Result<std::optional<SecretString>> SecretStore::find(std::string_view provider, std::string_view slot) const
{
    if (const Result<void> checked = checkNames(provider, slot); !checked)
        return checked.error();
    const std::string path = slotPath(provider, slot);
    struct stat info = {};
    if (::lstat(path.c_str(), &info) == 0) {
        if (std::optional<SecretString> kept = keptKey(provider, path, info))
            return kept;
    } else if (errno == ENOENT) {
        m_cache.drop(path);
        return std::optional<SecretString>();
    }
    const std::uint64_t dropCount = m_cache.dropCount();
    const Result<UniqueFd> directory = openProviderDir(provider, false);
    if (!directory) {
        m_cache.drop(path);
        if (directory.error().number() == ENOENT)
            return std::optional<SecretString>();
        return errors::noCredential("the key in " + placeOf(provider, slot)
                                    + " does not count: " + directory.error().message());
    }
    SlotContent content = readSlot(directory->get(), std::string(slot), m_owner);
    if (content.state != SlotState::Filled)
        m_cache.drop(path);
    else if (isSettled(content.stamp, m_clock.wallMs()))
        m_cache.keep(path, content.stamp, content.value, dropCount);
    switch (content.state) {
    case SlotState::Filled: return std::optional(std::move(content.value));
    case SlotState::Missing: return std::optional<SecretString>();
    case SlotState::Rejected: break;
    }
    return errors::noCredential("the key in " + placeOf(provider, slot) + " does not count: the file "
                                + content.reason);
}

Result<SecretString> SecretStore::get(std::string_view provider, std::string_view slot) const
{
    Result<std::optional<SecretString>> key = find(provider, slot);
    if (!key)
        return key.error();
    if (!*key)
        return errors::noCredential("no key in " + placeOf(provider, slot));
    return std::move(**key);
}

SlotInfo SecretStore::state(std::string_view provider, std::string_view slot) const
{
    SlotInfo info{std::string(provider), std::string(slot), SlotState::Missing, {}};
    if (!checkNames(provider, slot))
        return info;
    const Result<UniqueFd> directory = openProviderDir(provider, false);
    if (!directory) {
        if (directory.error().number() != ENOENT) {
            info.state = SlotState::Rejected;
            info.reason = directory.error().message();
        }
        return info;
    }
    const SlotContent content = readSlot(directory->get(), info.slot, m_owner);
    if (content.state != SlotState::Filled)
        m_cache.drop(slotPath(provider, slot));
    info.state = content.state;
    info.reason = content.reason;
    return info;
}

std::vector<SlotInfo> SecretStore::list() const
{
    std::vector<SlotInfo> slots;
    const Result<UniqueFd> top = openProviderDir({}, false);
    if (!top)
        return slots;
    for (const std::string &provider : namesIn(top->get())) {
        const Result<UniqueFd> directory = openProviderDir(provider, false);
        if (!directory) {
            slots.push_back({provider, std::string(kDefaultSlot), SlotState::Rejected, directory.error().message()});
            continue;
        }
        for (const std::string &slot : namesIn(directory->get())) {
            const SlotContent content = readSlot(directory->get(), slot, m_owner);
            slots.push_back({provider, slot, content.state, content.reason});
        }
    }
    return slots;
}

Result<void> SecretStore::set(std::string_view provider, std::string_view slot, const SecretString &value)
{
    if (const Result<void> checked = checkNames(provider, slot); !checked)
        return checked.error();
    const std::string_view text = trimmed(value.reveal());
    if (text.size() > limits::kSecretFile)
        return errors::tooLarge("the key is over " + std::to_string(limits::kSecretFile) + " bytes");
    if (const std::optional<std::string> fault = faultOfValue(text))
        return errors::invalid("the key " + *fault);
    const Result<UniqueFd> directory = openProviderDir(provider, true);
    if (!directory)
        return directory.error();
    files::removeStaleTemporaries(directory->get());
    const Result<void> replaced = files::replaceAt(directory->get(), std::string(slot), text, kFileMode);
    m_cache.drop(slotPath(provider, slot));
    return replaced;
}

Result<void> SecretStore::remove(std::string_view provider, std::string_view slot)
{
    if (const Result<void> checked = checkNames(provider, slot); !checked)
        return checked.error();
    const std::string name(slot);
    const std::string place = placeOf(provider, slot);
    const Result<UniqueFd> directory = openProviderDir(provider, false);
    if (!directory) {
        if (directory.error().number() == ENOENT)
            return errors::notFound("no key in " + place);
        return directory.error();
    }
    const int failure = ::unlinkat(directory->get(), name.c_str(), 0) == 0 ? 0 : errno;
    m_cache.drop(slotPath(provider, slot)); // also when somebody else was faster
    if (failure == ENOENT)
        return errors::notFound("no key in " + place);
    if (failure != 0)
        return errors::fromErrno(failure, place);
    if (::fsync(directory->get()) != 0)
        return errors::fromErrno(errno, place);
    return {};
}

} // namespace cortexfs::providers
