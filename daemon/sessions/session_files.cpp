#include "daemon/sessions/session_files.h"

#include "common/base/clock.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/logging.h"
#include "common/base/utc_time.h"
#include "common/json/json.h"
#include "daemon/sessions/message_line.h"
#include "daemon/sessions/session_index.h"
#include "daemon/sessions/session_tree.h"

#include <algorithm>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

namespace cortexfs::sessions {

namespace {

// Ids of deltas are given out and not stored: after a crash the next id must be greater than any of them. A run has
// fewer events than this, and a session survives ten thousand crashes.
constexpr std::uint64_t kIdsOfARun = 100'000'000;

bool isJsonObject(std::string_view line)
{
    const Result<json::Document> document = json::parse(line);
    return document && document->root().isObject();
}

std::string stateLine(std::string_view word) { return std::string(word) + "\n"; }

} // namespace

struct SessionFiles::LastRun {
    std::optional<StoredRequest> request;
    std::uint64_t userId = 0;
};

std::uint64_t requestHash(std::string_view request)
{
    std::uint64_t hash = 14695981039346656037u;
    for (const char c : request)
        hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
    return hash;
}

SessionFiles::~SessionFiles() = default;

Result<std::unique_ptr<SessionFiles>> SessionFiles::open(const SessionPlace &place, const SessionKey &key,
                                                         const SessionUser &user, OpenMode mode)
{
    std::unique_ptr<SessionFiles> files(new SessionFiles);
    files->m_key = key;
    files->m_user = user;
    if (key.scope == Scope::Temp) {
        if (mode == OpenMode::Existing)
            return openError(key, errors::fromErrno(ENOENT, key.name));
        files->m_messages = std::make_unique<MemoryLineFile>(limits::kTempSession);
        files->m_events = std::make_unique<MemoryLineFile>(limits::kTempSession);
        return files;
    }
    if (Result<void> opened = files->openOnDisk(place, mode); !opened)
        return openError(key, opened.error());
    if (Result<void> repaired = files->repair(); !repaired)
        return repaired.error();
    files->markActive(false);
    for (const std::string &what : files->history().repairs)
        qCWarning(lcDaemon, "session %s of %s: %s", key.name.c_str(), key.object.c_str(), what.c_str());
    return files;
}

Result<void> SessionFiles::openOnDisk(const SessionPlace &place, OpenMode mode)
{
    m_activeFile = place.activeDirectory + "/" + shortHash(sessionsDirectory(m_key) + "/" + m_key.name);
    Result<UniqueFd> sessions = openSessions(place, m_key, m_user, mode);
    if (!sessions)
        return sessions.error();
    m_sessions = std::move(*sessions);
    return asUser(m_user, [&]() -> Result<void> {
        Result<UniqueFd> directory = openBelow(m_sessions.get(), m_key.name, mode);
        if (!directory)
            return directory.error();
        m_directory = std::move(*directory);
        if (::flock(m_directory.get(), LOCK_EX | LOCK_NB) != 0)
            return errors::busy("another process has the session").withDetail(m_key.name);
        const auto openFile = [&](std::unique_ptr<LineFile> &file, const char *name) -> Result<void> {
            Result<std::unique_ptr<LineFile>> opened = DiskLineFile::open(m_directory.get(), name);
            if (!opened)
                return opened.error();
            file = std::move(*opened);
            return {};
        };
        if (Result<void> opened = openFile(m_messages, "messages.jsonl"); !opened)
            return opened;
        if (Result<void> opened = openFile(m_events, "events.jsonl"); !opened)
            return opened;
        if (Result<std::string> cwd = files::readRegularAt(m_directory.get(), "cwd", limits::kControlFile))
            m_cwd = cwd->substr(0, cwd->find('\n'));
        if (Result<std::string> state = files::readRegularAt(m_directory.get(), "state", limits::kControlFile))
            m_history.state = state->substr(0, state->find('\n'));
        struct stat info = {};
        if (::fstatat(m_directory.get(), "meta.json", &info, AT_SYMLINK_NOFOLLOW) == 0)
            return {};
        const std::string now = utcTimestamp(systemClock().wallMs());
        json::Writer meta;
        meta.beginObject().field("schema", "cortexfs.session/v1").field("object", m_key.object);
        meta.field("session", m_key.name).field("created_at", now).endObject();
        publish("created_at", now + "\n");
        publish("updated_at", now + "\n");
        publish("state", stateLine("idle"));
        if (Result<void> written = publishAt(m_directory.get(), "meta.json", meta.text() + "\n"); !written)
            return written;
        return ::fsync(m_directory.get()) == 0 ? Result<void>() : errors::fromErrno(errno, "fsync");
    });
}

Result<void> SessionFiles::repair()
{
    if (Result<void> cut = cutTornLines(*m_messages, "messages.jsonl"); !cut)
        return cut;
    if (Result<void> cut = cutTornLines(*m_events, "events.jsonl"); !cut)
        return cut;
    Result<LastRun> last = readMessages();
    if (!last)
        return last.error();
    return closeIfOpen(*last);
}

Result<void> SessionFiles::cutTornLines(LineFile &file, const char *name)
{
    const std::uint64_t before = file.size();
    std::uint64_t end = 0;
    if (before > 0) {
        const Result<std::string> last = file.read(before - 1, 1);
        if (!last)
            return last.error();
        end = *last == "\n" ? before : 0;
    }
    if (end < before) {
        // The piece behind the last LF: found from the front of the block that holds it.
        std::uint64_t from = before;
        while (from > 0 && end == 0) {
            const std::uint64_t count = std::min<std::uint64_t>(from, limits::kFrame);
            const Result<std::string> block = file.read(from - count, static_cast<std::size_t>(count));
            if (!block)
                return block.error();
            const std::size_t at = block->rfind('\n');
            from -= count;
            if (at != std::string::npos)
                end = from + at + 1;
        }
        if (Result<void> cut = file.truncate(end); !cut)
            return cut;
    }
    // A block that never reached the disk reads as zeros, with or without an LF behind it.
    for (bool isTorn = true; isTorn && file.size() > 0;) {
        isTorn = false;
        std::uint64_t start = 0;
        const Result<void> read = forEachLineBackwards(file, [&](std::string_view line, std::uint64_t offset) {
            isTorn = !isJsonObject(line);
            start = offset;
            return false;
        });
        if (!read)
            return read;
        if (isTorn) {
            if (Result<void> cut = file.truncate(start); !cut)
                return cut;
        }
    }
    if (file.size() != before)
        m_history.repairs.push_back("cut " + std::to_string(before - file.size()) + " bytes of a torn line off "
                                    + name);
    return {};
}

Result<SessionFiles::LastRun> SessionFiles::readMessages()
{
    LastRun last;
    const Result<std::uint64_t> read = forEachLine(*m_messages, 0, [&](std::string_view line, std::uint64_t offset) {
        m_history.lastId = std::max(m_history.lastId, idOfLine(line).value_or(0));
        if (std::optional<StoredRequest> request = readUserLine(line)) {
            m_history.requests[requestHash(request->request)] = offset;
            last.userId = parseEventId(request->id).value_or(0);
            last.request = std::move(request);
        }
        return true;
    });
    if (!read)
        return read.error();
    return last;
}

Result<void> SessionFiles::closeIfOpen(const LastRun &last)
{
    bool isClosed = false;
    bool hasStart = false;
    std::uint64_t lastEvent = 0;
    const Result<void> read = forEachLineBackwards(*m_events, [&](std::string_view line, std::uint64_t) {
        const std::uint64_t id = idOfLine(line).value_or(0);
        lastEvent = std::max(lastEvent, id);
        if (!last.request || id < last.userId)
            return id == 0; // a line of somebody else's is passed over
        if (runOfLine(line) == last.request->run) {
            isClosed = isClosed || line.starts_with("{\"type\":\"done\"");
            hasStart = hasStart || line.starts_with("{\"type\":\"start\"");
        }
        return !isClosed;
    });
    if (!read)
        return read;
    m_history.lastId = std::max(m_history.lastId, lastEvent);
    if (!last.request || isClosed)
        return {};

    const std::string &run = last.request->run;
    std::string lines;
    if (!hasStart && last.userId > lastEvent) {
        abi::Event start = abi::events::start(run, m_key.object.substr(m_key.object.find('/') + 1));
        start.id = last.request->id;
        start.request = last.request->request;
        start.appendJson(lines);
        lines += '\n';
    }
    m_history.lastId += kIdsOfARun;
    abi::Event error = abi::events::error(run, makeError(EINTR, "the daemon ended during the run"));
    error.id = eventId(++m_history.lastId);
    error.appendJson(lines);
    lines += '\n';
    abi::Event done = abi::events::done(run, abi::RunStatus::Error);
    done.id = eventId(++m_history.lastId);
    done.request = last.request->request;
    done.appendJson(lines);
    lines += '\n';
    if (Result<void> written = m_events->append(lines); !written)
        return written;
    if (Result<void> synced = m_events->sync(); !synced)
        return synced;
    m_history.state = "error";
    m_history.repairs.push_back("closed the run " + run + ", which was cut short");
    return asUser(m_user, [&]() -> Result<void> {
        publish("state", stateLine("error"));
        return {};
    });
}

bool SessionFiles::isThere() const
{
    struct stat info = {};
    return !m_directory.isValid() || (::fstat(m_directory.get(), &info) == 0 && info.st_nlink > 0);
}

void SessionFiles::publish(const char *name, std::string_view text)
{
    if (!m_directory.isValid())
        return;
    if (const Result<void> written = publishAt(m_directory.get(), name, text); !written)
        qCWarning(lcDaemon, "session %s of %s: %s: %s", m_key.name.c_str(), m_key.object.c_str(), name,
                  written.error().text().c_str());
}

void SessionFiles::markActive(bool isActive) const
{
    if (m_activeFile.empty())
        return;
    if (!isActive) {
        ::unlink(m_activeFile.c_str());
        return;
    }
    const UniqueFd fd(::open(m_activeFile.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (fd.isValid())
        (void)files::writeAll(fd.get(), markText(m_key, m_user));
}

Result<void> SessionFiles::beginRun(std::string_view userLine, std::string_view cwd, std::int64_t wallMs)
{
    markActive(true);
    const std::uint64_t before = m_messages->size();
    Result<void> written = m_messages->append(userLine);
    if (written)
        written = m_messages->sync();
    if (!written) {
        // What was refused must not turn up later.
        (void)m_messages->truncate(before);
        markActive(false);
        return written;
    }
    m_history.state = "active";
    if (!m_directory.isValid())
        return {};
    return asUser(m_user, [&]() -> Result<void> {
        publish("state", stateLine("active"));
        if (!cwd.empty() && cwd != m_cwd) {
            m_cwd = cwd;
            publish("cwd", m_cwd + "\n");
        }
        noteUse(wallMs);
        return {};
    });
}

Result<void> SessionFiles::appendEvents(std::string_view lines) { return m_events->append(lines); }

Result<void> SessionFiles::endRun(const RunEnd &end, std::int64_t wallMs)
{
    if (!end.assistantLine.empty()) {
        if (Result<void> written = m_messages->append(end.assistantLine); !written)
            return written;
        if (Result<void> synced = m_messages->sync(); !synced)
            return synced;
    }
    if (Result<void> written = m_events->append(end.eventLines); !written)
        return written;
    if (Result<void> synced = m_events->sync(); !synced)
        return synced;
    m_history.state = end.state;
    if (m_directory.isValid()) {
        (void)asUser(m_user, [&]() -> Result<void> {
            if (!end.latest.empty())
                publish("latest.md", end.latest + (end.latest.ends_with('\n') ? "" : "\n"));
            publish("state", stateLine(end.state));
            publish("updated_at", utcTimestamp(wallMs) + "\n");
            return {};
        });
    }
    markActive(false);
    return {};
}

void SessionFiles::noteUse(std::int64_t wallMs) { noteSessionUse(m_sessions.get(), m_key.name, m_cwd, wallMs); }

} // namespace cortexfs::sessions
