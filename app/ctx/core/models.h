// The models and aliases that the daemon knows, fetched page by page (protocol.h, model.list).
#pragma once

#include "app/ctx/core/session.h"

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace cortexfs::ctx {

class ModelList {
public:
    // `provider` empty: of all. Errors as Session::ask().
    static Result<ModelList> fetch(Session &session, std::string_view provider = {},
                                   std::chrono::milliseconds time = control::kReplyTime);

    // In the daemon's order, by name.
    const std::vector<json::Value> &models() const { return m_models; }
    const std::vector<json::Value> &aliases() const { return m_aliases; }
    // The aliases that point at a model: "main fast".
    std::string aliasesOf(std::string_view model) const;

private:
    std::vector<json::Document> m_pages; // own the values
    std::vector<json::Value> m_models;
    std::vector<json::Value> m_aliases;
    std::map<std::string, std::string, std::less<>> m_aliasesByModel;
};

// "chat stream vision"
std::string capText(const json::Value &model);
// "272k" or "unknown"
std::string limitText(const json::Value &model);

} // namespace cortexfs::ctx
