#include "common/json/json.h"

#include <charconv>
#include <cmath>

namespace cortexfs::json {

void appendQuoted(std::string &out, std::string_view text)
{
    static constexpr char kHex[] = "0123456789abcdef";
    out += '"';
    std::size_t plain = 0; // start of the run that needs no escape
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        if (byte >= 0x20 && byte != '"' && byte != '\\' && byte != 0x7f)
            continue;
        out.append(text.substr(plain, i - plain));
        plain = i + 1;
        switch (byte) {
        case '"': out += "\\\""; break;
        case '\\': out += "\\\\"; break;
        case '\n': out += "\\n"; break;
        case '\r': out += "\\r"; break;
        case '\t': out += "\\t"; break;
        case '\b': out += "\\b"; break;
        case '\f': out += "\\f"; break;
        default:
            out += "\\u00";
            out += kHex[byte >> 4];
            out += kHex[byte & 15];
        }
    }
    out.append(text.substr(plain));
    out += '"';
}

void Writer::separate()
{
    if (m_needComma)
        m_out += ',';
    m_needComma = true;
}

Writer &Writer::beginObject()
{
    separate();
    m_out += '{';
    m_needComma = false;
    return *this;
}

Writer &Writer::endObject()
{
    m_out += '}';
    m_needComma = true;
    return *this;
}

Writer &Writer::beginArray()
{
    separate();
    m_out += '[';
    m_needComma = false;
    return *this;
}

Writer &Writer::endArray()
{
    m_out += ']';
    m_needComma = true;
    return *this;
}

Writer &Writer::key(std::string_view name)
{
    separate();
    appendQuoted(m_out, name);
    m_out += ':';
    m_needComma = false;
    return *this;
}

Writer &Writer::string(std::string_view text)
{
    separate();
    appendQuoted(m_out, text);
    return *this;
}

Writer &Writer::integer(std::int64_t number)
{
    separate();
    char buffer[24];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, number).ptr;
    m_out.append(buffer, end);
    return *this;
}

Writer &Writer::real(double number)
{
    if (!std::isfinite(number))
        return null();
    separate();
    char buffer[40];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, number).ptr;
    m_out.append(buffer, end);
    return *this;
}

Writer &Writer::boolean(bool value)
{
    separate();
    m_out += value ? "true" : "false";
    return *this;
}

Writer &Writer::null()
{
    separate();
    m_out += "null";
    return *this;
}

Writer &Writer::raw(std::string_view json)
{
    separate();
    m_out.append(json);
    return *this;
}

Writer &Writer::value(const Value &value) { return raw(value.toJson()); }

} // namespace cortexfs::json
