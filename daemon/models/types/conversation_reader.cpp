#include "daemon/models/types/conversation_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace cortexfs::models {

namespace {

using Faults = std::vector<std::string>;

constexpr std::int64_t kMostTokens = std::numeric_limits<std::int32_t>::max();
constexpr std::size_t kShownFaults = 8;

std::string at(const std::string &pointer, std::size_t index) { return pointer + "/" + std::to_string(index); }

bool isBase64(std::string_view text)
{
    while (text.ends_with('='))
        text.remove_suffix(1);
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' || c == '/'
               || c == '-' || c == '_';
    });
}

// What is wrong with the URL of an image; empty when nothing is.
std::string_view imageUrlFault(std::string_view url)
{
    if (url.starts_with("https://"))
        return url.size() > 8 ? "" : "not a URL";
    if (!url.starts_with("data:"))
        return "neither an https: nor a data: URL";
    const std::size_t comma = url.find(',');
    const std::string_view head = url.substr(5, comma == std::string_view::npos ? comma : comma - 5);
    if (comma == std::string_view::npos || !head.starts_with("image/") || !head.ends_with(";base64"))
        return "not of the form data:image/TYPE;base64,DATA";
    return isBase64(url.substr(comma + 1)) ? "" : "not base64";
}

// The JSON text of an object that came as an object or as a string with its text.
std::optional<std::string> objectText(const json::Value &value)
{
    if (value.isMissing() || value.isNull())
        return "{}";
    if (value.isObject())
        return value.toJson();
    const auto text = value.asString();
    if (!text)
        return std::nullopt;
    if (text->find_first_not_of(" \t\r\n") == std::string_view::npos)
        return "{}";
    const auto document = json::parse(*text);
    if (!document || !document->root().isObject())
        return std::nullopt;
    return std::string(*text);
}

class MessageReader {
public:
    explicit MessageReader(Faults &faults) : m_faults(faults) {}

    Message read(const json::Value &value, const std::string &pointer)
    {
        Message message;
        json::ObjectReader reader(value, pointer, m_faults);
        if (!value.isObject())
            return message;
        const std::string word = reader.requiredString("role");
        if (word == "system" || word == "developer")
            message.role = Message::Role::System;
        else if (word == "user")
            message.role = Message::Role::User;
        else if (word == "assistant")
            message.role = Message::Role::Assistant;
        else if (word == "tool")
            message.role = Message::Role::Tool;
        else if (reader.has("role"))
            reader.fault("role", "none of system, developer, user, assistant, tool");
        readContent(reader, message);
        if (message.role == Message::Role::Assistant)
            readCalls(reader, message);
        else if (reader.has("tool_calls"))
            reader.fault("tool_calls", "only an assistant message calls tools");
        if (message.role == Message::Role::Tool)
            readResult(reader, message);
        return message;
    }

private:
    void readContent(json::ObjectReader &reader, Message &message)
    {
        const json::Value content = reader.child("content");
        if (const auto text = content.asString()) {
            if (!text->empty())
                message.parts.push_back({.type = Part::Type::Text, .text = std::string(*text)});
            return;
        }
        if (content.isArray()) {
            for (std::size_t i = 0; i < content.size(); ++i)
                readPart(content.at(i), at(reader.pointerTo("content"), i), message);
            return;
        }
        const bool mayBeAbsent = message.role == Message::Role::Assistant && reader.has("tool_calls");
        if (mayBeAbsent && (content.isMissing() || content.isNull()))
            return;
        reader.fault("content", content.isMissing() ? "missing" : "neither a string nor an array of parts");
    }

