#include "app/ctx/core/tree.h"

#include "app/ctx/core/mount_watch.h"
#include "app/ctx/core/text.h"
#include "common/base/limits.h"

#include <algorithm>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

namespace cortexfs::ctx {

namespace {

constexpr std::chrono::milliseconds kDiagnosisTime{1'000};

std::string readLink(int directory, const char *name)
{
    std::string target(4096, '\0');
    const ssize_t size = ::readlinkat(directory, name, target.data(), target.size());
    target.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return target;
}

std::optional<std::string> workingDirectory()
{
    char *text = ::getcwd(nullptr, 0);
    if (!text)
        return std::nullopt;
    std::string out = text;
    ::free(text);
    return out;
}

bool isBelow(std::string_view path, std::string_view root)
{
    return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/' || root == "/");
}

} // namespace

Result<std::string> Tree::pathOf(std::string_view text) const
{
    std::string absoluteText(text);
    const bool isHere = text == "." || text == ".." || text.starts_with("./") || text.starts_with("../");
    if (isHere) {
        const auto cwd = workingDirectory();
        if (!cwd)
            return errors::notFound("the working directory is gone");
        absoluteText = *cwd + "/" + absoluteText;
    }
    std::string_view rest = absoluteText;
    std::string outside = std::string(text) + " is not below " + m_mount + ", where the tree is";
    if (rest.starts_with('/') && !isBelow(rest, m_mount) && !isHere)
        return errors::invalid(std::move(outside));
    // ".." is resolved before the mount is cut off, so that it can lead into the mount but not out of it.
    std::vector<std::string_view> parts;
    const std::string full = rest.starts_with('/') ? std::string(rest) : m_mount + "/" + std::string(rest);
    std::string_view walk = full;
    while (!walk.empty()) {
        const std::size_t slash = std::min(walk.find('/'), walk.size());
        const std::string_view part = walk.substr(0, slash);
        walk.remove_prefix(std::min(slash + 1, walk.size()));
        if (part == "..") {
            if (!parts.empty())
                parts.pop_back();
        } else if (!part.empty() && part != ".") {
            parts.push_back(part);
        }
    }
    std::string made;
    for (const std::string_view part : parts)
        made += "/" + std::string(part);
    if (!isBelow(made, m_mount) || made.find('\0') != std::string::npos)
        return errors::invalid(std::move(outside));
    made.erase(0, std::min(made.size(), m_mount.size() + (m_mount == "/" ? 0 : 1)));
    return made;
}

Result<TreeEntry> Tree::entry(const std::string &path) const
{
    TreeEntry found;
    found.path = path;
    found.name = path.substr(path.rfind('/') + 1);
    int failure = 0;
    {
        const MountWatch watch(m_mount, kMountTime);
        if (::lstat(absolute(path).c_str(), &found.info) == 0) {
            if (S_ISLNK(found.info.st_mode))
                found.target = readLink(AT_FDCWD, absolute(path).c_str());
            return found;
        }
        failure = errno;
    }
    return explain(failure, path);
}

bool Tree::exists(const std::string &path) const
{
    const MountWatch watch(m_mount, kMountTime);
    struct stat info = {};
    return ::lstat(absolute(path).c_str(), &info) == 0;
}

Result<std::vector<TreeEntry>> Tree::list(const std::string &path) const
{
    std::vector<TreeEntry> entries;
    int failure = 0;
    {
        const MountWatch watch(m_mount, kMountTime);
        DIR *directory = ::opendir(absolute(path).c_str());
        if (!directory) {
            failure = errno;
        } else {
            errno = 0;
            while (const dirent *item = ::readdir(directory)) {
                const std::string_view name = item->d_name;
                if (name == "." || name == "..")
                    continue;
                TreeEntry entry;
                entry.name = name;
                entry.path = path.empty() ? entry.name : path + "/" + entry.name;
                // An entry that went away meanwhile is no longer part of the listing.
                if (::fstatat(::dirfd(directory), item->d_name, &entry.info, AT_SYMLINK_NOFOLLOW) == 0) {
                    if (S_ISLNK(entry.info.st_mode))
                        entry.target = readLink(::dirfd(directory), item->d_name);
                    entries.push_back(std::move(entry));
                }
                errno = 0;
            }
            failure = errno;
            ::closedir(directory);
        }
    }
    if (failure != 0)
        return explain(failure, path);
    std::sort(entries.begin(), entries.end(), [](const TreeEntry &a, const TreeEntry &b) { return a.name < b.name; });
    return entries;
}

Result<UniqueFd> Tree::open(const std::string &path, int flags) const
{
    int failure = 0;
    {
        const MountWatch watch(m_mount, kMountTime);
        // O_NONBLOCK: a FIFO in a home directory must not hang us.
        UniqueFd file(::open(absolute(path).c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0644));
        failure = errno;
        struct stat info = {};
        if (file.isValid() && ::fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode))
            return file;
        if (file.isValid())
            failure = S_ISDIR(info.st_mode) ? EISDIR : EINVAL;
    }
    return explain(failure, path);
}

Result<std::string> Tree::readPiece(const UniqueFd &file, const std::string &path) const
{
    std::string piece(limits::kMiB, '\0');
    ssize_t count = 0;
    int failure = 0;
    {
        const MountWatch watch(m_mount, kMountTime);
        do {
            count = ::read(file.get(), piece.data(), piece.size());
        } while (count < 0 && errno == EINTR);
        failure = errno;
    }
    if (count < 0)
        return explain(failure, path);
    piece.resize(static_cast<std::size_t>(count));
    return piece;
}

Result<std::string> Tree::read(const std::string &path, std::size_t most) const
{
    const Result<UniqueFd> file = open(path, O_RDONLY);
    if (!file)
        return file.error();
    std::string text;
    while (text.size() < most) {
        Result<std::string> piece = readPiece(*file, path);
        if (!piece)
            return piece;
        if (piece->empty())
            break;
        text += *piece;
    }
    text.resize(std::min(text.size(), most));
    return text;
}

std::optional<std::string> Tree::linkPath(const TreeEntry &entry) const
{
    if (entry.target.empty())
        return std::nullopt;
    const std::string parent = parentOf(entry.path);
    const std::string target = entry.target.starts_with('/')
                                   ? entry.target
                                   : absolute(parent.empty() ? entry.target : parent + "/" + entry.target);
    const Result<std::string> path = pathOf(target);
    return path ? std::optional(*path) : std::nullopt;
}

Error Tree::explain(int number, const std::string &path) const
{
    const std::string shown = path.empty() ? m_mount : path;
    const auto says = [&](std::string text) { return makeError(number, std::move(text), shown); };
    switch (number) {
    case ENOENT: return explainAbsent(path);
    case ENOTCONN:
        return makeError(number,
                         "the mount is dead, its cortexd was killed; a new start recovers it, " + m_session.startHint(),
                         m_mount);
    case EROFS: return says("read-only: it cannot be changed through the tree, by nobody");
    case EACCES:
    case EPERM: return says("permission denied for this user");
    case EISDIR: return says("is a directory; list it with: ctx ls " + shellWord(shown));
    case ENOTDIR: return says("not a directory");
    case ELOOP: return says("a link that leads nowhere or in a circle");
    case EMSGSIZE: return says("too long: a control file holds at most 64 KiB");
    case EINVAL: return says("refused: not a value for this file");
    case ETIMEDOUT: return says("cortexd did not answer in time");
    default: return errors::fromErrno(number, shown);
    }
}

Error Tree::explainAbsent(const std::string &path) const
{
    struct stat info = {};
    if (::lstat(absolute("status").c_str(), &info) == 0) {
        const std::string parent = parentOf(path);
        return errors::notFound("no such file or object; \"ctx ls" + (parent.empty() ? "" : " " + shellWord(parent))
                                + "\" shows what is there")
            .withDetail(path);
    }
    const Result<json::Document> status = m_session.ask("status", {}, kDiagnosisTime);
    if (!status)
        return status.error();
    const json::Value facts = status->root();
    if (facts["fuse"].asBool() == false)
        return makeError(ENODEV,
                         "cortexd runs without a mount (--no-fuse); \"ctx model ls\" and \"ctx exec\" work all the "
                         "same");
    const std::string told(facts["mount"].stringOr(""));
    if (!told.empty() && told != m_mount)
        return makeError(ENODEV,
                         "the tree is not at " + m_mount + " but at " + told + "; use --root " + shellWord(told));
    return makeError(ENODEV,
                     "cortexd runs, but its tree is not visible here: mounted in another namespace, or "
                     "detached; \"ctx doctor\" tells more",
                     m_mount);
}

std::string parentOf(const std::string &path)
{
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

std::string kindOf(const TreeEntry &entry)
{
    const mode_t mode = entry.info.st_mode;
    const std::string_view path = entry.path;
    const std::string parent = parentOf(entry.path);
    const std::string top(path.substr(0, path.find('/')));
    const auto depth = 1 + std::count(path.begin(), path.end(), '/');
    const bool isObjectPlace = (top == "model" && depth == 3) || ((top == "agent" || top == "tool") && depth == 2);
    if (path.ends_with(".sock") && !S_ISDIR(mode) && (isObjectPlace || S_ISSOCK(mode)))
        return "socket";
    if (S_ISLNK(mode))
        return top == "model" && depth == 2 ? "alias" : "link";
    if (S_ISDIR(mode)) {
        if (path.ends_with(".d") && isObjectPlace)
            return "control directory";
        return top == "model" && depth == 2 ? "provider" : "directory";
    }
    if (isObjectPlace && (mode & 0111) != 0)
        return top;
    const std::string_view holder = std::string_view(parent);
    const bool isControl = (holder.ends_with(".d") && (top == "model" || top == "agent" || top == "tool"))
                           || path == "model/route";
    return isControl ? "control" : "file";
}

} // namespace cortexfs::ctx
