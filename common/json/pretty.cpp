#include "common/json/pretty.h"

namespace cortexfs::json {

namespace {

void append(std::string &out, const Value &value, std::size_t depth)
{
    const auto newline = [&](std::size_t level) {
        out += '\n';
        out.append(2 * level, ' ');
    };
    if (value.isObject() && value.size() > 0) {
        char before = '{';
        for (const Member &member : value.members()) {
            out += before;
            before = ',';
            newline(depth + 1);
            appendQuoted(out, member.key);
            out += ": ";
            append(out, member.value, depth + 1);
        }
        newline(depth);
        out += '}';
    } else if (value.isArray() && value.size() > 0) {
        char before = '[';
        for (const Value &element : value.elements()) {
            out += before;
            before = ',';
            newline(depth + 1);
            append(out, element, depth + 1);
        }
        newline(depth);
        out += ']';
    } else {
        out += value.toJson();
    }
}

} // namespace

std::string prettyText(const Value &value)
{
    std::string out;
    append(out, value, 0);
    return out;
}

} // namespace cortexfs::json
