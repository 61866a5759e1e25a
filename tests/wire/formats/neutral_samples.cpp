#include "tests/wire/formats/neutral_samples.h"

#include "tests/wire/formats/conversations.h"

namespace cortexfs::test {

using models::Conversation;

const char *const kCallInEvents = R"("name":"fs.read","arguments":{"z":1,"a":2})";

namespace {

Conversation withTools(Conversation conversation)
{
    conversation.tools = {
        {"fs.read", "Reads a file", R"({"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"}}})"},
        {"fs_read", "Another one", R"({"type":"object","properties":{}})"},
        {"werkzeug.für.alles", "", R"({"type":"object","properties":{}})"}};
    return conversation;
}

} // namespace

Conversation threeSteps()
{
    Conversation out = withTools(asked("Read both."));
    out.system = "Be brief.";
    out.messages.push_back(
        assistantSays("I'll look.", {{"call_1", "fs.read", R"({"z":"one","a":1})"}, {"call_2", "fs_read", "{}"}}));
    out.messages.push_back(toolSays("call_1", "first"));
    out.messages.push_back(toolSays("call_2", "no such file", true));
    out.messages.push_back(
        assistantSays("", {{"call_3", "werkzeug.für.alles", R"({"q":"\"ü\" \u2028 \\ 🎉","n":[1.50,-0.0,1e3]})"}}));
    out.messages.push_back(toolSays("call_3", "{\"hits\":2}"));
    out.messages.push_back(userSays("And now?"));
    out.messages.push_back(assistantSays("Two hits."));
    out.messages.push_back(userSays("Thanks.\nBye. \xe2\x80\xa8 \xf0\x9f\x8e\x89"));
    return out;
}

Conversation withImages()
{
    Conversation out = asked("What are these?");
    out.messages[0].parts.push_back({.type = models::Part::Type::Image, .url = "data:image/png;base64,iVBORw0KGgo="});
    out.messages[0].parts.push_back({.type = models::Part::Type::Image, .url = "https://example.org/cat.jpg"});
    out.messages[0].parts.push_back({.text = "Answer in one word."});
    return out;
}

Conversation withForeignIds()
{
    Conversation out = withTools(asked("Go on."));
    const std::string longId(100, 'x');
    out.messages.push_back(assistantSays("", {{"functions.fs:0", "fs.read", "{}"},
                                              {"functions_fs_0", "fs.read", "{}"},
                                              {longId, "fs.read", "{}"},
                                              {longId + "y", "fs.read", "{}"}}));
    out.messages.push_back(toolSays(longId, "3"));
    out.messages.push_back(toolSays("functions.fs:0", "1"));
    out.messages.push_back(toolSays("functions_fs_0", "2"));
    out.messages.push_back(toolSays(longId + "y", "4"));
    return out;
}

// The same reply in the words of each API.
std::string textAndCall(const std::string &format)
{
    if (format == "openai.chat")
        return sse(
            {R"({"id":"x","choices":[{"index":0,"delta":{"role":"assistant","content":"Gr"}}]})",
             R"({"choices":[{"index":0,"delta":{"content":"üße"}}]})",
             R"({"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"fs_read","arguments":"{\"z\":1,"}}]}}]})",
             R"({"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"a\":2}"}}]}}]})",
             R"({"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]})",
             R"({"choices":[],"usage":{"prompt_tokens":30,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":20,"cache_write_tokens":4}}})",
             "[DONE]"});
    if (format == "openai.responses")
        return sse(
            {R"({"type":"response.created","response":{"id":"r","status":"in_progress","output":[]}})",
             R"({"type":"response.output_text.delta","item_id":"m","output_index":0,"content_index":0,"delta":"Gr"})",
             R"({"type":"response.output_text.delta","item_id":"m","output_index":0,"content_index":0,"delta":"üße"})",
             R"({"type":"response.output_item.added","output_index":1,"item":{"id":"f","type":"function_call","call_id":"call_1","name":"fs_read","arguments":""}})",
             R"({"type":"response.function_call_arguments.delta","item_id":"f","output_index":1,"delta":"{\"z\":1,"})",
             R"({"type":"response.function_call_arguments.delta","item_id":"f","output_index":1,"delta":"\"a\":2}"})",
             R"({"type":"response.completed","response":{"status":"completed","output":[],"usage":{"input_tokens":30,"output_tokens":7,"input_tokens_details":{"cached_tokens":20,"cache_write_tokens":4}}}})"});
    return sse(
        {R"({"type":"message_start","message":{"usage":{"input_tokens":6,"cache_read_input_tokens":20,"cache_creation_input_tokens":4,"output_tokens":1}}})",
         R"({"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}})",
         R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Gr"}})",
         R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"üße"}})",
         R"({"type":"content_block_stop","index":0})",
         R"({"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"call_1","name":"fs_read","input":{}}})",
         R"({"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"z\":1,"}})",
         R"({"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"\"a\":2}"}})",
         R"({"type":"content_block_stop","index":1})",
         R"({"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":7}})",
         R"({"type":"message_stop"})"});
}

wire::WireRequest faultyRequest(const std::string &format)
{
    wire::WireRequest request;
    request.body = format == "anthropic.messages"
                       ? R"({"max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":" "}]}]})"
                       : R"({"input":[{"type":"function_call","call_id":"a","name":"b.c","arguments":"{}"}]})";
    return request;
}

} // namespace cortexfs::test
