#include "daemon/sessions/socket_request.h"

#include "common/abi/names.h"
#include "common/base/limits.h"
#include "common/base/logging.h"

#include <map>

namespace cortexfs::sessions {

namespace {

constexpr std::size_t kMessageBytes = 4096;
constexpr std::size_t kShownWord = 64;
constexpr std::size_t kPathBytes = 4096;

const std::map<std::string_view, SocketRequest::Op> kOps = {
    {"send", SocketRequest::Op::Send},     {"resume", SocketRequest::Op::Resume},
    {"cancel", SocketRequest::Op::Cancel}, {"status", SocketRequest::Op::Status},
    {"ping", SocketRequest::Op::Ping},     {"approve", SocketRequest::Op::Approve},
};

Error wrong(const char *key, const char *expected) { return errors::invalid(std::string(key) + ": not " + expected); }

// A string member, or nothing; anything else is a fault.
Result<std::optional<std::string>> text(const json::Value &root, const char *key, std::size_t most)
{
    const json::Value value = root[key];
    if (value.isMissing() || value.isNull())
        return std::optional<std::string>();
    const auto given = value.asString();
    if (!given)
        return wrong(key, "a string");
    if (given->size() > most || given->find('\0') != std::string_view::npos)
        return errors::invalid(std::string(key) + ": longer than " + std::to_string(most) + " bytes, or with a NUL");
    return std::optional<std::string>(*given);
}

Result<void> readScope(const json::Value &root, SocketRequest &request)
{
    Result<std::optional<std::string>> word = text(root, "scope", limits::kObjectName);
    if (!word)
        return word.error();
    Result<std::optional<std::string>> space = text(root, "shared", limits::kObjectName);
    if (!space)
        return space.error();
    request.space = space->value_or("");
    if (*word == "private")
        request.scope = Scope::Private;
    else if (*word == "shared")
        request.scope = Scope::Shared;
    else if (*word == "temp")
        request.scope = Scope::Temp;
    else if (*word)
        return wrong("scope", "one of private, shared, temp");
    if (request.scope == Scope::Shared && !abi::isObjectName(request.space))
        return wrong("shared", "the name of a space below shared/, which scope shared needs");
    return {};
}

Result<void> readSend(const json::Value &root, SocketRequest &request)
{
    for (const char *key : {"cwd", "workspace"}) {
        Result<std::optional<std::string>> path = text(root, key, kPathBytes);
        if (!path)
            return path.error();
        const std::string given = path->value_or("");
        if (!given.empty() && (!given.starts_with('/') || given.find('\n') != std::string::npos))
            return wrong(key, "an absolute path of one line");
        if (key == std::string_view("cwd"))
            request.cwd = given;
    }
    Result<UserInput> input = readInput(root["input"]);
    if (!input)
        return input.error();
    request.input = std::move(*input);
    return {};
}

Result<void> readMembers(const json::Value &root, SocketRequest &request)
{
    if (Result<void> scope = readScope(root, request); !scope)
        return scope;
    if (Result<std::optional<std::string>> session = text(root, "session", kPathBytes); !session)
        return session.error();
    else if (*session)
        request.session = **session;
    if (Result<void> named = checkSessionName(request.session); !named)
        return named;
    if (const json::Value approvals = root["approvals"]; !approvals.isMissing()) {
        if (!approvals.isBool())
            return wrong("approvals", "true or false");
        request.wantsApprovals = *approvals.asBool();
    }
    using Op = SocketRequest::Op;
    if (request.op == Op::Send)
        return readSend(root, request);
    if (request.op == Op::Resume) {
        Result<std::optional<std::string>> after = text(root, "after", kPathBytes);
        if (!after)
            return after.error();
        request.after = std::move(*after);
    }
    return {};
}

} // namespace

std::variant<SocketRequest, RequestFault> readRequest(std::string_view frame)
{
    const Result<json::Document> document = json::parse(frame);
    if (!document)
        return RequestFault{{}, false, document.error()};
    const json::Value root = document->root();
    SocketRequest request;
    const Result<std::optional<std::string>> id = text(root, "id", limits::kRequestId);
    if (id)
        request.id = id->value_or("");
    const auto op = root["op"].asString();
    const bool isSend = op == "send";
    const auto fault = [&](Error error) { return RequestFault{request.id, isSend, std::move(error)}; };
    if (!root.isObject())
        return fault(errors::invalid("a frame is a JSON object"));
    if (!op)
        return fault(errors::invalid("op: missing or not a string"));
    const auto known = kOps.find(*op);
    if (known == kOps.end())
        return fault(errors::invalid("unknown op: " + logging::escapeControl(op->substr(0, kShownWord))));
    if (!id)
        return fault(id.error());
    request.op = known->second;
    using Op = SocketRequest::Op;
    if (request.id.empty() && (request.op == Op::Send || request.op == Op::Cancel || request.op == Op::Approve))
        return fault(errors::invalid("id: missing"));
    if (Result<void> read = readMembers(root, request); !read)
        return fault(read.error());
    return request;
}

std::string errorLine(std::string_view id, bool isSend, const Error &error)
{
    json::Writer writer;
    writer.beginObject().field("type", "error");
    if (!id.empty()) {
        writer.field("id", id);
        if (isSend)
            writer.field("request", id);
    }
    const std::string text = error.text();
    writer.field("code", error.name());
    writer.field("message", json::toValidUtf8(std::string_view(text).substr(0, kMessageBytes))).endObject();
    return writer.take() + "\n";
}

} // namespace cortexfs::sessions
