// What must come back to the provider on the next turn, as it is kept with an assistant message: the reasoning text that
// some servers demand, reasoning details with their signatures, and what belongs to a tool call (thought signatures).
//
//   {"format":"openai.chat","reasoning_content":T,"reasoning_details":[...],"calls":{CALL_ID:{"extra_content":...}}}
#pragma once

#include "common/json/json.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cortexfs::wire::openai_chat {

struct ChatOpaque {
    std::string reasoningContent;
    std::string reasoningDetails;                                  // JSON text of an array, or empty
    std::vector<std::pair<std::string, std::string>> extraContent; // call id, JSON text

    bool isEmpty() const { return reasoningContent.empty() && reasoningDetails.empty() && extraContent.empty(); }
    std::string toJson() const; // empty when there is nothing to keep
    // Empty for a text that is none of this format's.
    static ChatOpaque fromJson(std::string_view text);
    std::string_view extraContentOf(std::string_view callId) const;
};

// Joins the pieces of `reasoning_details` that a stream brings: those with one type and index are one detail, their text
// is joined, other members are taken as they come.
class ReasoningDetails {
public:
    void add(const json::Value &details);
    bool isEmpty() const { return m_details.empty(); }
    std::string toJson() const;

private:
    struct Member {
        std::string key;
        bool isText = false;
        std::string value; // the text, or JSON text
    };
    using Detail = std::vector<Member>;

    Detail &detailFor(const json::Value &piece);

    std::vector<Detail> m_details;
};

} // namespace cortexfs::wire::openai_chat
