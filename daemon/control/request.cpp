#include "daemon/control/request.h"

namespace cortexfs::control {

void Responder::result(std::string_view members) const
{
    std::string line = "{\"id\":" + m_idJson + ",\"type\":\"result\"";
    if (!members.empty()) {
        line += ',';
        line += members;
    }
    line += "}\n";
    m_send(line);
}

void Responder::error(const Error &error) const { m_send(errorLine(m_idJson, error)); }

std::string errorLine(std::string_view idJson, const Error &error)
{
    json::Writer writer;
    writer.beginObject();
    writer.key("id").raw(idJson);
    writer.field("type", "error").field("code", error.name()).field("message", json::toValidUtf8(error.text()));
    writer.endObject();
    return writer.take() + "\n";
}

std::string_view inside(std::string_view objectJson)
{
    objectJson.remove_prefix(1);
    objectJson.remove_suffix(1);
    return objectJson;
}

} // namespace cortexfs::control
