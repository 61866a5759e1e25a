#include "daemon/fs/nodes/home/home_area.h"

#include "daemon/fs/backing/backed_area.h"

#include <cerrno>
#include <charconv>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cortexfs::fs::nodes {

std::optional<uid_t> parseUid(std::string_view name)
{
    uid_t uid = 0;
    const char *end = name.data() + name.size();
    const auto [stopped, error] = std::from_chars(name.data(), end, uid);
    if (name.empty() || error != std::errc() || stopped != end || uid == static_cast<uid_t>(-1))
        return std::nullopt;
    if (name.size() > 1 && name.front() == '0')
        return std::nullopt;
    return uid;
}

namespace {

class HomeArea : public BackedArea {
public:
    using BackedArea::BackedArea;

private:
    static bool mayEnter(const Caller &caller, uid_t home) { return caller.uid == 0 || caller.uid == home; }

    int admit(const Caller &caller, const BackedNode &node, Want want) override
    {
        if (!node.parent)
            return want == Want::Change ? EROFS : 0; // only lookups make a home, and nothing removes one
        return mayEnter(caller, node.home) ? 0 : EACCES;
    }

    ErrnoOr<Sighting> sight(const Caller &caller, BackedNode &parent, std::string_view name) override
    {
        const std::uint64_t area = std::uint64_t{m_context.tag} << 56;
        if (parent.parent)
            return Sighting{area | parent.home, 0, parent.home};
        const std::optional<uid_t> home = parseUid(name);
        if (!home)
            return Errno{ENOENT};
        if (const int error = prepare(caller, parent, *home, std::string(name)))
            return Errno{error};
        return Sighting{area | *home, 0, *home};
    }

    bool isListed(const Caller &caller, const BackedNode &directory, std::string_view name) const override
    {
        if (directory.parent)
            return true;
        const std::optional<uid_t> home = parseUid(name);
        return home && mayEnter(caller, *home);
    }

    // A home that is there already costs one fstatat; a half-made one (a crash between the two steps) is completed.
    int prepare(const Caller &caller, BackedNode &root, uid_t home, const std::string &name)
    {
        const ErrnoOr<int> fd = descriptor(root);
        if (!fd)
            return fd.error();
        m_credentials.assumeDaemon();
        struct stat info = {};
        if (::fstatat(*fd, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) {
            if (!S_ISDIR(info.st_mode))
                return ENOENT;
            const bool isHalfMade = m_credentials.canSwitch() && info.st_uid == m_context.owner.uid
                                    && info.st_uid != home;
            return isHalfMade ? giveTo(caller, *fd, name, home) : 0;
        }
        if (errno != ENOENT || !mayEnter(caller, home))
            return errno;
        if (!m_credentials.canSwitch() && home != m_context.owner.uid)
            return ENOENT; // a user's daemon can make nobody else's home
        if (::mkdirat(*fd, name.c_str(), 0700) != 0 && errno != EEXIST)
            return errno;
        return m_credentials.canSwitch() ? giveTo(caller, *fd, name, home) : 0;
    }

    // The group is the caller's when the user asks; for root's sake there is none to know, and 0700 makes it irrelevant.
    int giveTo(const Caller &caller, int root, const std::string &name, uid_t home)
    {
        const gid_t group = caller.uid == home ? caller.gid : static_cast<gid_t>(home);
        return ::fchownat(root, name.c_str(), home, group, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : errno;
    }
};

Result<std::unique_ptr<Area>> make(const AreaContext &context)
{
    auto area = std::make_unique<HomeArea>(context, "home");
    if (Result<void> opened = area->openRoot(); !opened)
        return opened.error();
    return std::unique_ptr<Area>(std::move(area));
}

} // namespace

AreaDescriptor homeArea() { return {"home", 4, &make}; }

} // namespace cortexfs::fs::nodes
