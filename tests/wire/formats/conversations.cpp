#include "tests/wire/formats/conversations.h"

#include "tests/wire/fixture.h"

#include <QtGlobal>

namespace cortexfs::test {

using models::Conversation;
using models::Message;
using models::Part;

Message userSays(const std::string &text)
{
    Message message;
    message.parts.push_back({.text = text});
    return message;
}

Message assistantSays(const std::string &text, std::vector<models::ToolCall> calls)
{
    Message message;
    message.role = Message::Role::Assistant;
    if (!text.empty())
        message.parts.push_back({.text = text});
    message.toolCalls = std::move(calls);
    return message;
}

Message toolSays(const std::string &callId, const std::string &text, bool isError)
{
    Message message;
    message.role = Message::Role::Tool;
    message.parts.push_back({.text = text});
    message.callId = callId;
    message.isError = isError;
    return message;
}

Conversation asked(const std::string &text)
{
    Conversation out;
    out.messages.push_back(userSays(text));
    return out;
}

namespace {

Message messageFrom(const json::Value &value)
{
    Message message;
    const std::string_view role = value["role"].stringOr("");
    message.role = role == "user"   ? Message::Role::User
                   : role == "tool" ? Message::Role::Tool
                                    : Message::Role::Assistant;
    if (const auto text = value["content"].asString())
        message.parts.push_back({.text = std::string(*text)});
    for (const json::Value &part : value["content"].elements()) {
        Part out;
        if (part["type"].stringOr("") == "text") {
            out.text = part["text"].stringOr("");
        } else {
            out.type = Part::Type::Image;
            out.url = "data:" + std::string(part["media_type"].stringOr("")) + ";base64,"
                      + std::string(part["data"].stringOr(""));
        }
        message.parts.push_back(std::move(out));
    }
    for (const json::Value &call : value["tool_calls"].elements())
        message.toolCalls.push_back(
            {std::string(call["id"].stringOr("")), std::string(call["name"].stringOr("")), call["arguments"].toJson()});
    message.callId = value["id"].stringOr("");
    message.isError = value["is_error"].asBool().value_or(false);
    return message;
}

} // namespace

Conversation canonicalConversation()
{
    const auto document = json::parse(readFixtureFile(fixturePath("requests/00-canonical.json")));
    if (!document)
        qFatal("the canonical conversation is not JSON");
    const json::Value root = document->root();
    Conversation out;
    out.system = root["system"].stringOr("");
    out.maxTokens = root["max_output_tokens"].asInt();
    out.effort = abi::effortFromWord(root["effort"].stringOr(""));
    const json::Value schema = root["json_schema"];
    out.responseFormat = models::ResponseFormat{std::string(schema["name"].stringOr("")), schema["schema"].toJson(),
                                                true};
    for (const json::Value &tool : root["tools"].elements())
        out.tools.push_back({std::string(tool["name"].stringOr("")), std::string(tool["description"].stringOr("")),
                             tool["parameters"].toJson()});
    for (const json::Value &message : root["messages"].elements())
        out.messages.push_back(messageFrom(message));
    return out;
}

json::Document bodyOf(const std::string &format, const Conversation &conversation, const wire::EncodeContext &context)
{
    const auto request = wire::findByFormat(format)->encode(conversation, context);
    if (!request)
        qFatal("%s", request.error().text().c_str());
    auto body = json::parse(request->body);
    if (!body)
        qFatal("not JSON: %s", request->body.c_str());
    return std::move(*body);
}

std::string memberOf(const std::string &format, const Conversation &conversation, const wire::EncodeContext &context,
                     std::string_view key)
{
    const json::Document body = bodyOf(format, conversation, context);
    return body.root()[key].isMissing() ? std::string() : body.root()[key].toJson();
}

Message rememberedFrom(const Decoded &decoded, const std::string &provider)
{
    Message message = assistantSays("");
    message.opaqueProvider = provider;
    for (const abi::Event &event : decoded.events) {
        if (!event.opaque.empty())
            message.opaque = event.opaque;
        if (event.type == abi::EventType::ToolCall)
            message.toolCalls.push_back({event.callId, event.name, event.arguments});
        for (const abi::ContentPart &part : event.content)
            message.parts.push_back({.text = part.text});
    }
    return message;
}

} // namespace cortexfs::test
