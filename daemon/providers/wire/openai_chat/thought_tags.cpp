#include "daemon/providers/wire/openai_chat/thought_tags.h"

#include <algorithm>

namespace cortexfs::wire::openai_chat {

namespace {

constexpr std::string_view kOpen = "<thought>";
constexpr std::string_view kClose = "</thought>";

// How many bytes at the end of `text` begin a closing tag.
std::size_t closingTail(std::string_view text)
{
    for (std::size_t length = std::min(text.size(), kClose.size() - 1); length > 0; --length) {
        if (text.ends_with(kClose.substr(0, length)))
            return length;
    }
    return 0;
}

} // namespace

ThoughtTags::Split ThoughtTags::push(std::string_view content, bool isFlagged)
{
    std::string text = std::move(m_held);
    m_held.clear();
    text += content;
    if (isFlagged && !m_inThought)
        m_inThought = m_atBegin = true;
    if (!m_inThought)
        return {.text = std::move(text)};
    if (m_atBegin) {
        if (text.size() < kOpen.size() && kOpen.starts_with(text) && isFlagged) {
            m_held = std::move(text);
            return {};
        }
        m_atBegin = false;
        if (text.starts_with(kOpen))
            text.erase(0, kOpen.size());
    }
    Split split;
    if (const std::size_t close = text.find(kClose); close != std::string::npos) {
        split.thought = text.substr(0, close);
        split.text = text.substr(close + kClose.size());
        m_inThought = false;
        return split;
    }
    const std::size_t tail = closingTail(text);
    if (isFlagged || (tail == text.size() && tail > 0)) {
        m_held = text.substr(text.size() - tail);
        split.thought = text.substr(0, text.size() - tail);
        return split;
    }
    // No flag and no closing tag: the thought ended with the chunk before.
    m_inThought = false;
    split.text = std::move(text);
    return split;
}

ThoughtTags::Split ThoughtTags::flush()
{
    Split split;
    (m_inThought ? split.thought : split.text) = std::move(m_held);
    m_held.clear();
    m_inThought = false;
    return split;
}

} // namespace cortexfs::wire::openai_chat