    void readPart(const json::Value &value, const std::string &pointer, Message &message)
    {
        json::ObjectReader reader(value, pointer, m_faults);
        if (!value.isObject())
            return;
        const std::string type = reader.requiredString("type");
        if (type == "text" || (type == "refusal" && message.role == Message::Role::Assistant)) {
            // An event of ours has the words of a refusal in "text", an API in "refusal".
            const char *key = type == "refusal" && reader.has("refusal") ? "refusal" : "text";
            message.parts.push_back({.type = Part::Type::Text, .text = reader.requiredString(key)});
        } else if (type == "image_url") {
            readImage(reader, message);
        } else if (reader.has("type")) {
            reader.fault("type", "neither text nor image_url");
        }
    }

    void readImage(json::ObjectReader &reader, Message &message)
    {
        Part part{.type = Part::Type::Image};
        const json::Value image = reader.child("image_url");
        if (message.role != Message::Role::User)
            return reader.fault("type", "an image may stand in a user message only");
        if (const auto url = image.asString()) {
            part.url = *url;
        } else if (image.isObject()) {
            json::ObjectReader inner(image, reader.pointerTo("image_url"), m_faults);
            part.url = inner.requiredString("url");
            part.detail = inner.string("detail").value_or("");
            if (!part.detail.empty() && part.detail != "auto" && part.detail != "low" && part.detail != "high")
                inner.fault("detail", "none of auto, low, high");
        } else {
            return reader.fault("image_url", image.isMissing() ? "missing" : "neither a URL nor an object");
        }
        if (const std::string_view fault = imageUrlFault(part.url); !fault.empty())
            reader.fault("image_url", fault);
        message.parts.push_back(std::move(part));
    }

    void readCalls(json::ObjectReader &reader, Message &message)
    {
        const json::Value calls = reader.child("tool_calls");
        if (calls.isMissing() || calls.isNull())
            return;
        if (!calls.isArray())
            return reader.fault("tool_calls", "not an array");
        for (std::size_t i = 0; i < calls.size(); ++i)
            readCall(calls.at(i), at(reader.pointerTo("tool_calls"), i), message);
    }

    void readCall(const json::Value &value, const std::string &pointer, Message &message)
    {
        json::ObjectReader outer(value, pointer, m_faults);
        if (!value.isObject())
            return;
        ToolCall call;
        const char *idKey = outer.has("call_id") ? "call_id" : "id";
        call.callId = outer.requiredString(idKey);
        const bool isNested = outer.has("function");
        json::ObjectReader inner(isNested ? outer.child("function") : value,
                                 isNested ? outer.pointerTo("function") : pointer, m_faults);
        call.name = inner.requiredString("name");
        const auto arguments = objectText(inner.child("arguments"));
        if (!arguments)
            inner.fault("arguments", "not a JSON object");
        call.arguments = arguments.value_or("{}");
        if (outer.has(idKey) && call.callId.empty())
            outer.fault(idKey, "empty");
        if (inner.has("name") && call.name.empty())
            inner.fault("name", "empty");
        if (!m_names.emplace(call.callId, call.name).second && !call.callId.empty())
            outer.fault(idKey, "an earlier call has this id");
        message.toolCalls.push_back(std::move(call));
    }

    void readResult(json::ObjectReader &reader, Message &message)
    {
        const char *key = reader.has("call_id") ? "call_id" : "tool_call_id";
        message.callId = reader.requiredString(key);
        message.isError = reader.boolean("is_error").value_or(false);
        const auto call = m_names.find(message.callId);
        if (call != m_names.end())
            message.name = call->second;
        else if (reader.has(key))
            reader.fault(key, "no call before it has this id");
    }

    Faults &m_faults;
    std::map<std::string, std::string> m_names; // of the calls so far, by id
};

void readMessages(json::ObjectReader &reader, Faults &faults, Conversation &out)
{
    const json::Value messages = reader.child("messages");
    if (!messages.isArray())
        return reader.fault("messages", "not an array");
    if (messages.size() == 0)
        return reader.fault("messages", "empty");
    MessageReader message(faults);
    std::size_t index = 0;
    for (const json::Value &value : messages.elements())
        out.messages.push_back(message.read(value, at("/messages", index++)));
}

