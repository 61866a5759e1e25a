// The mounted tree as a person names its parts: "model/openai/gpt-5.6", "/ctx/model/main", ".". Every system call is
// watched (MountWatch), and every error says what to do next.
#pragma once

#include "app/ctx/core/session.h"
#include "common/base/unique_fd.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/stat.h>

namespace cortexfs::ctx {

struct TreeEntry {
    std::string name;
    std::string path; // below the mount, "" for its root
    struct stat info = {};
    std::string target; // of a link
};

class Tree {
public:
    explicit Tree(Session &session) : m_session(session), m_mount(session.mount()) {}

    const std::string &mount() const { return m_mount; }
    // The path below the mount, without a leading slash: relative to the mount; absolute when below it; "./x" and "../x"
    // relative to the working directory. EINVAL when it leads out of the mount.
    Result<std::string> pathOf(std::string_view text) const;
    std::string absolute(std::string_view path) const
    {
        return path.empty() ? m_mount : m_mount + "/" + std::string(path);
    }

    // Without following a link in the last component. ENOENT and so on as explain().
    Result<TreeEntry> entry(const std::string &path) const;
    bool exists(const std::string &path) const;
    // Sorted by name. ENOTDIR for a file.
    Result<std::vector<TreeEntry>> list(const std::string &path) const;
    Result<UniqueFd> open(const std::string &path, int flags) const;
    // At most `most` bytes of a file.
    Result<std::string> read(const std::string &path, std::size_t most) const;
    // The next piece of an open file, at most 1 MiB; empty at the end.
    Result<std::string> readPiece(const UniqueFd &file, const std::string &path) const;

    // A link of the tree to another of its paths, as that path; nothing when it leads elsewhere.
    std::optional<std::string> linkPath(const TreeEntry &entry) const;

    // The errno of a system call on `path`, with the next step. Finds out whether the tree is there at all.
    Error explain(int number, const std::string &path) const;

private:
    Error explainAbsent(const std::string &path) const;

    Session &m_session;
    std::string m_mount;
};

// What an entry is: "model", "agent", "tool", "alias", "control", "control directory", "socket", "link", "directory",
// "file", "provider".
std::string kindOf(const TreeEntry &entry);
// The part before the last slash; "" at the top.
std::string parentOf(const std::string &path);

} // namespace cortexfs::ctx
