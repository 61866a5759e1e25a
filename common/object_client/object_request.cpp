#include "common/object_client/object_request.h"

#include "common/base/limits.h"
#include "common/json/json.h"

namespace cortexfs::object {

namespace {

constexpr std::size_t kLongestId = 256;

void addIfSet(json::Writer &writer, std::string_view key, std::string_view text)
{
    if (!text.empty())
        writer.field(key, text);
}

json::Writer begun(std::string_view op, std::string_view id)
{
    json::Writer writer;
    writer.beginObject().field("op", op);
    addIfSet(writer, "id", id);
    return writer;
}

void addConversation(json::Writer &writer, const Conversation &conversation)
{
    writer.field("session", conversation.session);
    addIfSet(writer, "scope", conversation.scope);
    addIfSet(writer, "shared", conversation.shared);
}

std::string simpleFrame(std::string_view op, std::string_view id, const Conversation &conversation)
{
    json::Writer writer = begun(op, id);
    addConversation(writer, conversation);
    return writer.endObject().take();
}

} // namespace

Result<std::string> sendFrame(const Conversation &conversation, const SendRequest &request)
{
    if (request.id.empty() || request.id.size() > kLongestId)
        return errors::invalid("the id of a message has 1 to 256 bytes");
    for (const std::string *text : {&request.id, &request.input, &request.cwd, &request.workspace,
                                    &conversation.session, &conversation.scope, &conversation.shared}) {
        if (!json::isValidUtf8(*text))
            return errors::invalid(text == &request.input ? "the input is not valid UTF-8"
                                                          : "a part of the request is not valid UTF-8");
    }
    json::Writer writer = begun("send", request.id);
    addConversation(writer, conversation);
    addIfSet(writer, "cwd", request.cwd);
    addIfSet(writer, "workspace", request.workspace);
    if (request.approvals)
        writer.field("approvals", *request.approvals);
    writer.key("input");
    if (request.parts.empty())
        writer.string(request.input);
    else
        writer.raw(request.parts);
    std::string frame = writer.endObject().take();
    if (frame.size() + 1 > limits::kFrame)
        return errors::tooLarge("the input does not fit into a frame of 1 MiB");
    return frame;
}

std::string resumeFrame(const Conversation &conversation, std::string_view id, std::string_view after)
{
    json::Writer writer = begun("resume", id);
    addConversation(writer, conversation);
    addIfSet(writer, "after", after);
    return writer.endObject().take();
}

std::string cancelFrame(const Conversation &conversation, std::string_view id)
{
    return simpleFrame("cancel", id, conversation);
}

std::string statusFrame(const Conversation &conversation, std::string_view id)
{
    return simpleFrame("status", id, conversation);
}

std::string pingFrame(std::string_view id) { return begun("ping", id).endObject().take(); }

} // namespace cortexfs::object
