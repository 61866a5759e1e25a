// The files of one session (decisions, section 9), or its memory when it is a temp one. Blocking: used by jobs of the
// session's strand only, one at a time.
//
//   <sessions>/<name>/   messages.jsonl events.jsonl latest.md state cwd created_at updated_at meta.json
//   <sessions>/index/    list current by-cwd/<first 16 hex digits of the directory's SHA-256>
//
// Everything below the installed tree is opened component by component without following links, as the user whose session
// it is: a home is the user's own and may hold anything. Files 0600, directories 0700.
#pragma once

#include "common/base/unique_fd.h"
#include "daemon/identity/credentials.h"
#include "daemon/sessions/line_file.h"
#include "daemon/sessions/session_key.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cortexfs::sessions {

// Where sessions are stored. One for the daemon.
struct SessionPlace {
    std::string installedTree;
    // Of the daemon's own, 0700: a file for every session with a run. What a start finds there was cut short.
    std::string activeDirectory;
};

// Whom the kernel asks. Groups come from the group database.
struct SessionUser {
    uid_t uid = 0;
    gid_t gid = 0;
};

// What a session knows of itself when it was opened.
struct SessionHistory {
    std::uint64_t lastId = 0; // no greater id was given out
    // Where the user line of a request is: hash of the request's id -> offset in messages.jsonl.
    std::unordered_map<std::uint64_t, std::uint64_t> requests;
    std::string state = "idle";
    std::vector<std::string> repairs; // what was mended, as sentences
};

enum class OpenMode { Existing, Create };

class SessionFiles {
public:
    // Opens, repairs what a crash left (a torn last line, a run without its end) and locks the session against other
    // processes. ENOENT when it is to exist and does not; EBUSY when another process has it; EACCES, EROFS, ENOSPC, ELOOP
    // as the kernel says.
    static Result<std::unique_ptr<SessionFiles>> open(const SessionPlace &place, const SessionKey &key,
                                                      const SessionUser &user, OpenMode mode);
    ~SessionFiles();

    const SessionHistory &history() const { return m_history; }
    LineFile &messages() { return *m_messages; }
    LineFile &events() { return *m_events; }
    // False once somebody removed the session's directory: what is written now would be lost.
    bool isThere() const;

    // The user line is on the disk when this returns; the session shows as active.
    Result<void> beginRun(std::string_view userLine, std::string_view cwd, std::int64_t wallMs);
    struct RunEnd {
        std::string assistantLine; // or empty
        std::string eventLines;    // the last of them is done
        std::string state;         // done error cancelled
        std::string latest;        // text of the answer, or empty
    };
    // Messages and events are on the disk when this returns; the other files follow as far as they can.
    Result<void> endRun(const RunEnd &end, std::int64_t wallMs);
    // Appends events of a live run; they are on the disk with the next endRun().
    Result<void> appendEvents(std::string_view lines);

private:
    SessionFiles() = default;
    Result<void> openOnDisk(const SessionPlace &place, OpenMode mode);
    Result<void> repair();
    Result<void> cutTornLines(LineFile &file, const char *name);
    struct LastRun; // the newest one, as messages.jsonl knows it
    Result<LastRun> readMessages();
    Result<void> closeIfOpen(const LastRun &run);
    void publish(const char *name, std::string_view text);
    void noteUse(std::int64_t wallMs);
    void markActive(bool isActive) const;

    SessionKey m_key;
    SessionUser m_user;
    std::string m_activeFile;
    UniqueFd m_sessions;  // the directory of all sessions of the object
    UniqueFd m_directory; // this one; holds the lock
    std::unique_ptr<LineFile> m_messages;
    std::unique_ptr<LineFile> m_events;
    std::string m_cwd;
    SessionHistory m_history;
};

// FNV-1a of a request's id: equal ids are told apart by their line.
std::uint64_t requestHash(std::string_view request);

// The sessions that had a run when the daemon ended without finishing it. Asked once: the marks are gone afterwards, and a
// session that is not opened now is repaired when it is.
std::vector<std::pair<SessionKey, SessionUser>> unfinishedSessions(const SessionPlace &place);

// One line of a listing.
struct SessionSummary {
    std::string session, state, createdAt, updatedAt, cwd;
};
struct SessionPage {
    std::vector<SessionSummary> sessions;
    bool hasMore = false;
};
// Newest use first, those behind the session `after` (all when it is empty), at most `most` and what fits into a frame. An
// object without sessions has an empty page.
Result<SessionPage> listSessions(const SessionPlace &place, const SessionKey &object, const SessionUser &user,
                                 const std::string &after, std::size_t most);
// A file of lines of a session as it is now, for reading: messages.jsonl, events.jsonl. ENOENT.
Result<std::unique_ptr<LineFile>> openForReading(const SessionPlace &place, const SessionKey &key,
                                                 const SessionUser &user, const char *name);
// latest.md. ENOENT; EMSGSIZE over `most` bytes.
Result<std::string> readLatest(const SessionPlace &place, const SessionKey &key, const SessionUser &user,
                               std::size_t most);

// Who keeps the sessions of a space: its owner, for all who may write there. ENOENT no such space; EACCES, EROFS when the
// caller may not write.
Result<SessionUser> keeperOfSpace(const SessionPlace &place, const std::string &space, const SessionUser &caller);

} // namespace cortexfs::sessions