std::string schemaText(json::ObjectReader &reader, std::string_view key)
{
    const json::Value schema = reader.child(key);
    if (schema.isObject())
        return schema.toJson();
    reader.fault(key, schema.isMissing() ? "missing" : "not an object");
    return {};
}

void readTools(json::ObjectReader &reader, Faults &faults, Conversation &out)
{
    const json::Value tools = reader.child("tools");
    if (tools.isMissing() || tools.isNull())
        return;
    if (!tools.isArray())
        return reader.fault("tools", "not an array");
    for (std::size_t i = 0; i < tools.size(); ++i) {
        const std::string pointer = at("/tools", i);
        json::ObjectReader outer(tools.at(i), pointer, faults);
        if (!tools.at(i).isObject())
            continue;
        const bool isNested = outer.has("function");
        json::ObjectReader inner(isNested ? outer.child("function") : tools.at(i),
                                 isNested ? outer.pointerTo("function") : pointer, faults);
        Tool tool;
        tool.name = inner.requiredString("name");
        tool.description = inner.string("description").value_or("");
        if (inner.has("parameters"))
            tool.parameters = schemaText(inner, "parameters");
        if (inner.has("name") && tool.name.empty())
            inner.fault("name", "empty");
        const auto same = [&](const Tool &other) { return other.name == tool.name; };
        if (!tool.name.empty() && std::any_of(out.tools.begin(), out.tools.end(), same))
            inner.fault("name", "an earlier tool has this name");
        out.tools.push_back(std::move(tool));
    }
}

void readResponseFormat(json::ObjectReader &reader, Faults &faults, Conversation &out)
{
    const json::Value value = reader.child("response_format");
    if (value.isMissing() || value.isNull())
        return;
    json::ObjectReader outer(value, "/response_format", faults);
    if (!value.isObject())
        return;
    const std::string type = outer.requiredString("type");
    if (type == "text" || !outer.has("type"))
        return;
    if (type != "json_schema")
        return outer.fault("type", "neither json_schema nor text");
    const bool isNested = outer.has("json_schema");
    json::ObjectReader inner(isNested ? outer.child("json_schema") : value,
                             isNested ? outer.pointerTo("json_schema") : "/response_format", faults);
    ResponseFormat format;
    format.name = inner.string("name").value_or("");
    format.schema = schemaText(inner, "schema");
    format.strict = inner.boolean("strict").value_or(false);
    out.responseFormat = std::move(format);
}

void readNumbers(json::ObjectReader &reader, Conversation &out)
{
    out.maxTokens = reader.integer("max_tokens", 1, kMostTokens);
    if (const json::Value value = reader.child("temperature"); !value.isMissing() && !value.isNull()) {
        const auto number = value.asDouble();
        if (number && std::isfinite(*number) && *number >= 0)
            out.temperature = number;
        else
            reader.fault("temperature", "not a number of at least 0");
    }
    if (const auto word = reader.string("effort")) {
        out.effort = abi::effortFromWord(*word);
        if (!out.effort)
            reader.fault("effort", "none of auto, none, low, medium, high, xhigh, max");
    }
}

Error faultsError(const Faults &faults)
{
    std::string text;
    for (std::size_t i = 0; i < faults.size() && i < kShownFaults; ++i)
        text += (i ? "; " : "") + faults[i];
    if (faults.size() > kShownFaults)
        text += "; and " + std::to_string(faults.size() - kShownFaults) + " more";
    return errors::invalid(std::move(text));
}

} // namespace

Result<Conversation> readConversation(const json::Value &root)
{
    Faults faults;
    Conversation out;
    json::ObjectReader reader(root, "", faults);
    readMessages(reader, faults, out);
    out.system = reader.string("system").value_or("");
    readTools(reader, faults, out);
    readResponseFormat(reader, faults, out);
    readNumbers(reader, out);
    if (!faults.empty())
        return faultsError(faults);
    return out;
}

} // namespace cortexfs::models
