#include "tests/support/openai_script.h"

#include "common/json/json.h"
#include "tests/support/wire_replies.h"

#include <atomic>
#include <memory>

namespace cortexfs::test {

namespace {

std::string modelsBody(const std::vector<std::string> &models)
{
    json::Writer out;
    out.beginObject().field("object", "list").key("data").beginArray();
    for (const std::string &model : models)
        out.beginObject().field("id", model).field("object", "model").field("owned_by", "test").endObject();
    out.endArray().endObject();
    return out.take();
}

std::string contentEvent(std::string_view model, std::string_view text)
{
    json::Writer out;
    out.beginObject().field("id", "chatcmpl-1").field("object", "chat.completion.chunk").field("created", 1);
    out.field("model", model).key("choices").beginArray().beginObject().field("index", 0);
    out.key("delta").beginObject().field("content", text).endObject().key("finish_reason").null();
    out.endObject().endArray().endObject();
    return "data: " + out.take() + "\n\n";
}

std::string plainReply(std::string_view model, const OpenAiOptions &options)
{
    std::string text;
    for (int i = 0; i < options.chunks; ++i)
        text += options.text;
    json::Writer out;
    out.beginObject().field("id", "chatcmpl-1").field("object", "chat.completion").field("created", 1);
    out.field("model", model).key("choices").beginArray().beginObject().field("index", 0).key("message");
    out.beginObject().field("role", "assistant").field("content", text).endObject();
    out.field("finish_reason", "stop").endObject().endArray();
    out.key("usage").beginObject().field("prompt_tokens", 10).field("completion_tokens", options.chunks);
    out.field("total_tokens", 10 + options.chunks).endObject().endObject();
    return out.take();
}

// False when the connection is over.
bool fail(WirePeer &peer, const OpenAiOptions &options)
{
    if (options.failure == "reset")
        peer.reset();
    else if (options.failure == "stall")
        peer.stall();
    else if (options.failure == "garbage")
        return peer.send(chunk("data: {\"choices\":[{\n\n") + chunk({}));
    else if (options.failure == "error")
        return peer.send(chunk("data: " + chatError("the engine is overloaded", "overloaded_error") + "\n\n")
                         + chunk({}));
    return false; // cut
}

bool answerChat(WirePeer &peer, const CapturedRequest &request, const OpenAiOptions &options, bool failing)
{
    const Result<json::Document> body = json::parse(request.body);
    if (!body)
        return peer.send(reply(400, "application/json", chatError("the body is no JSON", "invalid_request_error")));
    const std::string model(body->root()["model"].stringOr("?"));
    peer.pause(options.firstDelayMs);
    if (failing && options.status != 200)
        return peer.send(reply(options.status, "application/json", chatError("refused on purpose", "test_error")));
    if (failing && options.failure == "html")
        return peer.send(reply(200, "text/html", "<html><body>Sign in</body></html>"));
    if (!body->root()["stream"].asBool().value_or(false))
        return peer.send(reply(200, "application/json", plainReply(model, options)));
    const std::string piece = chunk(contentEvent(model, options.text));
    if (!peer.send(streamHead()))
        return false;
    for (int i = 0; i < options.chunks; ++i) {
        if (failing && !options.failure.empty() && i == options.failAfter)
            return fail(peer, options);
        if (i > 0 && options.delayMs > 0)
            peer.pause(options.delayMs);
        if (!peer.send(piece))
            return false;
    }
    if (failing && !options.failure.empty())
        return fail(peer, options);
    return peer.send(chunk(chatFinish() + chatUsage(10, options.chunks) + chatDone()) + chunk({}));
}

} // namespace

WireServer::Script openAiScript(OpenAiOptions options)
{
    auto seen = std::make_shared<std::atomic<int>>(0);
    return [options = std::move(options), seen](WirePeer &peer) {
        while (const std::optional<CapturedRequest> request = peer.readRequest()) {
            if (options.captured)
                options.captured(*request);
            const bool isAllowed = options.requiredKey.empty()
                                   || request->header("Authorization") == "Bearer " + options.requiredKey;
            bool goesOn = false;
            if (!isAllowed) {
                goesOn = peer.send(reply(401, "application/json", chatError("wrong key", "authentication_error")));
            } else if (request->method == "GET" && request->target.ends_with("/models")) {
                goesOn = peer.send(reply(200, "application/json", modelsBody(options.models)));
            } else if (request->method == "POST" && request->target.ends_with("/chat/completions")) {
                const int number = seen->fetch_add(1);
                goesOn = answerChat(peer, *request, options, options.failures < 0 || number < options.failures);
            } else {
                goesOn = peer.send(reply(404, "application/json", chatError("no such path", "not_found_error")));
            }
            if (!goesOn)
                return;
        }
    };
}

} // namespace cortexfs::test
