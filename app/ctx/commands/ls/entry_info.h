// The INFO column of `ctx ls`: the one thing about an entry that is most worth knowing.
#pragma once

#include "app/ctx/core/models.h"
#include "app/ctx/core/tree.h"

#include <map>
#include <optional>
#include <string>

namespace cortexfs::ctx::ls_command {

class EntryInfo {
public:
    // `path` is the directory that is listed. For directories of models the daemon is asked once; without an answer the
    // column stays empty.
    EntryInfo(Session &session, const Tree &tree, const std::string &path);

    std::string of(const TreeEntry &entry, const std::string &kind) const;

private:
    std::string ofModel(const std::string &path) const;
    std::string ofControl(const TreeEntry &entry) const;

    const Tree &m_tree;
    std::optional<ModelList> m_models;
    std::map<std::string, json::Value, std::less<>> m_byName;
    std::map<std::string, int, std::less<>> m_countByProvider;
};

} // namespace cortexfs::ctx::ls_command
