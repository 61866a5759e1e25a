#include "daemon/sessions/session_tree.h"

#include "common/base/files.h"

#include <vector>

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cortexfs::sessions {

namespace {

constexpr mode_t kDirectoryMode = 0700;
constexpr mode_t kFileMode = 0600;

// The groups of a user by the database; empty when it is not in it.
class DatabaseGroups : public GroupSource {
public:
    explicit DatabaseGroups(const SessionUser &user) : m_user(user) {}
    std::vector<gid_t> groups() const override
    {
        char buffer[4096];
        passwd entry = {};
        passwd *found = nullptr;
        if (::getpwuid_r(m_user.uid, &entry, buffer, sizeof buffer, &found) != 0 || !found)
            return {m_user.gid};
        int count = 64;
        std::vector<gid_t> groups(static_cast<std::size_t>(count));
        if (::getgrouplist(entry.pw_name, m_user.gid, groups.data(), &count) < 0) {
            groups.resize(static_cast<std::size_t>(count));
            ::getgrouplist(entry.pw_name, m_user.gid, groups.data(), &count);
        }
        groups.resize(static_cast<std::size_t>(count));
        return groups;
    }

private:
    SessionUser m_user;
};

FsCredentials &credentialsOfThread()
{
    thread_local FsCredentials credentials = [] {
        FsCredentials made;
        made.prepareThread();
        return made;
    }();
    return credentials;
}

UniqueFd openDirectoryAt(int parent, const std::string &name)
{
    return UniqueFd(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// home/<uid> belongs to the daemon's directory, so the daemon makes it and gives it away.
Result<void> makeHome(const SessionPlace &place, const SessionUser &user)
{
    const std::string home = place.installedTree + "/home/" + std::to_string(user.uid);
    if (::mkdir(home.c_str(), kDirectoryMode) != 0)
        return errno == EEXIST ? Result<void>() : errors::fromErrno(errno, "home");
    if (::geteuid() == 0 && ::lchown(home.c_str(), user.uid, user.gid) != 0)
        return errors::fromErrno(errno, "home");
    return {};
}

} // namespace

Result<void> asUser(const SessionUser &user, const std::function<Result<void>()> &job)
{
    FsCredentials &credentials = credentialsOfThread();
    const DatabaseGroups groups(user);
    const Caller caller{user.uid, user.gid, 0, &groups};
    if (!credentials.assume(caller))
        return errors::accessDenied("a daemon of another user keeps no sessions for you");
    Result<void> outcome;
    credentials.alwaysWithGroups(caller, [&] {
        outcome = job();
        return 0;
    });
    credentials.assumeDaemon();
    return outcome;
}

Result<UniqueFd> openBelow(int parent, const std::string &name, OpenMode mode)
{
    UniqueFd fd(openDirectoryAt(parent, name));
    if (fd.isValid())
        return fd;
    if (errno != ENOENT || mode == OpenMode::Existing)
        return errors::fromErrno(errno, name);
    if (::mkdirat(parent, name.c_str(), kDirectoryMode) != 0 && errno != EEXIST)
        return errors::fromErrno(errno, name);
    if (::fsync(parent) != 0)
        return errors::fromErrno(errno, name);
    fd = openDirectoryAt(parent, name);
    if (!fd.isValid())
        return errors::fromErrno(errno, name);
    return fd;
}

Error openError(const SessionKey &key, const Error &error)
{
    return error.number() == ENOENT ? errors::notFound("no such session").withDetail(key.name) : error;
}

Result<UniqueFd> openSessions(const SessionPlace &place, const SessionKey &key, const SessionUser &user, OpenMode mode)
{
    if (key.scope == Scope::Private && mode == OpenMode::Create) {
        if (Result<void> made = makeHome(place, user); !made)
            return made.error();
    }
    UniqueFd fd(::open(place.installedTree.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd.isValid())
        return errors::fromErrno(errno, "the installed tree");
    const std::string path = sessionsDirectory(key);
    UniqueFd current = std::move(fd);
    const Result<void> walked = asUser(user, [&]() -> Result<void> {
        std::size_t depth = 0;
        for (std::size_t start = 0; start <= path.size(); ++depth) {
            const std::size_t slash = std::min(path.find('/', start), path.size());
            // home/<uid> and shared/<space> are made elsewhere, never on the way.
            Result<UniqueFd> next = openBelow(current.get(), path.substr(start, slash - start),
                                              depth < 2 ? OpenMode::Existing : mode);
            if (!next)
                return next.error();
            current = std::move(*next);
            start = slash + 1;
        }
        return {};
    });
    if (!walked)
        return walked.error();
    return current;
}

Result<SessionUser> keeperOfSpace(const SessionPlace &place, const std::string &space, const SessionUser &caller)
{
    const std::string path = place.installedTree + "/shared/" + space;
    struct stat info = {};
    const Result<void> allowed = asUser(caller, [&]() -> Result<void> {
        if (::fstatat(AT_FDCWD, path.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(info.st_mode))
            return errors::notFound("no such space").withDetail("shared/" + space);
        // AT_EACCESS: the identity that is assumed, not the process's own.
        if (::faccessat(AT_FDCWD, path.c_str(), W_OK | X_OK, AT_EACCESS) != 0)
            return errors::fromErrno(errno, "shared/" + space);
        return {};
    });
    if (!allowed)
        return allowed.error();
    return SessionUser{info.st_uid, info.st_gid};
}

Result<void> publishAt(int directory, const std::string &name, std::string_view text)
{
    // One writer holds the session, so one name will do; a leftover of a crash is written over.
    const std::string temporary = ".cortexfs-tmp-" + name;
    UniqueFd fd(
        ::openat(directory, temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, kFileMode));
    if (!fd.isValid())
        return errors::fromErrno(errno, name);
    Result<void> written = files::writeAll(fd.get(), text);
    if (written && ::renameat(directory, temporary.c_str(), directory, name.c_str()) != 0)
        written = errors::fromErrno(errno, name);
    if (!written)
        ::unlinkat(directory, temporary.c_str(), 0);
    return written;
}

} // namespace cortexfs::sessions
