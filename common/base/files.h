// Reading and replacing small files safely. Paths are UTF-8 bytes as the kernel takes them.
#pragma once

#include "common/base/result.h"

#include <cstddef>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace cortexfs::files {

// Reads a whole regular file without following a link in its last component.
// ENOENT and EACCES as the kernel says; ELOOP for a link; EINVAL when it is no regular file; EMSGSIZE over `maxBytes`.
Result<std::string> readRegular(const std::string &path, std::size_t maxBytes);
Result<std::string> readRegularAt(int directory, const std::string &name, std::size_t maxBytes);
// The same, of a file that nobody but `owner` can have written: EACCES when it belongs to somebody else, or its group or
// others may write it.
Result<std::string> readTrusted(const std::string &path, std::size_t maxBytes, uid_t owner);

// Replaces a file so that a reader, and a crash at any step, sees the old or the new content and nothing else: temporary
// file in the same directory, fsync, rename, fsync of the directory. On failure the old file is untouched and the
// temporary one is gone (a crash may leave it; its name starts with ".cortexfs-tmp-").
Result<void> replace(const std::string &path, std::string_view content, mode_t mode);
Result<void> replaceAt(int directory, const std::string &name, std::string_view content, mode_t mode);
// Removes the ".cortexfs-tmp-*" files that a crash left in a directory. Only safe where no other process writes there.
void removeStaleTemporaries(int directory);

// mkdir -p: every missing component gets `mode`, whatever the umask. Existing ones stay as they are.
Result<void> makeDirectories(const std::string &path, mode_t mode);

// write(2) until all is written. EINTR is retried.
Result<void> writeAll(int fd, std::string_view content);

} // namespace cortexfs::files
