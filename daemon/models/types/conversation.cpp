#include "daemon/models/types/conversation.h"

#include "daemon/models/types/conversation_reader.h"

namespace cortexfs::models {

namespace {

constexpr std::string_view kBlanks = " \t\r\n";

// What `echo` and editors put at the end of a text is no part of it.
std::string_view withoutLineEnd(std::string_view text)
{
    if (!text.ends_with('\n'))
        return text;
    text.remove_suffix(1);
    if (text.ends_with('\r'))
        text.remove_suffix(1);
    return text;
}

Conversation singleMessage(std::string_view text)
{
    Message message;
    message.role = Message::Role::User;
    message.parts.push_back({.type = Part::Type::Text, .text = std::string(text)});
    Conversation conversation;
    conversation.messages.push_back(std::move(message));
    return conversation;
}

} // namespace

Result<Conversation> parseInput(std::string_view text)
{
    if (!json::isValidUtf8(text))
        return errors::invalid("the input is not UTF-8 text");
    const std::size_t first = text.find_first_not_of(kBlanks);
    if (first == std::string_view::npos)
        return errors::invalid("the input is empty");
    if (text[first] == '{') {
        const auto document = json::parse(text.substr(first));
        if (document && !document->root()["messages"].isMissing())
            return readConversation(document->root());
    }
    return singleMessage(withoutLineEnd(text));
}

std::string textOf(const Message &message)
{
    std::string out;
    for (const Part &part : message.parts) {
        if (part.type == Part::Type::Text)
            out += part.text;
    }
    return out;
}

} // namespace cortexfs::models
