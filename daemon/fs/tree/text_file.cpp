#include "daemon/fs/tree/text_file.h"

namespace cortexfs::fs {

std::string_view slice(std::string_view text, std::size_t size, off_t offset)
{
    if (offset < 0 || static_cast<std::size_t>(offset) >= text.size())
        return {};
    return text.substr(static_cast<std::size_t>(offset), size);
}

ErrnoOr<off_t> seekInText(std::size_t size, off_t offset, int whence)
{
    if (offset < 0 || static_cast<std::size_t>(offset) >= size)
        return Errno{ENXIO};
    if (whence == SEEK_DATA)
        return offset;
    if (whence == SEEK_HOLE)
        return static_cast<off_t>(size);
    return Errno{EINVAL};
}

} // namespace cortexfs::fs
