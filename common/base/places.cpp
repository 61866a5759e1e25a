#include "common/base/places.h"

#include "common/base/files.h"

#include <cstdlib>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cortexfs {

namespace {

std::string absolute(std::string path, const std::string &cwd)
{
    if (path.front() != '/')
        path = cwd + "/" + path;
    std::string out;
    std::size_t i = 0;
    while (i < path.size()) {
        while (i < path.size() && path[i] == '/')
            ++i;
        const std::size_t end = std::min(path.find('/', i), path.size());
        const std::string part = path.substr(i, end - i);
        if (!part.empty() && part != ".")
            out += "/" + part; // ".." stays: removing it by text would be wrong behind a link
        i = end;
    }
    return out.empty() ? "/" : out;
}

// As in a shell, an empty variable is an unset one.
std::optional<std::string> setVariable(const Environment &environment, const char *name)
{
    const std::string value = environment(name).value_or(std::string());
    if (value.empty())
        return std::nullopt;
    return value;
}

// The XDG rule, which is right for HOME too: a value that is no absolute path is as good as unset.
std::optional<std::string> absoluteVariable(const Environment &environment, const char *name)
{
    const std::string value = environment(name).value_or(std::string());
    if (!value.starts_with('/'))
        return std::nullopt;
    return value;
}

} // namespace

Environment processEnvironment()
{
    return [](const char *name) -> std::optional<std::string> {
        const char *value = std::getenv(name);
        if (!value || !*value)
            return std::nullopt;
        return std::string(value);
    };
}

Result<Places> resolvePlaces(const PlaceOptions &options, const Environment &environment, uid_t uid,
                             const std::string &cwd)
{
    Places places;
    places.mode = options.mode.value_or(uid == 0 ? Mode::System : Mode::User);

    const auto home = absoluteVariable(environment, "HOME");
    const auto xdg = [&](const char *variable, const char *below) -> std::optional<std::string> {
        if (const auto value = absoluteVariable(environment, variable))
            return *value + "/cortexfs";
        if (home)
            return *home + below + "/cortexfs";
        return std::nullopt;
    };
    const auto runtimeDefault = [&]() -> std::string {
        if (const auto value = absoluteVariable(environment, "XDG_RUNTIME_DIR"))
            return *value + "/cortexfs";
        return "/tmp/cortexfs-" + std::to_string(uid);
    };
    const bool system = places.mode == Mode::System;

    struct Row {
        const char *what;
        const std::optional<std::string> &option;
        const char *variable;
        std::optional<std::string> fallback;
        std::string *target;
    };
    const Row rows[] = {
        {"config", options.config, "CORTEXFS_CONFIG_DIR",
         system ? std::optional<std::string>("/etc/cortexfs") : xdg("XDG_CONFIG_HOME", "/.config"), &places.config},
        {"state", options.state, "CORTEXFS_STATE_DIR",
         system ? std::optional<std::string>("/var/lib/cortexfs") : xdg("XDG_DATA_HOME", "/.local/share"),
         &places.state},
        {"runtime", options.runtime, "CORTEXFS_RUNTIME_DIR",
         system ? std::optional<std::string>("/run/cortexfs") : std::optional<std::string>(runtimeDefault()),
         &places.runtime},
        {"mount", options.mount, "CTX_ROOT", system ? std::optional<std::string>("/ctx") : std::optional<std::string>(),
         &places.mount},
    };
    for (const Row &row : rows) {
        std::optional<std::string> value = row.option;
        if (!value)
            value = setVariable(environment, row.variable);
        if (!value)
            value = row.fallback;
        if (!value && row.target == &places.mount)
            value = places.runtime + "/ctx"; // follows a runtime directory that was given
        if (!value)
            return errors::invalid(std::string("no ") + row.what + " directory: HOME is not set");
        if (value->empty())
            return errors::invalid(std::string("the ") + row.what + " directory is empty");
        if (value->find('\0') != std::string::npos)
            return errors::invalid(std::string("the ") + row.what + " directory holds a NUL");
        *row.target = absolute(std::move(*value), cwd);
    }
    return places;
}

bool isUnderMount(const Places &places, const std::string &path)
{
    if (!path.starts_with(places.mount))
        return false;
    if (places.mount == "/")
        return true;
    return path.size() == places.mount.size() || path[places.mount.size()] == '/';
}

Result<void> prepareRuntimeDir(const Places &places, uid_t uid)
{
    const mode_t mode = places.mode == Mode::System ? 0755 : 0700;
    if (Result<void> made = files::makeDirectories(places.runtime, mode); !made)
        return made;
    struct stat info = {};
    if (::lstat(places.runtime.c_str(), &info) != 0)
        return errors::fromErrno(errno, places.runtime);
    if (!S_ISDIR(info.st_mode))
        return errors::accessDenied("not a directory").withDetail(places.runtime);
    if (info.st_uid != uid) {
        return errors::accessDenied("owned by uid " + std::to_string(info.st_uid) + ", not by uid "
                                    + std::to_string(uid))
            .withDetail(places.runtime);
    }
    // Who may write there could put another socket in the place of ours. A sticky directory does not let them.
    if ((info.st_mode & 022) != 0 && (info.st_mode & S_ISVTX) == 0)
        return errors::accessDenied("writable by others; try: chmod go-w").withDetail(places.runtime);
    return {};
}

} // namespace cortexfs
