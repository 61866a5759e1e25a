// The lines of messages.jsonl (decisions, section 9) and what a model is given of them. Pure.
#pragma once

#include "common/abi/event.h"
#include "common/json/json.h"
#include "daemon/models/types/conversation.h"
#include "daemon/sessions/line_file.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cortexfs::sessions {

// What the answer of a run comes to.
struct Answer {
    std::string id; // of its `message` event, or of the last event of an answer that was cut
    std::string run;
    std::string model; // that answered
    std::vector<abi::ContentPart> content;
    std::vector<models::ToolCall> calls;
    std::string opaque; // JSON text, or empty
    std::string status; // "cancelled" or "error" when the answer was cut; else empty

    bool isEmpty() const { return content.empty() && calls.empty(); }
};

// With LF. {"role":"user","id","request","run","content":[...],"ts_ms"}
std::string userLine(std::string_view id, std::string_view request, std::string_view run, std::string_view contentJson,
                     std::int64_t wallMs);
// {"role":"assistant","id","run","model","content":[...],"tool_calls"?,"opaque"?,"status"?}
std::string assistantLine(const Answer &answer);

// The input of a send as a list of parts, for the line and for comparison: a string is one text part. Key order and
// spelling of a given list are kept. EINVAL: no input, or one that no model could be given.
struct UserInput {
    std::string contentJson;
    models::Message message;
};
Result<UserInput> readInput(const json::Value &input);

// What a stored user line says of its request.
struct StoredRequest {
    std::string id;
    std::string request;
    std::string run;
    std::string contentJson;
};
// Nothing when the line is no user line.
std::optional<StoredRequest> readUserLine(std::string_view line);
// The value of "id" of a stored line or event, read without parsing all of it.
std::optional<std::uint64_t> idOfLine(std::string_view line);
// The value of "run", likewise; empty when there is none near the beginning.
std::string_view runOfLine(std::string_view line);

// The newest whole turns (a user message and what answered it) that together have at most `budget` bytes of text, oldest
// first. Lines that are no messages are left out.
Result<std::vector<models::Message>> readHistory(const LineFile &messages, std::size_t budget);
// How much history a model of that limit is given: three quarters of it, at four bytes a token, the rest is for the new
// message and the answer; limits::kHistory where the limit is unknown.
std::size_t historyBudget(std::optional<std::uint32_t> limit);

} // namespace cortexfs::sessions
