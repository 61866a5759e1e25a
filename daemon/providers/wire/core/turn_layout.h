// How the parts of an assistant turn followed each other, with those that only the provider understands (reasoning with
// a signature or encrypted). Kept with the message as its opaque data, so that the next request holds the same turn:
//
//   {"format":F,"turn":[{"raw":{...}},{"text":5},{"text":7,"tag":T},{"call":"call_1"}]}
//
// A text is told by its bytes in the message's whole text, a call by its id: neither is kept twice.
#pragma once

#include "daemon/models/types/conversation.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cortexfs::wire {

class TurnLayout {
public:
    struct Piece {
        enum class Kind { Raw, Text, Call };
        Kind kind = Kind::Text;
        std::string raw;                        // Raw: JSON text of an object
        std::string_view text;                  // Text: into the buffer given to arrange(); never empty
        std::string tag;                        // Text: what addText() was given
        const models::ToolCall *call = nullptr; // Call: of the message
    };

    void addRaw(std::string json);
    // `tag` is a word of the provider about this text, or empty.
    void addText(std::size_t bytes, std::string tag = {});
    void addCall(std::string callId);

    // False when the next turn needs nothing but the message's text and calls in this order.
    bool isNeeded() const { return m_isNeeded; }
    // More than is worth keeping: such a reply is not one.
    bool isTooLarge() const;

    std::string toJson(std::string_view format) const;

    // Empty unless the message's data came from this provider in this format.
    static TurnLayout of(const models::Message &message, std::string_view provider, std::string_view format);

    // All of the message: its parts in this order, then what the layout does not know. Where the text is not the one that
    // was measured, all of it stands where the first text stood. `text` is models::textOf(message).
    std::vector<Piece> arrange(const models::Message &message, std::string_view text) const;

private:
    struct Entry {
        Piece::Kind kind;
        std::string value; // Raw: the JSON; Text: the tag; Call: the id
        std::size_t bytes = 0;
    };

    std::vector<Entry> m_entries;
    std::size_t m_rawBytes = 0;
    bool m_isNeeded = false;
};

} // namespace cortexfs::wire
