// Directories of sessions, reached safely. Blocking.
#pragma once

#include "daemon/sessions/session_files.h"

#include <functional>

namespace cortexfs::sessions {

// Runs `job` on this thread with the user's rights towards the file system, supplementary groups included, and goes back
// to the daemon's own. EACCES when the daemon cannot act for that user.
Result<void> asUser(const SessionUser &user, const std::function<Result<void>()> &job);

// The directory with the sessions of an object. Create makes what is missing (a home as the tree would make it, everything
// else 0700 for the user); a shared space itself must exist. ENOENT, ELOOP, EACCES, EROFS, ENOSPC.
Result<UniqueFd> openSessions(const SessionPlace &place, const SessionKey &key, const SessionUser &user, OpenMode mode);

// What is said when a session cannot be opened: ENOENT names it instead of a directory on the way.
Error openError(const SessionKey &key, const Error &error);

// A directory below another, made when it is missing and wanted; no link is followed.
Result<UniqueFd> openBelow(int parent, const std::string &name, OpenMode mode);

// Replaces a small file so that a reader sees the old or the new text. Not flushed to the disk: it can be made again.
Result<void> publishAt(int directory, const std::string &name, std::string_view text);

} // namespace cortexfs::sessions
