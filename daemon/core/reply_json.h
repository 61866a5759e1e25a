// What the control operations have in common when they answer.
#pragma once

#include "common/json/json.h"
#include "daemon/control/request.h"

#include <cstdint>
#include <string_view>

namespace cortexfs {

inline json::Writer openObject()
{
    json::Writer writer;
    writer.beginObject();
    return writer;
}

inline void respond(const control::Responder &responder, json::Writer &writer)
{
    writer.endObject();
    responder.result(control::inside(writer.text()));
}

// A hundred problems are enough to work on, and all of them need not fit into a frame.
inline constexpr std::size_t kMostListed = 100;

inline void writeProblem(json::Writer &writer, std::string_view key, std::string_view where, const Error &error)
{
    writer.beginObject().field(key, json::toValidUtf8(where)).field("code", error.name());
    writer.field("message", json::toValidUtf8(error.text())).endObject();
}

inline Error furtherOnes(std::size_t number) { return errors::tooLarge("and " + std::to_string(number) + " more"); }

// Names of files and directories are bytes; what leaves in JSON is text.
inline void textField(json::Writer &writer, std::string_view key, std::string_view bytes)
{
    writer.field(key, json::toValidUtf8(bytes));
}

inline std::int64_t count(std::size_t number) { return static_cast<std::int64_t>(number); }

} // namespace cortexfs
