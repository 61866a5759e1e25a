// A file whose whole text was known when it was opened: a reader sees one version of it, however slowly it reads.
#pragma once

#include "daemon/fs/tree/open_file.h"

namespace cortexfs::fs {

// The part of `text` that a read asks for.
std::string_view slice(std::string_view text, std::size_t size, off_t offset);
// SEEK_DATA and SEEK_HOLE in a text without holes.
ErrnoOr<off_t> seekInText(std::size_t size, off_t offset, int whence);

class TextFile : public OpenFile {
public:
    explicit TextFile(std::string text) : m_text(std::move(text)) {}
    ErrnoOr<std::string_view> read(std::vector<char> &, std::size_t size, off_t offset) override
    {
        return slice(m_text, size, offset);
    }
    ErrnoOr<off_t> seek(off_t offset, int whence) override { return seekInText(m_text.size(), offset, whence); }

private:
    std::string m_text;
};

} // namespace cortexfs::fs
