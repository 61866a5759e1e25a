#include "common/object_client/object_event.h"

#include "common/json/json.h"

#include <array>
#include <utility>

namespace cortexfs::object {

namespace {

constexpr std::array<std::pair<std::string_view, EventType>, 16> kTypes = {{
    {"start", EventType::Start},
    {"delta", EventType::Delta},
    {"reasoning_delta", EventType::ReasoningDelta},
    {"message", EventType::Message},
    {"reasoning_message", EventType::ReasoningMessage},
    {"tool_call", EventType::ToolCall},
    {"tool_result", EventType::ToolResult},
    {"approval_request", EventType::ApprovalRequest},
    {"approval_result", EventType::ApprovalResult},
    {"usage", EventType::Usage},
    {"error", EventType::Error},
    {"done", EventType::Done},
    {"pong", EventType::Pong},
    {"accepted", EventType::Accepted},
    {"status", EventType::Status},
    {"resumed", EventType::Resumed},
}};

EventType typeOf(std::string_view word)
{
    for (const auto &[name, type] : kTypes) {
        if (name == word)
            return type;
    }
    return EventType::Other;
}

// A string, or parts of which those with text count.
std::string contentText(const json::Value &content)
{
    if (const auto text = content.asString())
        return std::string(*text);
    std::string all;
    for (const json::Value &part : content.elements())
        all += part["text"].stringOr("");
    return all;
}

void readUsage(const json::Value &root, abi::Usage &usage)
{
    usage.inputTokens = root["input_tokens"].asInt().value_or(0);
    usage.outputTokens = root["output_tokens"].asInt().value_or(0);
    usage.cachedTokens = root["cached_tokens"].asInt();
    usage.cacheWriteTokens = root["cache_write_tokens"].asInt();
}

void readError(const json::Value &root, ObjectEvent &event)
{
    event.codeWord = root["code"].stringOr("");
    const int number = errnoFromName(event.codeWord);
    event.code = number == 0 ? EIO : number;
    event.message = root["message"].stringOr("");
    event.isRecoverable = root["recoverable"].asBool().value_or(false);
}

} // namespace

Error ObjectEvent::error() const
{
    return makeError(code == 0 ? EIO : code, message.empty() ? std::string("the object refused") : message);
}

Result<ObjectEvent> readObjectEvent(std::string_view line)
{
    const Result<json::Document> document = json::parse(line);
    if (!document)
        return errors::badMessage("the object sent something that is no JSON").withDetail(document.error().detail());
    const json::Value root = document->root();
    const auto word = root["type"].asString();
    if (!word)
        return errors::badMessage("the object sent a frame without a type");
    const auto text = [&](std::string_view key) { return std::string(root[key].stringOr("")); };
    ObjectEvent event;
    event.typeWord = *word;
    event.type = typeOf(*word);
    event.id = text("id");
    event.run = text("run");
    event.request = text("request");
    event.session = text("session");
    event.text = text("text");
    event.role = text("role");
    event.model = text("model");
    event.status = text("status");
    event.reason = text("reason");
    event.callId = text("call_id");
    event.name = text("name");
    event.op = text("op");
    event.state = text("state");
    event.last = text("last");
    event.isLive = root["live"].asBool().value_or(false);
    event.waiting = root["waiting"].asInt().value_or(0);
    if (const auto offset = root["offset"].asInt(); offset && *offset >= 0)
        event.offset = offset;
    if (const json::Value arguments = root["arguments"]; !arguments.isMissing())
        event.arguments = arguments.isString() ? std::string(*arguments.asString()) : arguments.toJson();
    if (const json::Value content = root["content"]; !content.isMissing())
        event.text = contentText(content);
    if (event.type == EventType::Usage)
        readUsage(root, event.usage);
    if (event.type == EventType::Error)
        readError(root, event);
    event.line = line;
    return event;
}

bool isIdAfter(std::string_view id, std::string_view other)
{
    if (id.size() != other.size())
        return id.size() > other.size();
    return id > other;
}

} // namespace cortexfs::object
