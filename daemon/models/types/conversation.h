// The neutral conversation: what a user, a session or an agent wants to ask, before any wire format.
#pragma once

#include "common/abi/words.h"
#include "common/base/result.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cortexfs::models {

struct Part {
    enum class Type { Text, Image };
    Type type = Type::Text;
    std::string text;
    std::string url;    // Image: https: or data: URL
    std::string detail; // Image: auto, low, high, or empty
};

struct ToolCall {
    std::string callId;
    std::string name;
    std::string arguments; // JSON text of an object, key order kept
};

struct Message {
    enum class Role { System, User, Assistant, Tool };
    Role role = Role::User;
    std::vector<Part> parts;
    std::vector<ToolCall> toolCalls; // assistant
    std::string callId;              // tool: which call this answers
    std::string name;                // tool: the tool's name
    bool isError = false;            // tool
    std::string opaque;              // assistant: provider data to send back unchanged; JSON text
    std::string opaqueProvider;      // the provider it came from; sent back to that one only
};

struct Tool {
    std::string name;
    std::string description;
    std::string parameters; // JSON Schema text, key order kept
};

struct ResponseFormat {
    std::string name;
    std::string schema; // JSON Schema text
    bool strict = false;
};

struct Conversation {
    std::string system;
    std::vector<Message> messages;
    std::vector<Tool> tools;
    std::optional<ResponseFormat> responseFormat;
    std::optional<std::int64_t> maxTokens;
    std::optional<double> temperature;
    std::optional<abi::Effort> effort; // wins over the model's control
};

// The input of an executable model (decisions, section 4): a JSON object with `messages` is a conversation, anything else
// is one user message, without its final line end. EINVAL with a JSON pointer for each fault of a conversation that is not
// well formed, for input that is blank, and for text that is not UTF-8.
//
// Keys of a conversation: messages, system, max_tokens, temperature, effort, response_format, tools; others are ignored,
// so that a request made for an API can be piped in. Messages: role system|developer|user|assistant|tool, content a string
// or parts (text, image_url; images from users only, https: or base64 data: URLs), tool_calls as
// {id,function:{name,arguments}} or as our own events have them ({call_id,name,arguments}), tool_call_id or call_id.
Result<Conversation> parseInput(std::string_view text);

// The text of a message: its text parts joined.
std::string textOf(const Message &message);

} // namespace cortexfs::models
