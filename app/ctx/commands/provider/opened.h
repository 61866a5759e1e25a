// A provider's file as it is now, and the way to write it back: with the etag it was read with, so that nobody's work is
// overwritten.
#pragma once

#include "app/ctx/core/session.h"
#include "common/json/json.h"

#include <string>
#include <string_view>

namespace cortexfs::ctx::provider_command {

class OpenedProvider {
public:
    // `name` is a provider's, or a file's when it ends in .json; a file NAME.json that is invalid is found by NAME too.
    // ENOENT: neither.
    static Result<OpenedProvider> open(Session &session, const std::string &name);

    std::string name() const { return std::string(facts()["name"].stringOr("")); } // empty: an invalid file
    std::string file() const { return std::string(facts()["file"].stringOr("")); }
    std::string etag() const { return std::string(facts()["etag"].stringOr("")); }
    std::string text() const { return std::string(facts()["text"].stringOr("")); }
    json::Value config() const { return facts()["config"]; } // missing: the file is no JSON

    // What the daemon answers. EINVAL with JSON pointers, ESTALE, EEXIST: the file is as it was.
    Result<json::Document> putConfig(Session &session, std::string_view configJson) const;
    Result<json::Document> putText(Session &session, std::string_view text) const;
    Result<json::Document> remove(Session &session) const;

private:
    explicit OpenedProvider(json::Document reply) : m_reply(std::move(reply)) {}
    json::Value facts() const { return m_reply.root(); }
    json::Writer request() const;

    json::Document m_reply;
};

} // namespace cortexfs::ctx::provider_command
