#include "daemon/sessions/session_index.h"

#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/logging.h"
#include "common/base/utc_time.h"
#include "common/json/json.h"
#include "daemon/sessions/session_tree.h"

#include <QCryptographicHash>

#include <algorithm>
#include <mutex>
#include <set>

#include <dirent.h>
#include <fcntl.h>

namespace cortexfs::sessions {

namespace {

constexpr std::uint64_t kCompactStep = 64 * limits::kKiB; // how often the list is looked through
// A page of a listing fits into a frame, also when every byte of a directory's name takes six in JSON.
constexpr std::size_t kPageBytes = limits::kFrame / 8;
constexpr std::size_t kEntryBytes = 256;
constexpr std::size_t kShownLine = 4 * limits::kKiB;
constexpr std::size_t kSparePart = 2; // lines a session, before it is made short

std::string_view nameOf(std::string_view line) { return line.substr(line.find('\t') + 1); }

// Names by their newest use, newest first, with that line.
Result<void> forEachUse(const LineFile &list,
                        const std::function<bool(std::string_view name, std::string_view line)> &visit)
{
    std::set<std::string, std::less<>> seen;
    return forEachLineBackwards(list, [&](std::string_view line, std::uint64_t) {
        const std::string_view name = nameOf(line);
        if (!checkSessionName(name) || !seen.emplace(name).second)
            return true;
        return visit(name, line);
    });
}

Result<void> compact(int index, const LineFile &list)
{
    std::size_t lines = 0;
    const Result<std::uint64_t> counted = forEachLine(list, 0, [&](std::string_view, std::uint64_t) {
        ++lines;
        return true;
    });
    if (!counted)
        return counted.error();
    std::vector<std::string> uses;
    const Result<void> read = forEachUse(list, [&](std::string_view, std::string_view line) {
        uses.emplace_back(line);
        return true;
    });
    if (!read || lines < kSparePart * uses.size())
        return read;
    std::string text;
    for (auto line = uses.rbegin(); line != uses.rend(); ++line)
        text += *line + "\n";
    return publishAt(index, "list", text);
}

Result<void> noteUse(int sessions, const std::string &name, const std::string &cwd, std::int64_t wallMs)
{
    Result<UniqueFd> index = openBelow(sessions, "index", OpenMode::Create);
    if (!index)
        return index.error();
    // Other sessions of the object note their use at the same time: a line must not go into a list that is being replaced.
    // Not a lock on the file: its owner could hold that and with it our threads.
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    Result<std::unique_ptr<LineFile>> list = DiskLineFile::open(index->get(), "list");
    if (!list)
        return list.error();
    const std::uint64_t before = (*list)->size();
    if (Result<void> noted = (*list)->append(utcTimestamp(wallMs) + "\t" + name + "\n"); !noted)
        return noted;
    if (before / kCompactStep != (*list)->size() / kCompactStep) {
        if (Result<void> shortened = compact(index->get(), **list); !shortened)
            return shortened;
    }
    if (Result<void> written = publishAt(index->get(), "current", name + "\n"); !written)
        return written;
    if (cwd.empty())
        return {};
    Result<UniqueFd> byCwd = openBelow(index->get(), "by-cwd", OpenMode::Create);
    if (!byCwd)
        return byCwd.error();
    return publishAt(byCwd->get(), shortHash(cwd), name + "\n");
}

std::string firstLine(int directory, const char *name)
{
    const Result<std::string> text = files::readRegularAt(directory, name, limits::kControlFile);
    return text ? json::toValidUtf8(std::string_view(*text).substr(0, std::min(text->find('\n'), kShownLine))) : "";
}

std::optional<std::pair<SessionKey, SessionUser>> readMark(std::string_view text)
{
    const Result<json::Document> document = json::parse(text);
    if (!document)
        return std::nullopt;
    const json::Value root = document->root();
    SessionKey key;
    key.object = root["object"].stringOr("");
    key.scope = root["space"].isString() ? Scope::Shared : Scope::Private;
    key.space = root["space"].stringOr("");
    key.name = root["session"].stringOr("");
    key.uid = static_cast<uid_t>(root["uid"].asInt().value_or(0));
    if (key.object.empty() || !checkSessionName(key.name))
        return std::nullopt;
    const SessionUser user{static_cast<uid_t>(root["user"].asInt().value_or(0)),
                           static_cast<gid_t>(root["group"].asInt().value_or(0))};
    return std::pair(key, user);
}

} // namespace

std::string shortHash(std::string_view text)
{
    QCryptographicHash hash(QCryptographicHash::Sha256);
    hash.addData(QByteArrayView(text.data(), static_cast<qsizetype>(text.size())));
    return hash.result().toHex().left(16).toStdString();
}

void noteSessionUse(int sessions, const std::string &name, const std::string &cwd, std::int64_t wallMs)
{
    if (const Result<void> noted = noteUse(sessions, name, cwd, wallMs); !noted)
        qCWarning(lcDaemon, "index of sessions: %s", noted.error().text().c_str());
}

std::string markText(const SessionKey &key, const SessionUser &user)
{
    json::Writer writer;
    writer.beginObject().field("object", key.object).field("session", key.name);
    if (key.scope == Scope::Shared)
        writer.field("space", key.space);
    writer.field("uid", std::int64_t{key.uid}).field("user", std::int64_t{user.uid});
    writer.field("group", std::int64_t{user.gid}).endObject();
    return writer.take();
}

std::vector<std::pair<SessionKey, SessionUser>> unfinishedSessions(const SessionPlace &place)
{
    std::vector<std::pair<SessionKey, SessionUser>> found;
    DIR *stream = ::opendir(place.activeDirectory.c_str());
    if (!stream)
        return found;
    while (const dirent *entry = ::readdir(stream)) {
        const std::string name(entry->d_name);
        if (name == "." || name == "..")
            continue;
        const Result<std::string> text = files::readRegularAt(::dirfd(stream), name, limits::kControlFile);
        ::unlinkat(::dirfd(stream), name.c_str(), 0);
        if (std::optional<std::pair<SessionKey, SessionUser>> mark = text ? readMark(*text) : std::nullopt)
            found.push_back(std::move(*mark));
    }
    ::closedir(stream);
    return found;
}

Result<SessionPage> listSessions(const SessionPlace &place, const SessionKey &object, const SessionUser &user,
                                 const std::string &after, std::size_t most)
{
    SessionPage page;
    std::size_t bytes = 0;
    bool isBehind = after.empty();
    Result<UniqueFd> sessions = openSessions(place, object, user, OpenMode::Existing);
    if (!sessions) {
        if (sessions.error().number() == ENOENT)
            return page;
        return sessions.error();
    }
    const Result<void> read = asUser(user, [&]() -> Result<void> {
        Result<UniqueFd> index = openBelow(sessions->get(), "index", OpenMode::Existing);
        if (!index)
            return index.error().number() == ENOENT ? Result<void>() : index.error();
        Result<std::unique_ptr<LineFile>> list = DiskLineFile::openExisting(index->get(), "list");
        if (!list)
            return list.error();
        return forEachUse(**list, [&](std::string_view name, std::string_view) {
            if (!isBehind) {
                isBehind = name == after;
                return true;
            }
            const Result<UniqueFd> session = openBelow(sessions->get(), std::string(name), OpenMode::Existing);
            if (!session)
                return true; // removed since
            page.hasMore = page.sessions.size() == most || bytes > kPageBytes;
            if (page.hasMore)
                return false;
            const int directory = session->get();
            page.sessions.push_back({std::string(name), firstLine(directory, "state"),
                                     firstLine(directory, "created_at"), firstLine(directory, "updated_at"),
                                     firstLine(directory, "cwd")});
            bytes += kEntryBytes + page.sessions.back().cwd.size();
            return true;
        });
    });
    if (!read)
        return read.error();
    return page;
}

namespace {

// Runs `job` with the directory of a session, as its user.
Result<void> inSession(const SessionPlace &place, const SessionKey &key, const SessionUser &user,
                       const std::function<Result<void>(int directory)> &job)
{
    const Result<UniqueFd> sessions = openSessions(place, key, user, OpenMode::Existing);
    if (!sessions)
        return openError(key, sessions.error());
    return asUser(user, [&]() -> Result<void> {
        const Result<UniqueFd> directory = openBelow(sessions->get(), key.name, OpenMode::Existing);
        if (!directory)
            return openError(key, directory.error());
        return job(directory->get());
    });
}

} // namespace

Result<std::unique_ptr<LineFile>> openForReading(const SessionPlace &place, const SessionKey &key,
                                                 const SessionUser &user, const char *name)
{
    std::unique_ptr<LineFile> file;
    const Result<void> opened = inSession(place, key, user, [&](int directory) -> Result<void> {
        Result<std::unique_ptr<LineFile>> lines = DiskLineFile::openExisting(directory, name);
        if (!lines)
            return lines.error();
        file = std::move(*lines);
        return {};
    });
    if (!opened)
        return opened.error();
    return file;
}

Result<std::string> readLatest(const SessionPlace &place, const SessionKey &key, const SessionUser &user,
                               std::size_t most)
{
    std::string text;
    const Result<void> read = inSession(place, key, user, [&](int directory) -> Result<void> {
        Result<std::string> latest = files::readRegularAt(directory, "latest.md", most);
        if (!latest)
            return latest.error();
        text = std::move(*latest);
        return {};
    });
    if (!read)
        return read.error();
    return text;
}

} // namespace cortexfs::sessions
