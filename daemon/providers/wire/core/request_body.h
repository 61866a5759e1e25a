// The body of a request while it is written: one object that knows its members, so that the model's `default` control
// adds only what the request does not say. Each KEY=VALUE of it becomes a member; VALUE is JSON where it parses as JSON
// (seed=7, stop=["a","b"]), else a string. Keys that are unknown here are passed on: every server has some of its own.
#pragma once

#include "common/json/json.h"
#include "daemon/providers/wire/wire_format.h"

#include <functional>
#include <initializer_list>
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace cortexfs::wire {

class RequestBody {
public:
    RequestBody() { m_writer.beginObject(); }

    // The key of a member; its value is written next.
    json::Writer &member(std::string_view name);
    json::Writer &writer() { return m_writer; }
    bool has(std::string_view name) const { return m_taken.contains(name); }
    // Keeps a default of this name out.
    void leaveOut(std::string_view name) { m_taken.emplace(name); }

    // `nameOf`: the member that a key of the control means.
    void addDefaults(const EncodeContext &context, const std::function<std::string_view(std::string_view)> &nameOf);
    std::string take();

private:
    json::Writer m_writer;
    std::set<std::string, std::less<>> m_taken;
};

// The value of a default that is a whole number; nothing when there is none.
std::optional<std::int64_t> wholeDefault(const EncodeContext &context, std::initializer_list<std::string_view> keys);

// What every format needs of a conversation before it writes it. EINVAL: a schema that is no JSON object, a default whose
// key is `reserved` for the request itself, a role that may not hold an image, nothing to answer.
Result<void> checkRequest(const models::Conversation &conversation, const EncodeContext &context,
                          std::span<const std::string_view> reserved);

// The schema of a tool's arguments: an object with a "type", whatever was given.
std::string parametersOf(const models::Tool &tool);

// A call's arguments as a JSON object: "{}" for none, {"raw_arguments":TEXT} for a text that is no object.
std::string argumentsObject(const models::ToolCall &call);

} // namespace cortexfs::wire
