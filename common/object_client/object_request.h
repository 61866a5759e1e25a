// Requests to an object's socket as frames (without LF). Pure.
#pragma once

#include "common/base/result.h"

#include <optional>
#include <string>
#include <string_view>

namespace cortexfs::object {

// Which conversation of the object. Texts are valid UTF-8.
struct Conversation {
    std::string session = "default";
    std::string scope = {};  // "private" "shared" "temp"; empty: private
    std::string shared = {}; // of scope shared: the space below /ctx/shared
};

struct SendRequest {
    std::string id;        // 1 to 256 bytes, chosen by the client: the same id and input never run twice in a session
    std::string input;     // one user message
    std::string parts;     // or the JSON text of an array of content parts; wins over `input`
    std::string cwd;       // empty: not sent
    std::string workspace; // empty: not sent
    std::optional<bool> approvals;
};

// EINVAL: an id that is empty, too long or no UTF-8, input that is no UTF-8. EMSGSIZE: over a frame of 1 MiB.
Result<std::string> sendFrame(const Conversation &conversation, const SendRequest &request);
// `after` empty: from the first stored event.
std::string resumeFrame(const Conversation &conversation, std::string_view id, std::string_view after);
// `id`: of a run or of a send.
std::string cancelFrame(const Conversation &conversation, std::string_view id);
std::string statusFrame(const Conversation &conversation, std::string_view id);
std::string pingFrame(std::string_view id);

} // namespace cortexfs::object
