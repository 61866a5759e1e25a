#include "daemon/control/request.h"

#include "common/base/limits.h"

namespace cortexfs::control {

namespace {
constexpr std::size_t kMessageBytes = 4096;
} // namespace

void Responder::result(std::string_view members) const
{
    std::string line = "{\"id\":" + m_idJson + ",\"type\":\"result\"";
    if (!members.empty()) {
        line += ',';
        line += members;
    }
    line += "}\n";
    if (line.size() > limits::kFrame)
        return error(errors::tooLarge("the answer is longer than a frame of 1 MiB"));
    m_send(line, true);
}

void Responder::error(const Error &error) const { m_send(errorLine(m_idJson, error), true); }

void Responder::part(std::string_view members) const
{
    m_send("{\"id\":" + m_idJson + "," + std::string(members) + "}\n", false);
}

std::string errorLine(std::string_view idJson, const Error &error)
{
    json::Writer writer;
    writer.beginObject();
    writer.key("id").raw(idJson);
    writer.field("type", "error").field("code", error.name()).field("message", clipped(error.text(), kMessageBytes));
    writer.endObject();
    return writer.take() + "\n";
}

std::string clipped(std::string_view text, std::size_t bytes)
{
    if (text.size() <= bytes)
        return json::toValidUtf8(text);
    return json::toValidUtf8(text.substr(0, bytes)) + "...";
}

std::string_view inside(std::string_view objectJson)
{
    objectJson.remove_prefix(1);
    objectJson.remove_suffix(1);
    return objectJson;
}

} // namespace cortexfs::control
