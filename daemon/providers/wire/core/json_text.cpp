#include "daemon/providers/wire/core/json_text.h"

#include <algorithm>

namespace cortexfs::wire {

namespace {

bool isBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

} // namespace

void ObjectBalance::feed(std::string_view piece)
{
    for (const char c : piece) {
        if (m_inString) {
            if (m_escaped)
                m_escaped = false;
            else if (c == '\\')
                m_escaped = true;
            else if (c == '"')
                m_inString = false;
        } else if (isBlank(c)) {
            continue;
        } else if (m_closed || (m_depth == 0 && c != '{')) {
            m_trailing = true;
        } else if (c == '"') {
            m_inString = true;
        } else if (c == '{' || c == '[') {
            ++m_depth;
        } else if (c == '}' || c == ']') {
            m_closed = --m_depth == 0;
        }
    }
}

std::string_view trimmed(std::string_view text)
{
    while (!text.empty() && isBlank(text.front()))
        text.remove_prefix(1);
    while (!text.empty() && isBlank(text.back()))
        text.remove_suffix(1);
    return text;
}

std::string minified(std::string_view json)
{
    std::string out;
    out.reserve(json.size());
    bool inString = false;
    for (std::size_t i = 0; i < json.size(); ++i) {
        const char c = json[i];
        if (!inString && isBlank(c))
            continue;
        out += c;
        if (inString && c == '\\' && i + 1 < json.size())
            out += json[++i];
        else if (c == '"')
            inString = !inString;
    }
    return out;
}

int nestingDepth(std::string_view json)
{
    int depth = 0;
    int deepest = 0;
    bool inString = false;
    for (std::size_t i = 0; i < json.size(); ++i) {
        const char c = json[i];
        if (inString) {
            if (c == '\\')
                ++i;
            else if (c == '"')
                inString = false;
        } else if (c == '"') {
            inString = true;
        } else if (c == '{' || c == '[') {
            deepest = std::max(deepest, ++depth);
        } else if (c == '}' || c == ']') {
            --depth;
        }
    }
    return deepest;
}

} // namespace cortexfs::wire
