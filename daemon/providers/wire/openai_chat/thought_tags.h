// Gemini's OpenAI-compatible endpoint puts thoughts into the content: chunks flagged `extra_content.google.thought`, whose
// text begins with <thought> and is ended by </thought>, often in the first chunk without the flag. Content of a reply
// without a flagged chunk is never touched: a model may well write about such tags.
#pragma once

#include <string>
#include <string_view>

namespace cortexfs::wire::openai_chat {

class ThoughtTags {
public:
    struct Split {
        std::string thought;
        std::string text;
    };

    // One chunk's content. What may be the beginning of a tag is held back until the next one.
    Split push(std::string_view content, bool isFlagged);
    // What is left at the end.
    Split flush();
    bool isActive() const { return m_inThought || !m_held.empty(); }

private:
    std::string m_held;
    bool m_inThought = false;
    bool m_atBegin = false; // of a thought: an opening tag may come
};

} // namespace cortexfs::wire::openai_chat
