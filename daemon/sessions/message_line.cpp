#include "daemon/sessions/message_line.h"

#include "common/base/limits.h"
#include "daemon/models/types/conversation_reader.h"
#include "daemon/sessions/session_key.h"

#include <algorithm>

namespace cortexfs::sessions {

namespace {

// The keys that are looked for stand at the beginning of our own lines.
constexpr std::size_t kHead = 160;
constexpr std::size_t kBytesPerToken = 4;

std::string_view valueNearStart(std::string_view line, std::string_view key)
{
    const std::string_view head = line.substr(0, kHead);
    const std::size_t at = head.find(key);
    if (at == std::string_view::npos)
        return {};
    const std::string_view rest = head.substr(at + key.size());
    const std::size_t end = rest.find('"');
    return end == std::string_view::npos ? std::string_view() : rest.substr(0, end);
}

void writeCalls(json::Writer &writer, const std::vector<models::ToolCall> &calls)
{
    writer.key("tool_calls").beginArray();
    for (const models::ToolCall &call : calls) {
        writer.beginObject().field("call_id", call.callId).field("name", call.name);
        writer.key("arguments").raw(call.arguments.empty() ? std::string_view("{}") : call.arguments).endObject();
    }
    writer.endArray();
}

// A stored line as the message that a model is given; nothing for what is no message.
std::optional<models::Message> readMessage(std::string_view line)
{
    const Result<json::Document> document = json::parse("{\"messages\":[" + std::string(line) + "]}");
    if (!document)
        return std::nullopt;
    const json::Value root = document->root()["messages"].at(0);
    Result<models::Conversation> conversation = models::readConversation(document->root());
    if (!conversation || conversation->messages.size() != 1)
        return std::nullopt;
    models::Message message = std::move(conversation->messages.front());
    if (const json::Value opaque = root["opaque"]; !opaque.isMissing()) {
        message.opaque = opaque.toJson();
        const std::string_view model = root["model"].stringOr("");
        message.opaqueProvider = model.substr(0, model.find('/'));
    }
    return message;
}

} // namespace

std::string userLine(std::string_view id, std::string_view request, std::string_view run, std::string_view contentJson,
                     std::int64_t wallMs)
{
    json::Writer writer;
    writer.beginObject().field("role", "user").field("id", id).field("request", request).field("run", run);
    writer.key("content").raw(contentJson).field("ts_ms", wallMs).endObject();
    return writer.take() + "\n";
}

std::string assistantLine(const Answer &answer)
{
    json::Writer writer;
    writer.beginObject().field("role", "assistant").field("id", answer.id).field("run", answer.run);
    writer.field("model", answer.model).key("content").beginArray();
    for (const abi::ContentPart &part : answer.content)
        writer.beginObject().field("type", part.type).field("text", part.text).endObject();
    writer.endArray();
    if (!answer.calls.empty())
        writeCalls(writer, answer.calls);
    if (!answer.opaque.empty())
        writer.key("opaque").raw(answer.opaque);
    if (!answer.status.empty())
        writer.field("status", answer.status);
    writer.endObject();
    return writer.take() + "\n";
}

Result<UserInput> readInput(const json::Value &input)
{
    UserInput out;
    if (const auto text = input.asString()) {
        json::Writer writer;
        writer.beginArray().beginObject().field("type", "text").field("text", *text).endObject().endArray();
        out.contentJson = writer.take();
    } else if (input.isArray()) {
        out.contentJson = input.toJson();
    } else {
        return errors::invalid(input.isMissing() ? "input: missing" : "input: neither a string nor a list of parts");
    }
    const Result<json::Document> document = json::parse(
        "{\"messages\":[{\"role\":\"user\",\"content\":" + out.contentJson + "}]}");
    if (!document)
        return document.error();
    Result<models::Conversation> conversation = models::readConversation(document->root());
    if (!conversation)
        return errors::invalid("input: " + conversation.error().message());
    out.message = std::move(conversation->messages.front());
    const auto isBlank = [](const models::Part &part) {
        return part.type == models::Part::Type::Text && part.text.find_first_not_of(" \t\r\n") == std::string::npos;
    };
    if (std::all_of(out.message.parts.begin(), out.message.parts.end(), isBlank))
        return errors::invalid("input: blank");
    return out;
}

std::optional<StoredRequest> readUserLine(std::string_view line)
{
    if (!line.starts_with("{\"role\":\"user\""))
        return std::nullopt;
    const Result<json::Document> document = json::parse(line);
    if (!document)
        return std::nullopt;
    const json::Value root = document->root();
    return StoredRequest{std::string(root["id"].stringOr("")), std::string(root["request"].stringOr("")),
                         std::string(root["run"].stringOr("")), root["content"].toJson()};
}

std::optional<std::uint64_t> idOfLine(std::string_view line) { return parseEventId(valueNearStart(line, "\"id\":\"")); }

std::string_view runOfLine(std::string_view line) { return valueNearStart(line, "\"run\":\""); }

Result<std::vector<models::Message>> readHistory(const LineFile &messages, std::size_t budget)
{
    std::vector<models::Message> newestFirst;
    std::size_t whole = 0; // of newestFirst, up to the user message that begins the oldest whole turn
    std::size_t bytes = 0;
    const Result<void> read = forEachLineBackwards(messages, [&](std::string_view line, std::uint64_t) {
        bytes += line.size();
        if (bytes > budget)
            return false;
        if (std::optional<models::Message> message = readMessage(line)) {
            const bool isUser = message->role == models::Message::Role::User;
            newestFirst.push_back(std::move(*message));
            if (isUser)
                whole = newestFirst.size();
        }
        return true;
    });
    if (!read)
        return read.error();
    newestFirst.resize(whole);
    std::reverse(newestFirst.begin(), newestFirst.end());
    return newestFirst;
}

std::size_t historyBudget(std::optional<std::uint32_t> limit)
{
    if (!limit)
        return limits::kHistory;
    return std::min<std::size_t>(std::size_t{*limit} * kBytesPerToken * 3 / 4, limits::kHistory);
}

} // namespace cortexfs::sessions
