// Keys that were read, each kept while its file stays the same. For any thread.
#pragma once

#include "common/base/file_stamp.h"
#include "common/base/secret_string.h"

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

namespace cortexfs::providers {

class SecretCache {
public:
    // The key of the file at `path`, when it was read from a file of this very stamp. Another stamp drops it.
    std::optional<SecretString> find(const std::string &path, const FileStamp &stamp);
    void drop(const std::string &path);

    // `dropCount` as it was before the file was opened: what was read on one thread while another dropped a key may be
    // the key that had to go, and is not kept.
    std::uint64_t dropCount() const;
    void keep(const std::string &path, const FileStamp &stamp, const SecretString &value, std::uint64_t dropCount);

private:
    struct Kept {
        FileStamp stamp;
        SecretString value;
    };

    mutable std::mutex m_mutex;
    std::unordered_map<std::string, Kept> m_kept;
    std::uint64_t m_dropCount = 0;
};

} // namespace cortexfs::providers
