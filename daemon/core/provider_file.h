// The files of <config>/providers.d as `put` and `remove` change them. Blocking; for StateWriter.
#pragma once

#include "common/base/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace cortexfs {

struct ProviderText {
    std::string text;
    std::string etag;
};

class ProviderFiles {
public:
    // `formats` are the wire formats of this build; a text is checked exactly as when it is loaded.
    ProviderFiles(std::string directory, std::vector<std::string> formats)
        : m_directory(std::move(directory)), m_formats(std::move(formats))
    {}

    // What `provider.list` names: ends in .json, no path, not hidden. EINVAL.
    static Result<void> checkName(std::string_view file);

    // ENOENT; ELOOP for a link; EINVAL when it is no regular file; EMSGSIZE over 64 KiB.
    Result<ProviderText> read(const std::string &file) const;

    // Replaces the file by `text`, 0644, atomically; an empty etag makes a new one. ESTALE: the file has changed since it
    // had that etag; EEXIST: a new file is there already, or another file has the provider of that name; EINVAL with JSON
    // pointers; EMSGSIZE. Nothing is written then. A text that is there already is left alone.
    Result<void> write(const std::string &file, const std::string &etag, const std::string &text) const;

    // ESTALE as above; ENOENT.
    Result<void> remove(const std::string &file, const std::string &etag) const;

private:
    std::string pathOf(const std::string &file) const { return m_directory + "/" + file; }
    Result<void> checkUnchanged(const std::string &file, const std::string &etag) const;
    Result<void> checkNameIsFree(const std::string &file, const std::string &provider) const;

    std::string m_directory;
    std::vector<std::string> m_formats;
};

} // namespace cortexfs
