// The index of an object's sessions, and the marks of sessions with a run. Blocking.
//
//   index/list      a line a use, "TIMESTAMP TAB SESSION"; the last line of a name counts. Appending keeps a use as cheap with
//                   ten thousand sessions as with ten; it is made short again when most lines are old.
//   index/current   the session used last
//   index/by-cwd/H  the session used last in that directory; H = first 16 hex digits of the path's SHA-256
#pragma once

#include "daemon/sessions/session_files.h"

namespace cortexfs::sessions {

// First 16 hex digits of the SHA-256.
std::string shortHash(std::string_view text);

// `sessions` is the directory of all sessions. Failures are logged: the index can be made again.
void noteSessionUse(int sessions, const std::string &name, const std::string &cwd, std::int64_t wallMs);

// Text of the mark of a session with a run.
std::string markText(const SessionKey &key, const SessionUser &user);

} // namespace cortexfs::sessions
