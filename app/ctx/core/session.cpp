#include "app/ctx/core/session.h"

#include "app/ctx/core/mount_watch.h"
#include "app/ctx/core/programs.h"
#include "app/ctx/core/text.h"
#include "common/abi/xattr_names.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cortexfs::ctx {

namespace {

constexpr std::chrono::milliseconds kPlaceTime{3'000};
constexpr char kSystemSocket[] = "/run/cortexfs/control.sock";

// HOME from the user database where the environment has none (a service, `env -i`), and no places from the environment
// where an option has named the mode.
Environment prepared(const Environment &environment, bool hasMode)
{
    return [environment, hasMode](const char *name) -> std::optional<std::string> {
        const std::string_view wanted = name;
        if (hasMode && (wanted == "CTX_ROOT" || wanted == "CORTEXFS_RUNTIME_DIR"))
            return std::nullopt;
        auto value = environment(name);
        if (!value && wanted == "HOME") {
            if (const passwd *entry = ::getpwuid(::geteuid()))
                value = entry->pw_dir;
        }
        return value;
    };
}

bool exists(const std::string &path)
{
    struct stat info = {};
    return ::lstat(path.c_str(), &info) == 0;
}

std::string currentDirectory()
{
    char *text = ::getcwd(nullptr, 0);
    std::string out = text ? text : "/";
    ::free(text);
    return out;
}

} // namespace

Result<Session> Session::create(const GlobalOptions &options, const Environment &environment, Output &out)
{
    const Environment usable = prepared(environment, options.places.mode.has_value());
    const std::string cwd = currentDirectory();
    Result<Places> places = resolvePlaces(options.places, usable, ::geteuid(), cwd);
    if (!places)
        return places.error();
    const bool hasRoot = options.places.mount || usable("CTX_ROOT");
    const bool hasRuntime = options.places.runtime || usable("CORTEXFS_RUNTIME_DIR");
    const bool isFree = !hasRoot && !hasRuntime && !options.places.mode && places->mode == Mode::User;
    if (isFree && !exists(places->controlSocket()) && exists(kSystemSocket)) {
        PlaceOptions system = options.places;
        system.mode = Mode::System;
        places = resolvePlaces(system, usable, ::geteuid(), cwd);
        if (!places)
            return places.error();
    }
    Session session(std::move(*places), usable, out);
    session.m_hasRoot = hasRoot;
    session.m_hasRuntime = hasRuntime;
    return session;
}

std::string Session::controlSocket()
{
    if (m_socket)
        return *m_socket;
    m_socket = m_places.controlSocket();
    if (m_hasRoot && !m_hasRuntime) {
        MountWatch watch(m_places.mount, kMountTime);
        if (const auto told = readXattr(m_places.mount, abi::xattr::kControl); told && told->starts_with('/'))
            m_socket = *told;
    }
    return *m_socket;
}

std::string Session::mount()
{
    if (m_mount)
        return *m_mount;
    m_mount = m_places.mount;
    if (m_hasRuntime && !m_hasRoot) {
        if (const Result<json::Document> status = ask("status", {}, kPlaceTime)) {
            const std::string_view told = status->root()["mount"].stringOr("");
            if (told.starts_with('/'))
                m_mount = std::string(told);
        }
    }
    return *m_mount;
}

std::string Session::startHint() const
{
    const bool isSystem = m_places.mode == Mode::System;
    if (isSystem && !m_hasRuntime && !m_hasRoot && exists("/run/systemd/system")) {
        for (const char *unit : {"/etc/systemd/system/cortexd.service", "/usr/lib/systemd/system/cortexd.service"}) {
            if (exists(unit))
                return "start it with: systemctl start cortexd";
        }
    }
    std::string command = daemonCommand(m_environment);
    if (isSystem != (::geteuid() == 0))
        command += isSystem ? " --system" : " --user";
    if (m_hasRuntime)
        command += " --runtime " + shellWord(m_places.runtime);
    if (m_hasRoot)
        command += " --mount " + shellWord(m_places.mount);
    return "start it with: " + command + " &";
}

Result<control::Client> Session::connect(std::chrono::milliseconds time)
{
    Result<control::Client> client = control::Client::connect(controlSocket(), time);
    if (client)
        return client;
    const Error &error = client.error();
    switch (error.number()) {
    case EHOSTDOWN:
        return errors::hostDown("cortexd is not running (nothing listens on " + controlSocket() + "); " + startHint());
    case EACCES:
        return errors::accessDenied("no access to " + controlSocket()
                                    + ": this cortexd belongs to another user; use --system, --user or --runtime");
    case ETIMEDOUT:
        return errors::timedOut("cortexd does not accept connections on " + controlSocket()
                                + "; it may be stopped or stuck: see its log");
    default: return error;
    }
}

Result<json::Document> Session::ask(std::string_view op, std::string_view members, std::chrono::milliseconds time)
{
    Result<control::Client> client = connect(time);
    if (!client)
        return client.error();
    return client->call(op, members, time);
}

std::string_view membersOf(std::string_view objectJson)
{
    objectJson.remove_prefix(1);
    objectJson.remove_suffix(1);
    return objectJson;
}

std::string factsJson(const json::Value &result)
{
    json::Writer writer;
    writer.beginObject();
    for (const json::Member &member : result.members()) {
        if (member.key != "id" && member.key != "type")
            writer.key(member.key).value(member.value);
    }
    writer.endObject();
    return writer.take();
}

} // namespace cortexfs::ctx
